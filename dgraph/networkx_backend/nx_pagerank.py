"""PageRank with NetworkX's parameters and its rule to stop, an L1 change below ``N * tol``; hubs and authorities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from dgraph._support.arguments import is_real
from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import solve
from dgraph.networkx_backend.nodes_given import NotANode
from dgraph.networkx_backend.nx_eigenvector import by_position

LANCZOS = 100
"""Iterations of the engine for each of NetworkX's with ``"svd"``, whose Lanczos method takes far fewer."""


@answers
def pagerank(
    G: ConvertedGraph,
    alpha=0.85,
    personalization=None,
    max_iter=100,
    tol=1.0e-6,
    nstart=None,
    weight="weight",
    dangling=None,
    *,
    precision: str = "double",
) -> dict:
    """Return node → rank; ``precision="single"`` halves the memory of ranks, and the other parameters are NetworkX's.

    Raises:
        ZeroDivisionError: the personalization sums to 0 over the nodes of the graph.
        PowerIterationFailedConvergence: the tolerance was not met.
    """
    n = len(G)
    if not n:
        return {}
    named = {"personalization": personalization, "nstart": nstart}
    if dangling != personalization:
        named["dangling"] = dangling
    shares = {name: _shares(G, values) for name, values in named.items() if values is not None}
    if personalization is not None and not shares["personalization"]:
        raise ZeroDivisionError
    if not all(shares.values()):
        raise NotANode
    if tol <= 0 or max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    G.lengths(weight)
    answer = solve(
        "pagerank", G.engine(weight, parallel=True),
        alpha=float(alpha), max_iter=int(max_iter), tol=float(n * tol), precision=precision, **shares,
    )  # fmt: skip
    if not answer.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return dict(zip(G.nodes, answer.columns["pagerank"].tolist(), strict=True))


def _shares(G: ConvertedGraph, values: Any) -> dict[int, float]:
    """Return position → number of the nodes that have one other than 0; nothing if their sum is 0.

    Raises:
        NotANode: not a dict of real numbers.
    """
    if not isinstance(values, Mapping) or not all(map(is_real, values.values())):
        raise NotANode
    numbers = {G.index[node]: float(value) for node, value in values.items() if node in G}
    return {row: value for row, value in numbers.items() if value} if sum(numbers.values()) else {}


def _declined_hits(args) -> str | None:
    if not args.get("normalized", True) and args.get("method", "svd") != "svd":
        return "normalized=False is given; the engine scales as method='svd' does"
    return None


@answers(declines=_declined_hits)
def hits(
    G: ConvertedGraph, max_iter=100, tol=1.0e-8, nstart=None, normalized=True, *, method="svd"
) -> tuple[dict, dict]:
    """Return hubs and authorities, each node → score; NetworkX before 3.7 has no ``method`` but ``"svd"``.

    Raises:
        ValueError: ``method`` is neither ``"svd"`` nor ``"power_iteration"``, which have the same limit.
        PowerIterationFailedConvergence: the tolerance was not met.
    """
    if method not in ("svd", "power_iteration"):
        raise ValueError(f"method not supported: {method}")
    if not len(G):
        return {}, {}
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    if len(G) == 1 or not G.sources.size:  # ARPACK refuses them, and NetworkX raises its exception
        raise NotANode
    start = {} if nstart is None else {"nstart": by_position(G, nstart)}
    if nstart is not None and not (min(nstart.values()) >= 0 < sum(nstart.values())):
        raise NotANode
    G.lengths("weight")
    most = int(max_iter) * (LANCZOS if method == "svd" else 1)
    limits = {"tol": float(max(tol, 1e-12)), "max_iter": most, "normalized": bool(normalized)}
    answer = solve("hits", G.engine("weight", parallel=True), **limits, **start)
    if not answer.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    hubs, authorities = (
        dict(zip(G.nodes, answer.columns[name].tolist(), strict=True)) for name in ("hubs", "authorities")
    )
    return hubs, authorities
