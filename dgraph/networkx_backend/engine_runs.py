"""Runs of dgraph's algorithms for the backend. Every answer comes through :func:`solve`, which counts the runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import DataError, UsageError
from dgraph.graph.stored_graph import Graph
from dgraph.networkx_backend import calls
from dgraph.networkx_backend.converted_graph import ConvertedGraph, engine_graph
from dgraph.networkx_backend.visit_order import visit_order
from dgraph.result.columns import UNREACHED
from dgraph.result.result import Result
from dgraph.run import run


class Distances(NamedTuple):
    """Distances from a source or several.

    Attributes:
        values: int64 or float64 (nodes,), in NetworkX's order; -1 if unreached.
        reached: positions by rising distance, then in NetworkX's order.
        predecessor: int64 (nodes,), -1 if none; None if it was not asked for.
    """

    values: np.ndarray
    reached: np.ndarray
    predecessor: np.ndarray | None = None

    def total(self):
        """Return the sum of the distances, a Python number."""
        return self.values[self.reached].sum().item()

    def largest(self):
        """Return the largest distance, a Python number."""
        return self.values[self.reached[-1]].item()


class Search(NamedTuple):
    """A breadth-first search in NetworkX's order.

    Attributes:
        level: int64 (nodes,), -1 if unreached.
        order: positions of reached nodes as NetworkX visits them.
        parent: int64 (nodes,), -1 if none.
    """

    level: np.ndarray
    order: np.ndarray
    parent: np.ndarray


def solve(algorithm: str, graph: Graph, **parameters: Any) -> Result:
    """Run an algorithm of the engine and count the run.

    Raises:
        NotImplementedError: the engine refuses the data or the parameters; NetworkX then turns to the next backend.
    """
    calls[algorithm] += 1
    try:
        return run(algorithm, graph, **parameters)
    except (DataError, UsageError) as refused:
        raise NotImplementedError(str(refused)) from refused


def depth(cutoff: float | None) -> int | None:
    """Return NetworkX's cutoff of a search, which goes on while a level is below it, as a number of levels."""
    return None if cutoff is None or cutoff == math.inf else max(math.ceil(cutoff), 0)


def hops(
    graph: ConvertedGraph, sources: Sequence[int], *, cutoff: float | None = None, backwards: bool = False
) -> Distances:
    """Return the hops from the nearest of the sources.

    Args:
        graph: at least one node.
        sources: positions.
        cutoff: as :func:`depth` reads it.
        backwards: walk edges from target to source.
    """
    limit = depth(cutoff)
    if len(sources) == 1:
        engine, first = graph.engine(backwards=backwards), 0
        found = solve("bfs", engine, source=sources[0], depth_limit=limit, return_predecessors=False)
    else:
        offsets, targets = graph.backward_rows if backwards else (graph.offsets, graph.targets)
        engine, first = _rooted(offsets, targets, None, sources), 1
        limit = None if limit is None else limit + 1
        found = solve("bfs", engine, source=len(graph), depth_limit=limit, return_predecessors=False)
    values = found.columns["distance"][: len(graph)]
    return _ordered(np.where(values == UNREACHED, -1, values - first))


def distances(
    graph: ConvertedGraph,
    sources: Sequence[int],
    weight: str | None,
    *,
    cutoff: float | None = None,
    backwards: bool = False,
    predecessors: bool = False,
) -> Distances:
    """Return the distances from the nearest of the sources, by hops where every edge weighs 1.

    Args:
        graph: at least one node.
        sources: positions.
        weight: edge attribute; None: every edge weighs 1.
        cutoff: largest distance to find; a negative one finds the sources only.
        backwards: walk edges from target to source.
        predecessors: also find a predecessor of every reached node.
    """
    weights = graph.lengths(weight)
    limit = None if cutoff is None or cutoff == math.inf else max(cutoff, 0)
    if weights is None:
        cutoff = None if limit is None else math.floor(limit)
        if not predecessors:
            return hops(graph, sources, cutoff=cutoff, backwards=backwards)
        found = search(graph, sources, cutoff=cutoff, backwards=backwards)
        return Distances(found.level, found.order, found.parent)
    root = sources[0]
    if len(sources) == 1:
        engine = graph.engine(weight, backwards=backwards)
    else:
        engine, root = _rooted(graph.offsets, graph.targets, weights, sources), len(graph)
    answer = solve("sssp", engine, source=root, cutoff=limit, return_predecessors=predecessors)
    values = answer.columns["distance"][: len(graph)]
    values = np.where(values == (UNREACHED if values.dtype.kind == "i" else np.inf), -1, values)
    if limit is not None:
        values[values > limit] = -1
    predecessor = None
    if predecessors:
        predecessor = answer.columns["predecessor"][: len(graph)].copy()
        predecessor[(values < 0) | (predecessor >= len(graph))] = -1
        predecessor[list(sources)] = -1
    return _ordered(values, predecessor)


def search(
    graph: ConvertedGraph, sources: Sequence[int], *, cutoff: float | None = None, backwards: bool = False
) -> Search:
    """Return a breadth-first search as NetworkX does it; arguments as of :func:`hops`."""
    level = hops(graph, sources, cutoff=cutoff, backwards=backwards).values
    offsets, targets = graph.backward_rows if backwards else (graph.offsets, graph.targets)
    return Search(level, *visit_order(offsets, targets, level, sources))


def components(graph: ConvertedGraph) -> np.ndarray:
    """Return the position of each node's first node in its component, weak in a directed graph; int64 (nodes,)."""
    return solve("cc", graph.engine()).columns["labels"]


def _ordered(values: np.ndarray, predecessor: np.ndarray | None = None) -> Distances:
    reached = np.flatnonzero(values >= 0)
    return Distances(values, reached[np.argsort(values[reached], kind="stable")], predecessor)


def _rooted(offsets, targets, weights, sources: Sequence[int]) -> Graph:
    """Return the directed graph with one more vertex, the last, that has an edge of weight 0 to each of the sources."""
    offsets = np.concatenate([offsets, [offsets[-1] + len(sources)]])
    targets = np.concatenate([targets, np.array(sources, targets.dtype)])
    if weights is not None:
        weights = np.concatenate([weights, np.zeros(len(sources), weights.dtype)])
    return engine_graph(offsets, targets, weights, directed=True, parallel=False)
