"""Partition of a rank whose rows are on its GPU; the host copies parts of it when they are read."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.backend.cuda.device_graph import row_marks
from dgraph.backend.cuda.device_graph.device_graph import SOME, DeviceCsr
from dgraph.backend.cuda.device_graph.graph_size import GraphSize, fits_32, sharing
from dgraph.backend.cuda.device_graph.row_sums import row_sums
from dgraph.backend.cuda.graph_build.build_rows import BuiltCsr
from dgraph.backend.cuda.graph_build.degrees import degrees
from dgraph.backend.cuda.graph_build.vertices import BuiltVertices
from dgraph.comm import Comm
from dgraph.graph.block import GraphFacts
from dgraph.graph.local import Csr, LocalGraph
from dgraph.graph.rows import sort_rows


class BuiltRows(Csr):
    """CSR by lid that is copied to the host on first use; sizes and figures of the weights need no copy."""

    built: BuiltCsr
    order: Any
    place: Any
    device: Any

    def __init__(self, built: BuiltCsr, vertices: BuiltVertices, device):
        self.__dict__.update(built=built, order=vertices.order, place=vertices.place, device=device)

    @property
    def arcs(self) -> int:
        """Arcs on this rank."""
        return int(self.built.neighbours.size)

    @property
    def weight_type(self) -> np.dtype | None:
        """Dtype of the weights, or None."""
        return None if self.built.weights is None else self.built.weights.dtype

    @cached_property
    def weight_range(self) -> tuple:
        """Smallest weight, largest weight, and their sum."""
        weights = self.built.weights
        if weights is None or not weights.size:
            return 0, 0, 0.0
        low, high = (self.device.get(bound)[()] for bound in (weights.min(), weights.max()))
        pieces = (weights[first : first + SOME].astype(np.float64) for first in range(0, weights.size, SOME))
        return low, high, sum(float(piece.sum()) for piece in pieces)  # a sum of another dtype compiles for seconds

    def measured(self, threads: int) -> tuple:
        """Return :attr:`weight_range`, which the GPU measures."""
        return self.weight_range

    def row_sums(self) -> np.ndarray:
        """Return the sum of the weights of every row: float64 by lid."""
        sums = row_sums(self.device, self.built.offsets, self.built.weights)
        return self.device.get(sums if self.place is None else sums[self.place])

    @cached_property
    def offsets(self) -> np.ndarray:
        """Offsets by lid: int64 (size + 1,)."""
        starts = self.device.get(self.built.offsets).astype(np.int64)
        if self.place is None:
            return starts
        offsets = np.zeros_like(starts)
        np.cumsum(np.diff(starts)[self.device.get(self.place)], out=offsets[1:])
        return offsets

    @property
    def neighbours(self) -> np.ndarray:
        """Targets by lid, ascending in each row."""
        return self._ends[0]

    @property
    def weights(self) -> np.ndarray | None:
        """Weights by lid, or None."""
        return self._ends[1]

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Targets and weights, sorted in each row as in other partitions; on the GPU hubs come first."""
        targets, weights = self._copied()
        sort_rows(self.offsets, targets, weights)
        return targets, weights

    def _copied(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return targets and weights by lid, in the order of the GPU's rows."""
        weights, targets = self.built.weights, self._by_lid(self.built.neighbours)
        if self.order is not None:
            targets = self.device.get(self.order)[targets]
        return targets, None if weights is None else self._by_lid(weights)

    def _by_lid(self, column) -> np.ndarray:
        values = self.device.get(column)
        if self.place is None:
            return values
        ordered, offsets = np.empty_like(values), self.offsets
        starts = self.device.get(self.built.offsets).astype(np.int64)[:-1][self.device.get(self.place)]
        for low in range(0, starts.size, SOME):
            ends = offsets[low : low + SOME + 1]
            e = np.arange(ends[0], ends[-1])
            e += np.repeat(starts[low : low + SOME] - ends[:-1], np.diff(ends))
            ordered[ends[0] : ends[-1]] = values[e]
        return ordered

    def rows_by_gid(
        self, gids: np.ndarray | None, masters: int, threads: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return offsets, targets and weights of the masters' rows, by gid; no copy is kept here.

        Args:
            gids: gid of each lid; None: lids are gids.
            masters: rows to return.
            threads: that sort them.
        """
        offsets, (neighbours, weights) = self.offsets[: masters + 1], self._copied()
        targets = neighbours if gids is None else np.empty(self.arcs, gids.dtype)
        for low in range(0, 0 if gids is None else self.arcs, SOME):
            targets[low : low + SOME] = gids[neighbours[low : low + SOME]]  # type: ignore[index]
        sort_rows(offsets, targets, weights, threads)
        for name in ("offsets", "_ends"):
            self.__dict__.pop(name, None)
        return offsets, targets, weights


class BuiltLocal(LocalGraph):
    """Partition that was built on a GPU.

    Attributes:
        built, vertices: its rows and vertices on the device.
        degree: out-degrees in the whole graph, by position, on the device.
        extent: its sizes; ``planned``: bytes that building was estimated to take at most.
        in_edges: rows of the in-edges on the device, of a reversed partition; None: not made.
        ids: original ids by gid, int64 (n,), ascending, of a graph on one rank; None: they are the gids.
        original_ids: original ids by position, on the device.
        replicas: GPUs that hold the same whole graph; None: there are none.
    """

    ids: np.ndarray | None = None
    in_edges: DeviceCsr | None = None
    replicas: Any = None
    _asked: tuple[int, int] | None = None

    def __init__(
        self, whole: GraphFacts | LocalGraph, built: BuiltCsr, vertices: BuiltVertices, degree, device, planned: int
    ):
        self.n, self.m, self.arcs, self.directed = whole.n, whole.m, whole.arcs, whole.directed
        self.masters, self.own_mirrors, self.peer_mirrors = (
            vertices.masters,
            vertices.own_mirrors,
            vertices.peer_mirrors,
        )
        self.built, self.vertices, self.degree, self.device = built, vertices, degree, device
        self.planned, self.original_ids = planned, vertices.original
        self.out = BuiltRows(built, vertices, device)
        self.extent = GraphSize(
            vertices.size, self.out.arcs,
            weight=0 if built.weights is None else built.weights.itemsize,
            ids=vertices.original.itemsize,
            directed=whole.directed,
            masters=vertices.masters,
            renumbered=vertices.place is not None,
            wide=built.offsets.itemsize == 8,
            largest=built.longest,
            spare=built.spare,
            **sharing(self),
        )  # fmt: skip

    def take_ids(self, ids: np.ndarray) -> None:
        """Give vertices original ids that are not their gids; on one rank."""
        self.ids = ids
        width = np.uint32 if fits_32(ids) else np.int64
        self.original_ids = self.device.put(ids.astype(width))[self.vertices.original]
        self.extent = replace(self.extent, ids=self.original_ids.itemsize)

    def make_reversed(self, incoming: DeviceCsr, comm: Comm) -> None:
        """Make ``turned``, the reversed partition, which shares all arrays but degrees; collective.

        Args:
            incoming: this partition's in-edges on the device, by position.
            comm: the ranks.
        """
        lengths = row_marks.lengths(self.device, incoming.offsets)
        built = replace(
            self.built, offsets=incoming.offsets, neighbours=incoming.neighbours, weights=incoming.weights, spare=0,
            longest=int(lengths.max()) if lengths.size else 0,
        )  # fmt: skip
        own, peers = (
            {peer: replace(side, turned=True) for peer, side in sides.items()}
            for sides in (self.own_mirrors, self.peer_mirrors)
        )
        vertices = replace(self.vertices, own_mirrors=own, peer_mirrors=peers)
        degree = degrees(built, vertices, False, comm, self.device)
        turned = BuiltLocal(self, built, vertices, degree, self.device, self.planned)
        turned.ids, turned.original_ids = self.ids, self.original_ids
        turned.in_edges = DeviceCsr(self.built.offsets, self.built.neighbours, self.built.weights)
        self.turned = turned

    @property
    def size(self) -> int:
        """Masters and mirrors."""
        return self.vertices.size

    @cached_property
    def gids(self) -> np.ndarray:  # type: ignore[override]
        """Global id of each lid: int64 (size,)."""
        if self.masters == self.n:
            return np.arange(self.n, dtype=np.int64)
        original, place = self.vertices.original, self.vertices.place
        return self.device.get(original if place is None else original[place]).astype(np.int64)

    @property
    def ascending(self) -> int:
        """Leading lids whose gids ascend: all masters, since ranks number theirs by gid."""
        return self.masters

    @cached_property
    def largest_id(self) -> int:
        """Largest original id of this rank's vertices; -1 if it has none."""
        if self.ids is not None:
            return int(self.ids[-1])
        return self.n - 1 if self.masters == self.n else int(self.vertices.original.max()) if self.size else -1

    @property
    def repeats(self) -> bool:
        """True if a row of this rank names a neighbour twice."""
        return self.built.repeats

    @property
    def by_id(self) -> bool:
        """True: targets of a row ascend by gid."""
        return True

    def lid(self, vertex: int) -> int | None:
        """Return the lid of one of this rank's masters, or None; found on the GPU without copying all gids."""
        if self.ids is not None:
            position = int(np.searchsorted(self.ids, vertex))
            return position if position < self.n and self.ids[position] == vertex else None
        if self._first_gid is not None:
            return vertex - self._first_gid if 0 <= vertex - self._first_gid < self.masters else None
        own, order = self.vertices.original[: self.masters], self.vertices.order
        for first in range(0, self.masters if 0 <= vertex < self.n else 0, SOME):
            positions = self.device.xp.flatnonzero(own[first : first + SOME] == vertex)
            if positions.size:
                position = first + int(positions[0])
                return position if order is None else int(order[position])
        return None

    @cached_property
    def _first_gid(self) -> int | None:
        """First of the masters' gids if these are consecutive, as of blocks of vertices; else None."""
        if not 0 < self.masters < self.n:
            return 0
        first, last = (self._read(self.vertices.original, lid) for lid in (0, self.masters - 1))
        return first if last - first == self.masters - 1 else None

    def _read(self, column: Any, lid: int) -> int:
        """Return a vertex's value of a column by position, on the device."""
        place = self.vertices.place
        return int(column[lid if place is None else int(place[lid])])

    def degree_of(self, lid: int) -> int:
        """Return the out-degree of a vertex in the whole graph."""
        if self._asked is None or self._asked[0] != lid:  # each call asks for its source's, and the GPU answers slowly
            self._asked = lid, self._read(self.degree, lid)
        return self._asked[1]

    @cached_property
    def largest_degree(self) -> int:
        """Largest out-degree of this rank's vertices."""
        return int(self.degree.max()) if self.size else 0

    @property
    def original(self) -> np.ndarray:  # type: ignore[override]
        """Original ids: int64 by lid."""
        return self.gids if self.ids is None else self.ids

    @cached_property
    def out_degree(self) -> np.ndarray:  # type: ignore[override]
        """Out-degrees in the whole graph: int64 by lid."""
        place = self.vertices.place
        return self.device.get(self.degree if place is None else self.degree[place]).astype(np.int64)
