"""Simple paths, in NetworkX's order: its depth-first search, which turns back where no target is near enough."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import pairwise

import numpy as np

from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import depth, hops
from dgraph.networkx_backend.nodes_given import NotANode, position, positions


@answers
def all_simple_paths(G: ConvertedGraph, source, target, cutoff=None) -> Iterator[list]:
    """Return an iterator over the lists of nodes of simple paths, of at most ``cutoff`` edges."""
    return (G.names(np.array(path)) for path in _paths(G, source, target, cutoff))


def _several(args) -> str | None:
    return "the keys of parallel edges" if args["G"].is_multigraph() else None


@answers(declines=_several)
def all_simple_edge_paths(G: ConvertedGraph, source, target, cutoff=None) -> Iterator[list]:
    """Return an iterator over the lists of edges of simple paths, of at most ``cutoff`` edges."""
    paths = (G.names(np.array(path)) for path in _paths(G, source, target, cutoff))
    return (list(pairwise(path)) for path in paths)


def _paths(G: ConvertedGraph, source, target, cutoff: float | None) -> Iterator[list[int]]:
    begin = position(G, source)
    targets = {position(G, target)} if isinstance(target, Hashable) and target in G else set(positions(G, target))
    if not targets or (cutoff is not None and not cutoff >= 0):
        raise NotANode
    most = depth(cutoff)
    most = len(G) - 1 if most is None else min(most, len(G) - 1)
    left = hops(G, sorted(targets), cutoff=most, backwards=True).values.tolist()
    return _search(G.offsets.tolist(), G.targets.tolist(), begin, targets, most, left)


def _search(offsets: list, neighbours: list, begin: int, targets: set, most: int, left: list) -> Iterator[list[int]]:
    """Yield paths from ``begin`` of at most ``most`` edges; ``left``: hops from each node to a target, -1 if none."""
    path: dict[int, None] = {}
    stack = [iter([begin])]
    while stack:
        v = next((u for u in stack[-1] if u not in path), -1)
        if v < 0:
            stack.pop()
            if path:
                path.popitem()
            continue
        if v in targets:
            yield [*path, v]
        if left[v] >= 0 and len(path) + max(left[v], 1) <= most and targets - path.keys() - {v}:
            path[v] = None
            stack.append(iter(neighbours[offsets[v] : offsets[v + 1]]))
