"""Partition of a single rank whose rows were gathered from the GPUs of all ranks, without weights."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dgraph.backend.cuda.device_graph.vertex_order import by_descending_degree
from dgraph.backend.cuda.gathered.row_assembly import RowAssembly, sort_rows
from dgraph.backend.cuda.graph_build.build_rows import BuiltCsr
from dgraph.backend.cuda.graph_build.built_local import BuiltLocal
from dgraph.backend.cuda.graph_build.vertices import BuiltVertices
from dgraph.graph.local import LocalGraph


class GatheredLocal(BuiltLocal):
    """Whole graph on one GPU; lids are gids."""

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


class Assembly(RowAssembly):
    """Rows of a whole graph by position.

    Args:
        whole: partition of this rank, for the sizes of the graph.
        device: this GPU.
        degrees: out-degrees in the whole graph by gid, int64 on the device.
        renumber: positions are by descending degree.
        ids: original ids by gid, on the device; None: they are gids.
    """

    def __init__(self, whole: LocalGraph, device: Any, degrees: Any, renumber: bool, ids: Any):
        xp, n = device.xp, whole.n
        self.whole, self.ids, self.degrees = whole, ids, degrees
        self.order = by_descending_degree(degrees, [0, n], xp) if renumber else None
        self.place = None
        if renumber:
            self.place = xp.empty(n, np.uint32)
            self.place[self.order] = xp.arange(n, dtype=np.uint32)
        super().__init__(device, degrees if self.order is None else degrees[self.order])

    def begin(self, rows: Any, lengths: Any) -> None:
        """Make room for arcs of rows that are named by gid."""
        super().begin(rows if self.place is None else self.place[rows], lengths)

    def fill(self, first: int, targets: Any) -> None:
        """Place targets that are gids."""
        super().fill(first, targets if self.place is None else self.place[targets])

    def finished(self) -> GatheredLocal:
        """Sort all rows and return the graph."""
        device, n = self.device, self.whole.n
        self.end()
        sort_rows(device, self.starts, self.targets)
        arcs = self.whole.arcs
        offsets = self.starts if arcs >= 2**31 else self.starts.astype(np.uint32)
        longest = int(self.degrees.max()) if n else 0
        built = BuiltCsr(
            offsets, self.targets, None, spare=0, longest=longest, loops=0, equal=0, equal_loops=0,
            kept_loops=0, hashed=np.uint64(0), isolated=0,
        )  # fmt: skip
        ids = device.xp.arange(n, dtype=np.uint32) if self.ids is None else self.ids
        by_position = ids if self.order is None else ids[self.order]
        degree = (self.degrees if self.order is None else self.degrees[self.order]).astype(np.uint32)
        vertices = BuiltVertices(n, n, by_position, self.order, self.place)
        arrays = (offsets, self.targets, by_position, degree, self.order, self.place)
        planned = sum(array.nbytes for array in arrays if array is not None)
        return GatheredLocal(self.whole, built, vertices, degree, device, planned)
