"""Paths as NetworkX returns them, lists of nodes, from the predecessors that a search found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import NodeDistances, NodeTree


def path_to(graph: ConvertedGraph, parent: np.ndarray, target: int) -> list:
    """Return the path from a source to the target."""
    path, parent_row = [target], int(parent[target])
    while parent_row >= 0:
        path.append(parent_row)
        parent_row = int(parent[parent_row])
    return graph.names(np.array(path[::-1]))


def all_paths(graph: ConvertedGraph, tree: NodeTree, *, backwards: bool = False) -> dict:
    """Return node → path for all reached nodes, in the order of the search; ``backwards``: to the source."""
    names, above = graph.nodes, tree.parent.tolist()
    paths: dict[int, list] = {-1: []}
    for v in tree.reached.tolist():
        before = paths[above[v]]
        paths[v] = [names[v], *before] if backwards else [*before, names[v]]
    del paths[-1]
    return dict(zip(graph.names(tree.reached), paths.values(), strict=True))


def lengths(graph: ConvertedGraph, lengths: NodeDistances | NodeTree) -> dict:
    """Return node → Python number for the reached nodes, in their order."""
    return dict(zip(graph.names(lengths.reached), lengths.values[lengths.reached].tolist(), strict=True))


def all_predecessors(graph: ConvertedGraph, tree: NodeTree, weights: np.ndarray | None) -> dict[object, list]:
    """Return node → all its predecessors on shortest paths, both in the order of the search.

    Args:
        graph: the graph that was searched.
        tree: the search.
        weights: shape (arcs,); None: every edge weighs 1.
    """
    values, reached = tree.values, tree.reached
    u, v = graph.sources, graph.targets.astype(np.int64)
    along = values[u] + (1 if weights is None else weights)
    tight = np.flatnonzero((values[u] >= 0) & (values[v] >= 0) & (along == values[v]))
    rank = np.zeros(len(graph), np.int64)
    rank[reached] = np.arange(reached.size)
    pairs = np.unique(np.stack([rank[v[tight]], rank[u[tight]]]), axis=1)  # parallel edges give one
    ends = np.searchsorted(pairs[0], np.arange(reached.size + 1)).tolist()
    names, above = graph.names(reached), graph.names(reached[pairs[1]])
    return {node: above[ends[k] : ends[k + 1]] for k, node in enumerate(names)}


def paths_by_target(predecessors: dict[object, list], source: object) -> Iterator[tuple[object, list[list]]]:
    """Yield each node with all its shortest paths."""
    for node in predecessors:
        yield node, list(enumerate_paths(predecessors, source, node))


def enumerate_paths(predecessors: dict[object, list], source: object, target: object) -> Iterator[list]:
    """Return an iterator over all paths from source to target through the predecessors, in NetworkX's order."""
    from networkx.algorithms.shortest_paths.generic import _build_paths_from_predecessors

    return _build_paths_from_predecessors({source}, target, predecessors)
