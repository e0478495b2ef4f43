"""Eigenvector and Katz centrality; the functions that NetworkX answers by NumPy run to a tight tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import networkx as nx

from dgraph._support.arguments import is_real
from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import solve
from dgraph.networkx_backend.nodes_given import NotANode
from dgraph.networkx_backend.nx_components import is_connected, is_strongly_connected

TIGHT = 1e-12
"""L1 change, by the size of the vector, at which a vector counts as exact."""

MOST = 10_000
"""Rounds until the vector must be exact; else the call is declined."""


def _simple(args) -> str | None:
    if args["G"].is_multigraph():
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")
    return None


@answers(declines=_simple)
def eigenvector_centrality(G: ConvertedGraph, max_iter=100, tol=1.0e-6, nstart=None, weight=None) -> dict:
    """Return node → score, of Euclidean norm 1.

    Raises:
        PowerIterationFailedConvergence: the tolerance was not met.
    """
    _has_nodes(G)
    start = {} if nstart is None else {"nstart": by_position(G, nstart)}
    if nstart is not None and not (min(nstart.values()) >= 0 < sum(nstart.values())):
        raise NotANode
    if tol <= 0 or max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    G.lengths(weight)
    answer = solve("eigenvector", G.engine(weight), tol=float(len(G) * tol), max_iter=int(max_iter), **start)
    return _converged(G, answer, "eigenvector", max_iter)


@answers
def eigenvector_centrality_numpy(G: ConvertedGraph, weight=None, max_iter=50, tol=0) -> dict:
    """Return node → score, of Euclidean norm 1, within rounding."""
    _has_nodes(G)
    if len(G) < 3 or not (is_strongly_connected if G.is_directed() else is_connected)(G):
        raise NotANode
    G.lengths(weight)
    engine = G.engine(weight, parallel=True)
    answer = solve("eigenvector", engine, tol=TIGHT * sqrt(len(G)), max_iter=MOST)
    return _exact(G, answer, "eigenvector")


@answers(declines=_simple)
def katz_centrality(
    G: ConvertedGraph, alpha=0.1, beta=1.0, max_iter=1000, tol=1.0e-6, nstart=None, normalized=True, weight=None
) -> dict:
    """Return node → attenuated number of walks that end there.

    Raises:
        PowerIterationFailedConvergence: the tolerance was not met.
    """
    if not len(G):
        return {}
    parameters = _walks(G, alpha, beta, normalized) | ({} if nstart is None else {"nstart": by_position(G, nstart)})
    if tol <= 0 or max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    answer = solve("katz", G.engine(weight), tol=float(len(G) * tol), max_iter=int(max_iter), **parameters)
    return _converged(G, answer, "katz", max_iter)


@answers(declines=_simple)
def katz_centrality_numpy(G: ConvertedGraph, alpha=0.1, beta=1.0, normalized=True, weight=None) -> dict:
    """Return node → attenuated number of walks that end there, within rounding."""
    if not len(G):
        return {}
    parameters = _walks(G, alpha, beta, normalized)
    size = sum(map(abs, parameters["betas"].values())) if "betas" in parameters else abs(parameters["beta"]) * len(G)
    if len(G) == 1 or not size:
        raise NotANode
    scores = _exact(G, solve("katz", G.engine(weight), tol=TIGHT * size, max_iter=MOST, **parameters), "katz")
    if normalized and sum(scores.values()) <= 0:  # NetworkX turns the sign, or divides by 0
        raise NotANode
    return {node: scores[node] for node in beta} if isinstance(beta, Mapping) else scores


def by_position(G: ConvertedGraph, values: Any) -> dict[int, float]:
    """Return position → number for a dict that has a real number for every node.

    Raises:
        NotANode: another value.
    """
    if not isinstance(values, Mapping) or values.keys() != G.index.keys() or not all(map(is_real, values.values())):
        raise NotANode
    return {G.index[node]: float(value) for node, value in values.items()}


def _walks(G: ConvertedGraph, alpha, beta, normalized) -> dict[str, Any]:
    """Return the parameters of katz."""
    named = {"beta": float(beta)} if is_real(beta) else {"betas": by_position(G, beta)}
    if not is_real(alpha):
        raise NotANode
    return {"alpha": float(alpha), "normalized": bool(normalized), **named}


def _has_nodes(G: ConvertedGraph) -> None:
    if not len(G):
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")


def _converged(G: ConvertedGraph, answer, column: str, max_iter) -> dict:
    if not answer.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return dict(zip(G.nodes, answer.columns[column].tolist(), strict=True))


def _exact(G: ConvertedGraph, answer, column: str) -> dict:
    if not answer.converged:
        raise NotImplementedError(f"the engine iterates, and {answer.limit}; NetworkX solves equations")
    return dict(zip(G.nodes, answer.columns[column].tolist(), strict=True))
