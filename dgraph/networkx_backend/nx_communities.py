"""Communities of undirected graphs by Louvain and Leiden: connected, the same for a seed on any machine."""

from __future__ import annotations

from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from dgraph.networkx_backend.answers import NETWORKX, answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import solve

THRESHOLD = 1e-07
"""NetworkX's default, which the engine's exact end replaces."""

METRIC = "modularity" if NETWORKX < (3, 7) else "cpm"
"""NetworkX's default quality of Leiden."""


def _declined(args, name: str) -> str | None:
    """Return the reason to leave a call to NetworkX, or None: the one place that declines arguments of both."""
    if args["G"].is_directed():
        return f"{name} of directed graphs has another modularity; the engine ignores directions"
    if args.get("max_level") is not None:
        return "max_level= is given; the engine goes through all levels"
    if args.get("threshold", THRESHOLD) != THRESHOLD:
        return "threshold= is given; the engine ends where nothing gains"
    return None


@answers(declines=partial(_declined, name="louvain_communities"))
def louvain_communities(
    G: ConvertedGraph, weight="weight", resolution=1, threshold=THRESHOLD, max_level=None, seed=None
) -> list[set]:
    """Return the communities as sets of nodes, by their first nodes."""
    return _sets(G, "louvain", weight, seed, resolution=float(resolution))


@answers(declines=partial(_declined, name="leiden_communities"))
def leiden_communities(
    G: ConvertedGraph, weight="weight", resolution=1, max_level=None, seed=None, *, metric=METRIC, theta=0.01
) -> list[set]:
    """Return the communities as sets of nodes, by their first nodes; ``metric`` and ``theta`` are NetworkX 3.7's."""
    if metric not in ("modularity", "cpm"):
        raise nx.NetworkXError(f"metric {metric!r} is neither 'modularity' nor 'cpm'")
    return _sets(G, "leiden", weight, seed, resolution=float(resolution), metric=metric, theta=float(theta))


def _sets(G: ConvertedGraph, algorithm: str, weight: str | None, seed: Any, **options: Any) -> list[set]:
    if not len(G):
        return []
    G.lengths(weight)
    answer = solve(algorithm, G.engine(weight, parallel=True), random_state=_number(seed), **options)
    labels = answer.columns["community"]
    order = np.argsort(labels, kind="stable")
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    return [set(G.names(rows)) for rows in np.split(order, cuts)]


def _number(seed: Any) -> int:
    """Return a seed as a number: NetworkX turns seeds into generators; its shared one, for no seed, gives 1."""
    shared = seed is None or seed is nx.utils.create_py_random_state(None)
    return 1 if shared else seed if isinstance(seed, int) else int(seed.random() * 2**31)
