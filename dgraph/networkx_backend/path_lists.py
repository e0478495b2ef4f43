"""Paths as NetworkX returns them, lists of nodes, from the predecessors that a search found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgraph.networkx_backend.converted_graph import ConvertedGraph


def path_to(graph: ConvertedGraph, predecessor: np.ndarray, target: int, *, backwards: bool = False) -> list:
    """Return the path from a source to the target, or from the target to a source if the search went backwards."""
    found, at = [target], int(predecessor[target])
    while at >= 0:
        found.append(at)
        at = int(predecessor[at])
    return graph.names(np.array(found if backwards else found[::-1]))


def all_paths(
    graph: ConvertedGraph, reached: np.ndarray, predecessor: np.ndarray, *, backwards: bool = False
) -> dict:
    """Return node → path for all reached nodes, in that order; arguments as of :func:`path_to`."""
    names, above = graph.nodes, predecessor.tolist()
    paths: dict[int, list] = {}
    for v in reached.tolist():
        chain = [v]
        while chain[-1] not in paths and above[chain[-1]] >= 0:
            chain.append(above[chain[-1]])
        for w in reversed(chain):
            if w not in paths:
                before = paths[above[w]] if above[w] >= 0 else []
                paths[w] = [names[w], *before] if backwards else [*before, names[w]]
    return {names[v]: paths[v] for v in reached.tolist()}


def lengths(graph: ConvertedGraph, values: np.ndarray, reached: np.ndarray) -> dict:
    """Return node → Python number for the nodes at positions ``reached``, in that order."""
    return dict(zip(graph.names(reached), values[reached].tolist(), strict=True))


def all_predecessors(
    graph: ConvertedGraph, values: np.ndarray, reached: np.ndarray, weights: np.ndarray | None
) -> dict[object, list]:
    """Return node → all its predecessors on shortest paths, both in the order of ``reached``.

    Args:
        graph: the graph that was searched.
        values: distances by position, negative if unreached.
        reached: positions in the order of the search.
        weights: shape (arcs,); None: every edge weighs 1.
    """
    u, v = graph.sources, graph.targets.astype(np.int64)
    along = values[u] + (1 if weights is None else weights)
    tight = np.flatnonzero((values[u] >= 0) & (values[v] >= 0) & (along == values[v]))
    rank = np.zeros(len(graph), np.int64)
    rank[reached] = np.arange(reached.size)
    pairs = np.unique(np.stack([rank[v[tight]], rank[u[tight]]]), axis=1)  # parallel edges give one
    ends = np.searchsorted(pairs[0], np.arange(reached.size + 1)).tolist()
    found, above = graph.names(reached), graph.names(reached[pairs[1]])
    return {node: above[ends[k] : ends[k + 1]] for k, node in enumerate(found)}


def paths_by_target(predecessors: dict[object, list], source: object) -> Iterator[tuple[object, list[list]]]:
    """Yield each node with all its shortest paths."""
    for node in predecessors:
        yield node, list(enumerate_paths(predecessors, source, node))


def enumerate_paths(predecessors: dict[object, list], source: object, target: object) -> Iterator[list]:
    """Return an iterator over all paths from source to target through the predecessors, in NetworkX's order."""
    from networkx.algorithms.shortest_paths.generic import _build_paths_from_predecessors

    return _build_paths_from_predecessors({source}, target, predecessors)
