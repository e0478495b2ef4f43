"""Communities of undirected graphs by Louvain and Leiden: connected, the same for a seed on any machine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from dgraph.algorithms.communities.algorithm_base import MOST_LEVELS
from dgraph.networkx_backend.answers import NETWORKX, answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import solve
from dgraph.result.result import Result

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
    return _sets(G, "leiden", weight, seed, resolution=float(resolution), metric=_metric(metric), theta=float(theta))


@answers(declines=partial(_declined, name="louvain_partitions"))
def louvain_partitions(
    G: ConvertedGraph, weight="weight", resolution=1, threshold=THRESHOLD, seed=None
) -> Iterator[list[set]]:
    """Yield the levels of the hierarchy as lists of sets, the finest first, the communities last."""
    yield from _levels(G, "louvain", weight, seed, resolution=float(resolution))


@answers(declines=partial(_declined, name="leiden_partitions"))
def leiden_partitions(
    G: ConvertedGraph, *, weight="weight", resolution=1, seed=None, metric=METRIC, theta=0.01
) -> Iterator[list[set]]:
    """Yield the levels of the hierarchy as lists of sets, the finest first, the communities last."""
    yield from _levels(
        G, "leiden", weight, seed, resolution=float(resolution), metric=_metric(metric), theta=float(theta)
    )


def _metric(metric: str) -> str:
    if metric not in ("modularity", "cpm"):
        raise nx.NetworkXError(f"metric {metric!r} is neither 'modularity' nor 'cpm'")
    return metric


def _levels(G: ConvertedGraph, *arguments: Any, **options: Any) -> Iterator[list[set]]:
    """Yield distinct levels of more than single nodes, then the communities."""
    answer = _answer(G, *arguments, **options, levels=MOST_LEVELS)
    if answer is None:
        yield []
        return
    sizes = len(G)
    for name in (*(f"level_{i}" for i in range(MOST_LEVELS, 0, -1)), "community"):
        groups = _grouped(G, answer.columns[name])
        if len(groups) < sizes or name == "community":
            sizes = len(groups)
            yield groups


def _sets(G: ConvertedGraph, *arguments: Any, **options: Any) -> list[set]:
    answer = _answer(G, *arguments, **options)
    return [] if answer is None else _grouped(G, answer.columns["community"])


def _answer(G: ConvertedGraph, algorithm: str, weight: str | None, seed: Any, **options: Any) -> Result | None:
    """Return the engine's answer; None for a graph without nodes."""
    if not len(G):
        return None
    G.lengths(weight)
    return solve(algorithm, G.engine(weight, parallel=True), random_state=_number(seed), **options)


def _grouped(G: ConvertedGraph, labels: np.ndarray) -> list[set]:
    order = np.argsort(labels, kind="stable")
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    return [set(G.names(rows)) for rows in np.split(order, cuts)]


def _number(seed: Any) -> int:
    """Return a seed as a number: NetworkX turns seeds into generators; its shared one, for no seed, gives 1."""
    shared = seed is None or seed is nx.utils.create_py_random_state(None)
    return 1 if shared else seed if isinstance(seed, int) else int(seed.random() * 2**31)
