"""Runs of dgraph's algorithms for the backend. Every answer comes through :func:`solve`, which counts the runs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from dgraph.errors import ConvergenceWarning, NegativeCycle
from dgraph.graph.stored_graph import Graph
from dgraph.networkx_backend import calls
from dgraph.networkx_backend.converted_graph import ConvertedGraph, both_ways, declining, engine_graph
from dgraph.networkx_backend.visit_order import visit_order
from dgraph.result.columns import UNREACHED
from dgraph.result.result import Result
from dgraph.service.client.run_dispatch import run


class NodeDistances(NamedTuple):
    """Distances from a source or several.

    Attributes:
        values: int64 or float64 (nodes,), by position; -1 if unreached.
        reached: positions by rising distance, at equal distance by position.
    """

    values: np.ndarray
    reached: np.ndarray

    def total(self):
        """Return the sum of the distances, a Python number."""
        return self.values[self.reached].sum().item()

    def largest(self):
        """Return the largest distance, a Python number."""
        return self.values[self.reached[-1]].item()


class NodeTree(NamedTuple):
    """Distances and the tree that NetworkX finds.

    Attributes:
        values: as of :class:`NodeDistances`.
        reached: positions in the order in which NetworkX visits the nodes.
        parent: int64 (nodes,), -1 if none.
    """

    values: np.ndarray
    reached: np.ndarray
    parent: np.ndarray


def solve(algorithm: str, graph: Graph, **parameters: Any) -> Result:
    """Run an algorithm of the engine and count the run.

    Raises:
        NotImplementedError: the engine refuses the data or the parameters; NetworkX then turns to the next backend.
    """
    calls[algorithm] += 1
    with declining(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # NetworkX's exception reports it
        return run(algorithm, graph, **parameters)


def depth(cutoff: float | None) -> int | None:
    """Return NetworkX's cutoff of a search, which goes on while a level is below it, as a number of levels."""
    return None if cutoff is None or cutoff == math.inf else max(math.ceil(cutoff), 0)


def hops(
    graph: ConvertedGraph, sources: Sequence[int], *, cutoff: float | None = None, backwards: bool = False,
    target: int | None = None,
) -> NodeDistances:  # fmt: skip
    """Return the hops from the nearest of the sources.

    Args:
        graph: at least one node.
        sources: positions.
        cutoff: as :func:`depth` reads it.
        backwards: walk edges from target to source.
        target: position at which to stop; farther nodes then count as unreached.
    """
    limit = depth(cutoff)
    if len(sources) == 1:
        engine, root, first = graph.engine(backwards=backwards), sources[0], 0
    else:
        engine, root, first = _rooted(*graph.rows(None, backwards), sources), len(graph), 1
        limit = None if limit is None else limit + 1
    answer = solve("bfs", engine, source=root, depth_limit=limit, target=target, return_predecessors=False)
    return _ordered(_levels(answer, len(graph), first))


def path_between(graph: ConvertedGraph, source: int, target: int) -> list[int]:
    """Return positions on a path of fewest edges, both ends included; [] if there is none."""
    engine = graph.engine()
    if not isinstance(engine, Graph):  # a service's
        return solve("bfs", engine, source=source, target=target).path(target)
    calls["shortest_path"] += 1
    return engine.shortest_path(source, target)


def hops_both_ways(graph: ConvertedGraph, sources: Sequence[int]) -> np.ndarray:
    """Return the hops from the nearest of the sources along edges in either direction, -1 if unreached."""
    engine = _rooted(*both_ways(graph), None, sources)
    return _levels(solve("bfs", engine, source=len(graph), return_predecessors=False), len(graph), 1)


def _levels(answer: Result, n: int, first: int) -> np.ndarray:
    values = answer.columns["distance"][:n]
    return np.where(values == UNREACHED, -1, values - first)


def distances(
    graph: ConvertedGraph,
    sources: Sequence[int],
    weight: str | None,
    *,
    cutoff: float | None = None,
    backwards: bool = False,
    target: int | None = None,
) -> NodeDistances:
    """Return the distances from the nearest of the sources, by hops where every edge weighs 1.

    Args:
        graph: at least one node.
        sources: positions.
        weight: edge attribute; None: every edge weighs 1.
        cutoff: largest distance to find; a negative one finds the sources only.
        backwards: walk edges from target to source.
        target: position at which to stop; farther nodes then count as unreached.
    """
    weights = graph.lengths(weight)
    limit = None if cutoff is None or cutoff == math.inf else max(cutoff, 0)
    if weights is None:
        most = None if limit is None else math.floor(limit)
        return hops(graph, sources, cutoff=most, backwards=backwards, target=target)
    if len(sources) == 1:
        engine, root = graph.engine(weight, backwards=backwards), sources[0]
    else:
        engine, root = _rooted(*graph.rows(weights, backwards), sources), len(graph)
    answer = solve("sssp", engine, source=root, cutoff=limit, target=target, return_predecessors=False)
    values = answer.columns["distance"][: len(graph)]
    values = np.where(values == (UNREACHED if values.dtype.kind == "i" else np.inf), -1, values)
    if limit is not None:
        values[values > limit] = -1
    return _ordered(values)


