"""Shortest paths by weights. Bellman-Ford's functions return the same, and its lengths take negative weights, too.

Other functions decline negative weights.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

import networkx as nx
import numpy as np

from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import distances, has_negative_cycle, search, signed_distances
from dgraph.networkx_backend.nodes_given import NotANode, position, positions
from dgraph.networkx_backend.path_lists import all_paths, all_predecessors, lengths, path_to


@answers
def multi_source_dijkstra_path_length(G: ConvertedGraph, sources, cutoff=None, weight="weight") -> dict:
    """Return node → distance from the nearest source."""
    return lengths(G, search(G, _sources(G, sources), weight, cutoff=cutoff))


@answers
def multi_source_dijkstra(G: ConvertedGraph, sources, target=None, cutoff=None, weight="weight"):
    """Return distances and paths from the nearest source, or those of the target."""
    first = _sources(G, sources)
    if target is None:
        return _both(G, first, cutoff, weight)
    if position(G, target) in first:
        return 0, [target]
    return _pair(G, first, target, cutoff, weight, "No path to {}.")


@answers
def multi_source_dijkstra_path(G: ConvertedGraph, sources, cutoff=None, weight="weight") -> dict:
    """Return node → path from the nearest source."""
    return _both(G, _sources(G, sources), cutoff, weight)[1]


@answers
def voronoi_cells(G: ConvertedGraph, center_nodes, weight="weight") -> dict:
    """Return center → nodes nearer to it than to others, and under "unreachable" those that none reaches."""
    tree = search(G, _sources(G, center_nodes), weight)
    center = np.full(len(G), -1)
    for v, before in zip(tree.reached.tolist(), tree.parent[tree.reached].tolist(), strict=True):
        center[v] = v if before < 0 else center[before]
    cells = {
        G.nodes[k]: set(G.names(np.flatnonzero(center == k))) for k in dict.fromkeys(center[tree.reached].tolist())
    }
    apart = set(G.names(np.flatnonzero(center < 0)))
    return cells | ({"unreachable": apart} if apart else {})


@answers
def single_source_dijkstra(G: ConvertedGraph, source, target=None, cutoff=None, weight="weight"):
    """Return distances and paths from the source, or those of the target."""
    return multi_source_dijkstra(G, {source}, cutoff=cutoff, target=target, weight=weight)


@answers
def single_source_dijkstra_path(G: ConvertedGraph, source, cutoff=None, weight="weight") -> dict:
    """Return node → path from the source."""
    return multi_source_dijkstra_path(G, {source}, cutoff=cutoff, weight=weight)


@answers
def single_source_dijkstra_path_length(G: ConvertedGraph, source, cutoff=None, weight="weight") -> dict:
    """Return node → distance from the source."""
    return multi_source_dijkstra_path_length(G, {source}, cutoff=cutoff, weight=weight)


@answers
def dijkstra_path(G: ConvertedGraph, source, target, weight="weight") -> list:
    """Return a shortest path from source to target."""
    return single_source_dijkstra(G, source, target=target, weight=weight)[1]


@answers
def dijkstra_path_length(G: ConvertedGraph, source, target, weight="weight"):
    """Return the distance from source to target."""
    return _length(G, source, target, weight, "Node {} not reachable from {}")


@answers
def bidirectional_dijkstra(G: ConvertedGraph, source, target, weight="weight") -> tuple:
    """Return the distance and a shortest path from source to target."""
    first = position(G, source)
    if first == position(G, target):
        return 0, [source]
    return _pair(G, [first], target, None, weight, f"No path between {source} and {{}}.")


def _guided(args) -> str | None:
    if args.get("heuristic") is not None:
        return "heuristic= is a function"
    return "cutoff= of A* bounds distances with the heuristic" if args.get("cutoff") else None


@answers(declines=_guided)
def astar_path(G: ConvertedGraph, source, target, heuristic=None, weight="weight", *, cutoff=None) -> list:
    """Return a shortest path from source to target, without a heuristic."""
    first = position(G, source)
    position(G, target)
    return _pair(G, [first], target, None, weight, f"Node {{}} not reachable from {source}")[1]


@answers(declines=_guided)
def astar_path_length(G: ConvertedGraph, source, target, heuristic=None, weight="weight", *, cutoff=None):
    """Return the distance from source to target, without a heuristic."""
    position(G, target)
    return _length(G, source, target, weight, "Node {} not reachable from {}")


@answers
def dijkstra_predecessor_and_distance(G: ConvertedGraph, source, cutoff=None, weight="weight") -> tuple[dict, dict]:
    """Return node → all its predecessors on shortest paths, and node → distance."""
    first = position(G, source)
    tree = search(G, [first], weight, cutoff=cutoff)
    return all_predecessors(G, tree, G.lengths(weight)), lengths(G, tree)


@answers
def all_pairs_dijkstra(G: ConvertedGraph, cutoff=None, weight="weight") -> Iterator:
    """Return an iterator over nodes with distances and paths."""
    return _pairs(G, weight, lambda k: _both(G, [k], cutoff, weight))


@answers
def all_pairs_dijkstra_path(G: ConvertedGraph, cutoff=None, weight="weight") -> Iterator:
    """Return an iterator over nodes with node → path."""
    return _pairs(G, weight, lambda k: _both(G, [k], cutoff, weight)[1])


@answers
def all_pairs_dijkstra_path_length(G: ConvertedGraph, cutoff=None, weight="weight") -> Iterator:
    """Return an iterator over nodes with node → distance."""
    return _pairs(G, weight, lambda k: lengths(G, search(G, [k], weight, cutoff=cutoff)))


@answers
def johnson(G: ConvertedGraph, weight="weight") -> dict:
    """Return node → node → path."""
    return dict(all_pairs_dijkstra_path(G, weight=weight))


@answers
def bellman_ford_path(G: ConvertedGraph, source, target, weight="weight") -> list:
    """Return a shortest path from source to target."""
    return single_source_bellman_ford(G, source, target=target, weight=weight)[1]


@answers
def bellman_ford_path_length(G: ConvertedGraph, source, target, weight="weight"):
    """Return the distance from source to target."""
    if G.signed(weight) and position(G, source) != position(G, target):
        first, last = position(G, source), position(G, target)
        lengths = signed_distances(G, first, weight)
        if last not in lengths.reached:
            raise nx.NetworkXNoPath(f"node {target} not reachable from {source}")
        return lengths.values[last].item()
    return _length(G, source, target, weight, "node {} not reachable from {}")


@answers
def single_source_bellman_ford(G: ConvertedGraph, source, target=None, weight="weight"):
    """Return distances and paths from the source, or those of the target."""
    first = position(G, source)
    if target is None:
        return _both(G, [first], None, weight)
    if first == position(G, target):
        return 0, [source]
    return _pair(G, [first], target, None, weight, "Target {} cannot be reached from given sources")


@answers
def single_source_bellman_ford_path(G: ConvertedGraph, source, weight="weight") -> dict:
    """Return node → path from the source."""
    return single_source_bellman_ford(G, source, weight=weight)[1]


@answers
def single_source_bellman_ford_path_length(G: ConvertedGraph, source, weight="weight") -> dict:
    """Return node → distance from the source."""
    first = position(G, source)
    reached = signed_distances(G, first, weight) if G.signed(weight) else distances(G, [first], weight)
    return lengths(G, reached)


@answers
def all_pairs_bellman_ford_path(G: ConvertedGraph, weight="weight") -> Iterator:
    """Return an iterator over nodes with node → path."""
    return all_pairs_dijkstra_path(G, weight=weight)


@answers
def all_pairs_bellman_ford_path_length(G: ConvertedGraph, weight="weight") -> Iterator:
    """Return an iterator over nodes with node → distance."""
    if G.signed(weight):
        return ((node, lengths(G, signed_distances(G, k, weight))) for k, node in enumerate(G.nodes))
    return all_pairs_dijkstra_path_length(G, weight=weight)


@answers
def negative_edge_cycle(G: ConvertedGraph, weight="weight", heuristic=True) -> bool:
    """Return True if the weights of a cycle sum to less than 0."""
    return bool(G.targets.size) and has_negative_cycle(G, weight)


def _sources(G: ConvertedGraph, sources) -> list[int]:
    first = positions(G, sources)
    if not first:
        raise NotANode
    return list(dict.fromkeys(first))


def _both(G: ConvertedGraph, sources: list[int], cutoff, weight) -> tuple[dict, dict]:
    tree = search(G, sources, weight, cutoff=cutoff)
    return lengths(G, tree), all_paths(G, tree)


def _pair(G: ConvertedGraph, sources: list[int], target: Hashable, cutoff, weight, text: str) -> tuple:
    """Return distance and path of the target; ``text`` is NetworkX's message if there is no path."""
    last = position(G, target)
    tree = search(G, sources, weight, cutoff=cutoff, target=last)
    if tree.values[last] < 0:
        raise nx.NetworkXNoPath(text.format(target))
    return tree.values[last].item(), path_to(G, tree.parent, last)


def _length(G: ConvertedGraph, source, target, weight, text: str):
    first = position(G, source)
    last = position(G, target)
    if first == last:
        return 0
    lengths = distances(G, [first], weight, target=last)
    if lengths.values[last] < 0:
        raise nx.NetworkXNoPath(text.format(target, source))
    return lengths.values[last].item()


def _pairs(G: ConvertedGraph, weight, one: Callable[[int], object]) -> Iterator:
    """Check the weights now, where NetworkX can still turn to another backend; then compute node by node."""
    G.lengths(weight)
    return ((node, one(k)) for k, node in enumerate(G.nodes))
