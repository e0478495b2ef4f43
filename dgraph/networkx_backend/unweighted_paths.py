"""Shortest paths by hops."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np

from dgraph.networkx_backend.answers import NETWORKX, answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import depth, path_between, search
from dgraph.networkx_backend.nodes_given import position
from dgraph.networkx_backend.path_lists import all_paths, all_predecessors, lengths


@answers
def single_source_shortest_path_length(G: ConvertedGraph, source, cutoff=None) -> dict:
    """Return node → hops from the source."""
    return _lengths(G, position(G, source), cutoff, False)


@answers
def single_target_shortest_path_length(G: ConvertedGraph, target, cutoff=None) -> dict | Iterator:
    """Return node → hops to the target."""
    lengths = _lengths(G, position(G, target), cutoff, True)
    return iter(lengths.items()) if NETWORKX < (3, 5) else lengths


@answers
def all_pairs_shortest_path_length(G: ConvertedGraph, cutoff=None) -> Iterator:
    """Yield each node with node → hops."""
    for k, node in enumerate(G.nodes):
        yield node, _lengths(G, k, cutoff, False)


@answers
def single_source_shortest_path(G: ConvertedGraph, source, cutoff=None) -> dict:
    """Return node → path from the source."""
    return _paths(G, position(G, source), cutoff, False)


@answers
def single_target_shortest_path(G: ConvertedGraph, target, cutoff=None) -> dict:
    """Return node → path to the target."""
    return _paths(G, position(G, target), cutoff, True)


@answers
def all_pairs_shortest_path(G: ConvertedGraph, cutoff=None) -> Iterator:
    """Yield each node with node → path."""
    for k, node in enumerate(G.nodes):
        yield node, _paths(G, k, cutoff, False)


@answers
def bidirectional_shortest_path(G: ConvertedGraph, source, target) -> list:
    """Return a path of fewest edges from source to target."""
    first = position(G, source)
    last = position(G, target)
    path = path_between(G, first, last)
    if not path:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return G.names(np.array(path))


@answers
def predecessor(G: ConvertedGraph, source, target=None, cutoff=None, return_seen=None):
    """Return node → all its predecessors on paths of fewest edges."""
    first = position(G, source)
    limit = max(depth(cutoff) or 1, 1) if cutoff else None
    tree = search(G, [first], cutoff=limit)
    above = all_predecessors(G, tree, None)
    seen = lengths(G, tree)
    if target is None:
        return (above, seen) if return_seen else above
    if target not in above:
        return ([], -1) if return_seen else []
    return (above[target], seen[target]) if return_seen else above[target]


def _lengths(G: ConvertedGraph, source: int, cutoff, backwards: bool) -> dict:
    return lengths(G, search(G, [source], cutoff=depth(cutoff), backwards=backwards))


def _paths(G: ConvertedGraph, source: int, cutoff, backwards: bool) -> dict:
    return all_paths(G, search(G, [source], cutoff=depth(cutoff), backwards=backwards), backwards=backwards)