def signed_distances(graph: ConvertedGraph, source: int, weight: str) -> NodeDistances:
    """Return the distances from a source over weights of which some are negative; -1 is a distance like others.

    Raises:
        nx.NetworkXUnbounded: the source reaches a negative cycle.
    """
    try:
        engine = graph.engine(weight)
        answer = solve("sssp", engine, source=source, variant="workfront", return_predecessors=False)
    except NotImplementedError as refused:
        if isinstance(refused.__cause__, NegativeCycle):
            raise nx.NetworkXUnbounded("Negative cycle detected.") from None
        raise
    values = answer.columns["distance"][: len(graph)]
    reached = np.flatnonzero(values != (UNREACHED if values.dtype.kind == "i" else np.inf))
    return NodeDistances(values, reached[np.argsort(values[reached], kind="stable")])


def has_negative_cycle(graph: ConvertedGraph, weight: str) -> bool:
    """Return True if a search from all nodes at once meets a negative cycle."""
    weights = graph.weights(weight)
    if weights is None:
        weights = np.ones(graph.targets.size, np.int64)
    engine = _rooted(graph.offsets, graph.targets, weights, range(len(graph)))
    try:
        solve("sssp", engine, source=len(graph), variant="workfront", return_predecessors=False)
    except NotImplementedError as refused:
        if isinstance(refused.__cause__, NegativeCycle):
            return True
        raise
    return False


def all_distances(graph: ConvertedGraph, weight: str | None) -> np.ndarray:
    """Return the distances of all pairs, float64 (nodes, nodes), infinite without a path; weights may be negative."""
    engine = engine_graph(*graph.rows(graph.weights(weight)), directed=graph.is_directed(), parallel=False)
    matrix = solve("apsp", engine, dtype="float64").matrix
    assert matrix is not None
    return matrix.here


AT_ONCE = 64
"""Nodes from which one run searches."""


def from_each(
    graph: ConvertedGraph, positions: Sequence[int], weight: str | None, *, backwards: bool = False
) -> Iterator[NodeDistances]:
    """Yield the distances from each of some nodes, as :func:`distances`; ``AT_ONCE`` nodes take one run."""
    weighted = graph.lengths(weight) is not None
    if len(positions) == 1:
        yield from (distances(graph, [k], weight, backwards=backwards) for k in positions)
        return
    for first in range(0, len(positions), AT_ONCE):
        some = positions[first : first + AT_ONCE]
        engine = graph.engine(weight if weighted else None, backwards=backwards)
        name = "multi_source_sssp" if weighted else "multi_source_bfs"
        answer = solve(name, engine, sources=list(dict.fromkeys(some)))
        for k in some:
            values = answer.columns[f"distance_{k}"]
            yield _ordered(np.where(values == (UNREACHED if values.dtype.kind == "i" else np.inf), -1, values))


def reached_from_each(graph: ConvertedGraph) -> Iterator[np.ndarray]:
    """Yield, for each node, the positions of the nodes that it reaches, itself too; ``AT_ONCE`` nodes take one run."""
    for first in range(0, len(graph), AT_ONCE):
        some = range(first, min(first + AT_ONCE, len(graph)))
        answer = solve("reachability", graph.engine(), sources=list(some))
        yield from (np.flatnonzero(answer.columns[f"reached_{k}"]) for k in some)


def search(
    graph: ConvertedGraph,
    sources: Sequence[int],
    weight: str | None = None,
    *,
    cutoff: float | None = None,
    backwards: bool = False,
    target: int | None = None,
) -> NodeTree:
    """Return distances and NetworkX's tree; arguments as of :func:`distances`."""
    values = distances(graph, sources, weight, cutoff=cutoff, backwards=backwards, target=target).values
    rows = graph.rows(graph.lengths(weight), backwards)
    return NodeTree(values, *visit_order(*rows, values, np.asarray(sources, np.int64)))


def components(graph: ConvertedGraph) -> np.ndarray:
    """Return the position of each node's first node in its component, weak in a directed graph; int64 (nodes,)."""
    return solve("cc", graph.engine()).columns["labels"]


def strong_components(graph: ConvertedGraph) -> np.ndarray:
    """Return the position of each node's first node in its strongly connected component; int64 (nodes,)."""
    return solve("scc", graph.engine()).columns["labels"]


def _ordered(values: np.ndarray) -> NodeDistances:
    reached = np.flatnonzero(values >= 0)
    return NodeDistances(values, reached[np.argsort(values[reached], kind="stable")])


def _rooted(offsets, targets, weights, sources: Sequence[int]) -> Graph:
    """Return the directed graph with one more vertex, the last, that has an edge of weight 0 to each of the sources."""
    offsets = np.concatenate([offsets, [offsets[-1] + len(sources)]])
    targets = np.concatenate([targets, np.array(sources, targets.dtype)])
    if weights is not None:
        weights = np.concatenate([weights, np.zeros(len(sources), weights.dtype)])
    return engine_graph(offsets, targets, weights, directed=True, parallel=False)
