"""Graph of few edges: NumPy makes its arrays on the host, and they are uploaded when they are first used.

CuPy compiles each kind of elementwise kernel on a fresh machine (some thirty for the arrays of a graph, 0.1 s or more
each) and loads it from its cache later (1 ms or more each). NumPy needs up to 50 ms for the whole graph.
"""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen.control_block import NO_HEAD
from dgraph.backend.cuda.device_graph.device_graph import DeviceCsr, DeviceGraph
from dgraph.backend.cuda.device_graph.row_marks import ENDLESS
from dgraph.graph.local import LocalGraph

FEW = 1 << 19
"""Edges and vertices up to which a graph is small."""

MADE_ON_HOST = (
    "by_id", "_longest_in", "incoming", "rows_pulled", "masters_with_edges", "rows_of_many", "heads",
    "incoming_heads", "incoming_some", "incoming_many", "long_rows", "chunks", "mirrors_at", "lids", "mirror_slots",
    "id_places",
)  # fmt: skip
"""Properties that the graph on the host has, and this one uploads."""


class HostDevice:
    """NumPy as the device of a :class:`DeviceGraph`."""

    xp = np

    def put(self, array: np.ndarray, kind: np.dtype | None = None) -> np.ndarray:
        """Return a copy, of the dtype ``kind`` if one is given."""
        return np.array(array, kind)

    def get(self, array: np.ndarray) -> np.ndarray:
        """Return the array."""
        return array

    def sort(self, array: np.ndarray) -> None:
        """Sort in place."""
        array.sort()


class HostMarks:
    """Functions of ``row_marks.py``, on arrays of the host."""

    @staticmethod
    def behind_last(device: Any, rows: int, least: int, offsets: Any = None, degrees: Any = None) -> int:
        """Return 1 + the last of ``rows`` rows with at least ``least`` entries, or of that degree; 0: none."""
        (places,) = np.nonzero((np.diff(offsets) if degrees is None else degrees)[:rows] >= least)
        return int(places[-1]) + 1 if places.size else 0

    @staticmethod
    def heads(device: Any, offsets: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """Return the first entry of each row, or ``NO_HEAD``."""
        heads, full = np.full(len(offsets) - 1, NO_HEAD, np.uint32), np.diff(offsets) > 0
        heads[full] = neighbours[offsets[:-1][full]]
        return heads

    @staticmethod
    def bits(device: Any, offsets: np.ndarray, least: int) -> np.ndarray:
        """Return a bitmap of the rows with at least ``least`` entries."""
        rows = len(offsets) - 1
        long = np.zeros((rows + 31) // 32 * 32, np.bool_)
        long[:rows] = np.diff(offsets) >= least
        return np.packbits(long, bitorder="little").view(np.uint32)

    @staticmethod
    def places(device: Any, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return each row's place in the order of ids, and the row at each place."""
        rows, places = np.argsort(ids).astype(np.uint32), np.empty(len(ids), np.uint32)
        places[rows] = np.arange(len(ids), dtype=np.uint32)
        return places, rows

    @staticmethod
    def listed(device: Any, offsets: np.ndarray, least: int, most: int = ENDLESS) -> np.ndarray:
        """Return the rows of ``least`` to ``most`` entries, ascending."""
        lengths = np.diff(offsets)
        return np.flatnonzero((lengths >= least) & (lengths <= most)).astype(np.uint32)

    @staticmethod
    def spans(device: Any, offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts and lengths of some rows."""
        return offsets[rows].astype(np.int64), np.diff(offsets)[rows].astype(np.int64)


def turned(
    device: Any, offsets: np.ndarray, neighbours: np.ndarray, weights: np.ndarray | None, rows: int, some: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return offsets, sources and weights of the in-edges, as ``turned_rows.py``."""
    order = np.argsort(neighbours, kind="stable")
    sources = np.repeat(np.arange(rows, dtype=np.uint32), np.diff(offsets))[order]
    begins = np.zeros(rows + 1, offsets.dtype)
    begins[1:] = np.cumsum(np.bincount(neighbours, minlength=rows))
    return begins, sources, None if weights is None else weights[order]


def placed(
    device: Any, offsets: np.ndarray, starts: np.ndarray, place: np.ndarray, targets: np.ndarray,
    weights: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray | None, tuple[int, int]]:  # fmt: skip
    """Return targets and weights by position, as ``placed_rows.py``; values are not checked."""
    moved_by = starts[:-1][place] - offsets[:-1]
    to = np.arange(targets.size) + np.repeat(moved_by, np.diff(offsets))
    columns = [place[targets], *([] if weights is None else [weights])]
    moved = [np.empty_like(column) for column in columns]
    for column, values in zip(moved, columns, strict=True):
        column[to] = values
    return moved[0], None if weights is None else moved[1], (0, 0)


class HostGraph(DeviceGraph):
    """Arrays of a :class:`SmallGraph` before they are uploaded."""

    marks = HostMarks
    turn, bring = staticmethod(turned), staticmethod(placed)


class SmallGraph(DeviceGraph):
    """Arrays of a small :class:`LocalGraph`, computed on the host."""

    def _upload(self, local: LocalGraph) -> None:
        self._host = host = HostGraph(local, HostDevice(), self.extent.renumbered)
        host.local = weakref.proxy(local)  # a graph on a GPU must not keep the host's alive
        self.out = self._put(host.out)
        self.original, self.degree = self._put(host.original), self._put(host.degree)
        self.order, self.place = self._put(host.order), self._put(host.place)

    def _turned(self, rows: DeviceCsr) -> DeviceCsr:
        """Transpose the out-edges, with their weights if ``rows`` has them."""
        by_source = self._host.out
        weights = None if rows.weights is None else by_source.weights
        return self._put(self._host._turned(DeviceCsr(by_source.offsets, by_source.neighbours, weights)))

    def split_degree(self, bins: int) -> int:
        """Return the most edges of a vertex for one thread."""
        return self._host.split_degree(bins)

    def split_vertices(self, mdt: int) -> tuple[int, int]:
        """Return the number of vertices of more than ``mdt`` out-edges, and that of their children."""
        return self._host.split_vertices(mdt)

    def _put(self, part: Any) -> Any:
        """Return an array, rows, a tuple or a dict of them on the device; numbers as they are."""
        if isinstance(part, np.ndarray):
            return self.device.put(part)
        if isinstance(part, tuple):
            return tuple(map(self._put, part))
        if isinstance(part, dict):
            return {key: self._put(value) for key, value in part.items()}
        if isinstance(part, DeviceCsr):
            if part is self._host.out and "out" in self.__dict__:
                return self.out
            return DeviceCsr(*map(self._put, (part.offsets, part.neighbours, part.weights)))
        return part

    def rows_with_edges(self, rows: int) -> int:
        """Return how many of the first ``rows`` rows precede the trailing empty ones."""
        return self._host.rows_with_edges(rows)


def _uploaded(name: str) -> cached_property:
    cached = cached_property(lambda graph: graph._put(getattr(graph._host, name)))
    cached.__set_name__(SmallGraph, name)
    return cached


for _name in MADE_ON_HOST:
    setattr(SmallGraph, _name, _uploaded(_name))


def graph_on(device: Any, local: LocalGraph, renumber: bool | None) -> DeviceGraph:
    """Return a graph on a device."""
    small = max(local.size, local.out.arcs) <= FEW and not hasattr(local, "built")
    return (SmallGraph if small else DeviceGraph)(local, device, renumber)
