"""The change of a graph's undirected form that follows from a change of the graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgraph.comm.base import Comm
from dgraph.graph.changes.local_numbers import lids_of
from dgraph.graph.changes.merge_rows import ChangedArcs, find
from dgraph.graph.changes.numbered_batch import NumberedChange, distinct_pairs
from dgraph.graph.local import LocalGraph


def undirected_change(what: NumberedChange, local: LocalGraph, comm: Comm) -> NumberedChange:
    """Return the change of the undirected form; collective.

    Every pair of vertices that the change names is removed, and added again if an arc is there in either direction,
    with the smaller weight.

    Args:
        what: the change of the directed graph.
        local: this rank's part of the directed graph after it.
        comm: communicator of the ranks.
    """
    ends = np.stack([what.add.src, what.add.dst]), np.stack([what.remove.src, what.remove.dst])
    pairs = distinct_pairs(ChangedArcs(*np.sort(np.concatenate(ends, axis=1), axis=0)), what.n)
    arcs = ChangedArcs(np.concatenate([pairs.src, pairs.dst]), np.concatenate([pairs.dst, pairs.src]))
    rows = lids_of(local.masters, local.gids, local.own_mirrors, arcs.src)
    low, high = find(local.out, local.gids, rows, arcs.dst)
    here = (high > low).astype(np.int64).reshape(2, -1)
    there = comm.allreduce(here.sum(axis=0)) > 0
    weights, kind = None, local.out.weight_type
    if kind is not None:
        wide = np.dtype(np.int64 if kind.kind == "i" else np.float64)
        least = np.full(low.size, np.iinfo(np.int64).max if kind.kind == "i" else np.inf, wide)
        least[high > low] = local.out.weights[low[high > low]]  # type: ignore[index]
        weights = comm.allreduce(least.reshape(2, -1).min(axis=0), "min")[there].astype(kind)
    return replace(what, remove=pairs, add=ChangedArcs(pairs.src[there], pairs.dst[there], weights))
