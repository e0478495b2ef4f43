"""Partition of a single rank whose rows were gathered from the GPUs of all ranks, without weights."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dgraph.backend.cuda.gathered.gathered_rows import GatheredRows
from dgraph.backend.cuda.graph_build.build_rows import BuiltCsr
from dgraph.backend.cuda.graph_build.built_local import BuiltLocal
from dgraph.backend.cuda.graph_build.vertices import BuiltVertices
from dgraph.backend.cuda.transports.bulk_moves import BulkMoves
from dgraph.graph.local import LocalGraph


class Replicas:
    """GPUs that each hold the whole graph, and solve it together.

    Attributes:
        moves: mailboxes between all ranks.
        number, count: number of this rank, from 0, and of all.
        masters: positions in the whole graph of this rank's masters, by their position in its part, uint32.
        place: position of each lid in that part; None: it is the lid.
        exchanges: number of exchanges by kernels so far.
    """

    def __init__(self, moves: BulkMoves, masters: Any, place: Any):
        self.moves, self.number, self.count = moves, moves.comm.rank, moves.comm.size
        self.masters, self.place, self.exchanges = masters, place, 0

    def spread(self, array: Any) -> None:
        """Bring each rank's part of an array to all, or raise the error by which a rank ended before; collective.

        The parts are ``count`` equal ones, by number.
        """
        self.moves.spread(array)


class GatheredLocal(BuiltLocal):
    """Whole graph on one GPU; lids are gids.

    Args:
        whole: partition of this rank, for the sizes of the graph.
        rows: of the whole graph, by position, with the original ids as values; without values, ids are gids.
        place: position of each gid, uint32; None: it is the gid.
        device: this GPU.
        replicas: all GPUs that hold the graph.
    """

    def __init__(self, whole: LocalGraph, rows: GatheredRows, place: Any, device: Any, replicas: Replicas):
        xp, n, order, ids = device.xp, whole.n, None, rows.values
        degree = (rows.offsets[1:] - rows.offsets[:-1]).astype(np.uint32)
        if place is not None:
            order = xp.empty(n, np.uint32)
            order[place] = xp.arange(n, dtype=np.uint32)
        if ids is None:
            ids = xp.arange(n, dtype=np.uint32) if order is None else order
        elif int(ids.max()) < 2**32 - 1:
            ids = ids.astype(np.uint32)
        offsets = rows.offsets if whole.arcs >= 2**31 else rows.offsets.astype(np.uint32)
        built = BuiltCsr(
            offsets, rows.targets, None, spare=0, longest=int(degree.max()), loops=0, equal=0, equal_loops=0,
            kept_loops=0, hashed=np.uint64(0), isolated=0,
        )  # fmt: skip
        planned = sum(array.nbytes for array in (offsets, rows.targets, ids, degree, order, place) if array is not None)
        super().__init__(whole, built, BuiltVertices(n, n, ids, order, place), degree, device, planned)
        self.replicas = replicas

    @property
    def repeats(self) -> bool:
        """True: a row may name a neighbour twice."""
        return True

    @cached_property
    def original(self) -> np.ndarray:  # type: ignore[override]
        """Original ids by gid."""
        ids, place = self.vertices.original, self.vertices.place
        return self.device.get(ids if place is None else ids[place]).astype(np.int64)

    by_id, ascending, largest_id = LocalGraph.by_id, LocalGraph.ascending, LocalGraph.largest_id
    lid = LocalGraph.lid
