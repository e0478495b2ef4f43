"""Rows of a graph from its arcs, where they lie in a partition: the way back from ``local_graph.py``."""

from __future__ import annotations

import numpy as np

from dgraph.comm.base import Comm
from dgraph.graph.block import EdgeBlock, GraphFacts, gid_type
from dgraph.graph.build.clean import assemble
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.local import LocalGraph


def rows_of(graph: EdgeBlock | GraphFacts, local: LocalGraph, comm: Comm) -> EdgeBlock:
    """Return this rank's rows of a partitioned graph; collective. On one rank they are the partition's own arrays."""
    rows = local.out
    if comm.size == 1:
        targets = rows.neighbours.astype(gid_type(graph.n), copy=False)
        return EdgeBlock(
            graph.n, graph.m, graph.arcs, 0, rows.offsets, targets, rows.weights, graph.directed, graph.ids, graph.facts
        )
    gids = local.gids.astype(gid_type(graph.n))
    return rows_of_arcs(graph, np.repeat(gids, np.diff(rows.offsets)), gids[rows.neighbours], rows.weights, comm)


def rows_of_arcs(graph: EdgeBlock | GraphFacts, src: np.ndarray, dst: np.ndarray, weights, comm: Comm) -> EdgeBlock:
    """Return this rank's rows of a clean graph's arcs, by gid and on any ranks; collective."""
    raw = RawEdges(src, dst, weights, graph.directed, graph.n, mirrored=not graph.directed)
    block = assemble(raw, comm, LoadOptions(keep_loops=True, keep_parallel=True))
    block.ids, block.facts = graph.ids, graph.facts
    return block
