"""Simple paths, by NetworkX's searches with the distances to the target that the engine finds first.

All paths come in NetworkX's order: its depth-first search turns back where no target is near enough. Paths by length
are Yen's [Management Science 17, 1971]; his searches for a detour go by A* along the distances. SciPy has Yen's method
for a number of paths that is fixed before, with a search of the whole graph for each detour.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from heapq import heappop, heappush
from itertools import count, pairwise
from typing import Any

import numpy as np

from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import depth, distances, hops
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


@answers
def shortest_simple_paths(G: ConvertedGraph, source, target, weight=None) -> Iterator[list]:
    """Return an iterator over the lists of nodes of simple paths, the shortest first."""
    begin, end = position(G, source), position(G, target)
    weights = G.lengths(weight)
    remaining = distances(G, [end], weight, backwards=True).values.tolist()
    if remaining[begin] < 0 or G.is_multigraph():
        raise NotANode
    steps = None if weights is None else weights.tolist()
    detours = _Detours(G.offsets.tolist(), G.targets.tolist(), steps, end, remaining)
    return (G.names(np.array(path)) for path in _by_length(detours, begin))


class _Detours:
    """Searches for a shortest path to one target past some nodes.

    Attributes:
        offsets, neighbours: the rows.
        steps: weights of arcs; None: every arc weighs 1.
        target: position.
        remaining: distance from each node to the target in the whole graph, negative if there is no path.
    """

    def __init__(self, offsets: list, neighbours: list, steps: list | None, target: int, remaining: list):
        self.offsets, self.neighbours, self.steps = offsets, neighbours, steps
        self.target, self.remaining = target, remaining

    def arcs(self, v: int) -> Iterator[tuple[int, Any]]:
        """Return the neighbours of a node with the weights of the arcs."""
        row = range(self.offsets[v], self.offsets[v + 1])
        return ((self.neighbours[arc], 1 if self.steps is None else self.steps[arc]) for arc in row)

    def search(self, start: int, avoided: Collection[int], taken: Collection[int]) -> tuple[list[int], list] | None:
        """Return a shortest path and the length up to each of its nodes; None: there is none.

        Of equal sums the node nearest to the target is next, then the one that was seen last, so a search without
        detours follows one path.

        Args:
            start: where it begins.
            avoided: nodes that it may not enter.
            taken: nodes that it may not enter from the start.
        """
        order, lengths, before = count(), {start: 0}, {start: -1}
        heap = [(self.remaining[start], self.remaining[start], 0, start, 0)]
        while heap:
            *_, v, length = heappop(heap)
            if v == self.target:
                path = [v]
                while before[path[-1]] >= 0:
                    path.append(before[path[-1]])
                return path[::-1], [lengths[u] for u in path[::-1]]
            if length > lengths[v]:
                continue
            for u, step in self.arcs(v):
                further = length + step
                blocked = u in avoided or (v == start and u in taken) or self.remaining[u] < 0
                if not blocked and (u not in lengths or further < lengths[u]):
                    lengths[u], before[u] = further, v
                    heappush(heap, (further + self.remaining[u], self.remaining[u], -next(order), u, further))
        return None


def _by_length(detours: _Detours, begin: int) -> Iterator[list[int]]:
    """Yield simple paths from a node by rising length; each leaves those before it at one of its nodes."""
    path: list[int] = [begin]
    lengths: list = [0]
    order, waiting, listed = count(), list[tuple](), set[tuple]()
    tree: dict = {}

    def wait(place: int, taken: Collection[int]) -> None:
        detour = detours.search(path[place], set(path[:place]), taken)
        if detour is not None and (longer := (*path[:place], *detour[0])) not in listed:
            listed.add(longer)
            along = lengths[:place] + [lengths[place] + part for part in detour[1]]
            heappush(waiting, (along[-1], next(order), longer, along))

    wait(0, ())
    while waiting:
        _, _, nodes, lengths = heappop(waiting)
        path = list(nodes)
        yield path
        branch = tree
        for v in path:
            branch = branch.setdefault(v, {})
        branch = tree
        for place, v in enumerate(path[:-1]):
            branch = branch[v]
            wait(place, branch)


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
