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

LANCZOS = 100
"""Iterations of the engine for each of NetworkX's with ``"svd"``, whose Lanczos method takes far fewer."""


def _declined(args) -> str | None:
    if args.get("nstart") is not None:
        return "nstart= is given; the engine starts from equal ranks"
    dangling = args.get("dangling")
    if dangling is not None and dangling != args.get("personalization"):
        return "dangling= differs from personalization=, which the engine uses for both"
    return None


@answers(declines=_declined)
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
    jumps: dict[str, Any] = {}
    if personalization is not None:
        if not isinstance(personalization, Mapping) or not all(map(is_real, personalization.values())):
            raise NotANode
        shares = {G.index[node]: float(value) for node, value in personalization.items() if node in G}
        if sum(shares.values()) == 0:
            raise ZeroDivisionError
        jumps["personalization"] = {row: value for row, value in shares.items() if value}
    if tol <= 0 or max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    G.lengths(weight)
    answer = solve(
        "pagerank", G.engine(weight, parallel=True),
        alpha=float(alpha), max_iter=int(max_iter), tol=float(n * tol), precision=precision, **jumps,
    )  # fmt: skip
    if not answer.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return dict(zip(G.nodes, answer.columns["pagerank"].tolist(), strict=True))


def _declined_hits(args) -> str | None:
    if args.get("nstart") is not None:
        return "nstart= is given; the engine starts from equal hubs"
    if not args.get("normalized", True):
        return "normalized=False is given; the engine's scores sum to 1"
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
    G.lengths("weight")
    most = int(max_iter) * (LANCZOS if method == "svd" else 1)
    limits = {"tol": float(max(tol, 1e-12)), "max_iter": most}
    answer = solve("hits", G.engine("weight", parallel=True), **limits)
    if not answer.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    hubs, authorities = (
        dict(zip(G.nodes, answer.columns[name].tolist(), strict=True)) for name in ("hubs", "authorities")
    )
    return hubs, authorities
