"""Quality of partitions into communities, by NetworkX's definitions, also of directed graphs and multigraphs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import networkx as nx
import numpy as np

from dgraph._support.arguments import is_real
from dgraph.networkx_backend import calls
from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph, engine_graph
from dgraph.result.partitions.label_columns import label_column
from dgraph.result.partitions.partition_totals import CommunityTotals


def _without_edges(args) -> str | None:
    return None if args["G"].number_of_edges() else "the graph has no edges"


@answers(declines=_without_edges)
def modularity(G: ConvertedGraph, communities, weight="weight", resolution=1):
    """Return the modularity of a partition, with NetworkX's roundings: its greedy methods compare equal values."""
    totals = _totals(G, "modularity", communities, weight)
    if not totals.leaving.any():
        raise NotImplementedError(f"the {weight} of all edges is 0")
    if not is_real(resolution):
        raise NotImplementedError(f"resolution={resolution!r} is not a number")
    leaving, entering = totals.leaving.tolist(), (totals.entering if G.is_directed() else totals.leaving).tolist()
    whole = sum(leaving)
    edges, norm = (whole if G.is_directed() else whole / 2), 1 / whole**2
    within = (totals.inner if G.is_directed() else totals.inner / 2).tolist()
    rows = zip(within, leaving, entering, strict=True)
    return sum(inner / edges - resolution * leaves * enters * norm for inner, leaves, enters in rows)


@answers(declines=_without_edges)
def partition_quality(G: ConvertedGraph, partition) -> tuple[float, float]:
    """Return coverage and performance of a partition; edges count 1, and the performance of multigraphs is -1."""
    totals = _totals(G, "partition_quality", partition, None)
    inner, edges, n = int(totals.inner.sum()), G.number_of_edges(), len(G)
    pairs = n * (n - 1)
    outer = n * n - int((totals.sizes**2).sum())
    if not G.is_directed():
        inner, pairs, outer = inner // 2, pairs // 2, outer // 2
    if G.is_multigraph():
        return inner / edges, -1.0
    if not pairs:
        raise NotImplementedError("the graph has one node")
    return inner / edges, (inner + outer - (edges - inner)) / pairs


def _totals(G: ConvertedGraph, name: str, communities: Iterable, weight: str | None) -> CommunityTotals:
    """Return the sums over sets of nodes.

    Raises:
        NotAPartition: a node is in several, or in none, or not in the graph.
    """
    groups = [list(group) for group in communities]
    try:
        members = np.fromiter(map(G.index.__getitem__, chain.from_iterable(groups)), np.int64)
    except (KeyError, TypeError):
        members = np.zeros(0, np.int64)
    counts = np.bincount(members, minlength=len(G))
    if len(members) != sum(map(len, groups)) or np.any(counts != 1):
        raise nx.community.quality.NotAPartition(G, groups)
    labels = np.empty(len(G), np.int64)
    labels[members] = np.repeat(np.arange(len(groups)), list(map(len, groups)))
    calls[name] += 1
    rows = G.rows(G.lengths(weight))
    graph = engine_graph(*rows, directed=G.is_directed(), parallel=G.is_multigraph())
    return CommunityTotals.of(graph.block, label_column("communities", labels, graph), graph.comm)
