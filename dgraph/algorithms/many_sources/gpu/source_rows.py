"""Rows by length on one GPU, and launches of kernels that search from many sources (``source_rows.cuh``)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.lane_search import LaneSearch
from dgraph.algorithms.vertex_values import lids_of
from dgraph.backend.cuda.codegen.kernel_parts import in_parts
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of

SHORT, LONG = 32, 4096
"""Most edges of a row that few threads read, and of one that a warp reads."""

PART = 4096
"""Edges of a longer row that a block reads at a time."""

DENSE = 100
"""A frontier with more than one in this many edges is large: every vertex that misses a source scans its in-edges."""


def text(name: str, wide: bool, **constants: int | str) -> str:
    """Return the kernels' text. ``wide``: offsets are 64-bit."""
    sizes = {"SHORT": SHORT, "LONG": LONG, "PART": PART} | constants
    return _text(name, wide, tuple(f"#define {key} {value}" for key, value in sizes.items()))


@cache
def _text(name: str, wide: bool, constants: tuple[str, ...]) -> str:
    offsets = f"typedef {'i64' if wide else 'u32'} offset_t;"
    return in_parts(own_text("\n".join([*constants, offsets]), "source_rows", name), 3)


def most_parts(edges: int) -> int:
    """Return a bound on the parts of all long rows."""
    return edges // PART + edges // LONG + 1


def need(n: int, edges: int) -> int:
    """Return the bytes of the classes of both directions, and of lists and bitmaps of vertices."""
    return 10 * n + 24 * most_parts(edges) + (1 << 20)


def side(device: Any, rows: Any, n: int, edges: int) -> list[Any]:
    """Return the arrays of ``struct Side``, in its order; kernel ``classify`` fills them."""
    xp, words, longs = device.xp, -(-n // 32), edges // LONG + 1
    bitmaps = [xp.empty(words, np.uint32) for _ in range(3)]
    lists = [xp.empty(size, np.uint32) for size in (longs, longs, most_parts(edges))]
    return [rows.offsets, rows.neighbours, *bitmaps, *lists, xp.zeros(3, np.uint64)]


class Kernels:
    """Kernels of a module and the words of their ``Env``.

    Attributes:
        device: GPU.
        module: machine code.
    """

    def __init__(self, device: Any, text: str, name: str, members: dict[str, Any]):
        """Make the words of ``members``, in the order of ``Env``: arrays, None for a null pointer, or integers."""
        self.device, self.module = device, device.module(text, name)
        self._places: dict[str, int] = {}
        values: list[Any] = []
        for key, value in members.items():
            self._places[key] = len(values)
            values += value if isinstance(value, list) else [value]
        self._words = words_of(device, values)
        self._grids: dict[str, int] = {}

    def set(self, name: str, *values: Any) -> None:
        """Change a member, and those behind it."""
        first = self._places[name]
        self._words[first : first + len(values)] = words_of(self.device, values)

    def blocks(self, kernel: str) -> int:
        """Return how many blocks of a kernel the whole GPU holds at once."""
        if kernel not in self._grids:
            self._grids[kernel] = self.device.blocks * self.module.resident(kernel)
        return self._grids[kernel]

    def launch(self, kernel: str, argument: int = 0, blocks: int = 0) -> None:
        """Start a kernel on ``blocks`` blocks, or if 0 on the whole GPU."""
        self.module.set_environment(self._words)
        self.module.launch(kernel, blocks or self.blocks(kernel), argument)


def positions_of(graph: Any, lids: np.ndarray) -> Any:
    """Return the positions of vertices, on the GPU."""
    positions = graph.device.put(lids)
    return positions if graph.place is None else graph.place[positions]


class GpuSearch(LaneSearch):
    """Search from many sources on one GPU: its graph, its sources by position, and launches that all searches share.

    Attributes:
        device: the GPU.
        graph: its graph, of ``n`` vertices.
        positions: of the sources.
        into, outward: arrays of in-edges and out-edges, for the kernels' ``struct Side``.
        long_in: True if a row of in-edges is read in parts.
    """

    def takes(self) -> bool:
        """Return True if these kernels may search: on one GPU, where neither direction nor schedule was asked for."""
        free = self.ctx.direction == "auto" and self.backend.options.schedule == "auto"
        return bool(self.ctx.comm.size == 1 and free and len(self.sources))

    def hold_rows(self) -> None:
        """Sort the rows of the GPU's graph by length, and find the sources in it."""
        ctx, self.device, self.n = self.ctx, self.backend.device, self.ctx.local.size
        self.graph = graph = self.backend.graph_of(ctx.local)
        self.positions = positions_of(graph, lids_of(ctx.local, self.sources))
        self.into = side(self.device, graph.incoming, self.n, graph.edges)
        self.outward = side(self.device, graph.out, self.n, graph.edges) if ctx.local.directed else self.into
        self.long_in = graph.longest(pulling=True) > LONG

    def load(self, text: str, name: str, members: dict[str, Any]) -> None:
        """Make the kernels, and sort rows by length."""
        self.members = {"in": self.into, "out": self.outward} | members
        self.kernels = Kernels(self.device, text, name, self.members)
        for outward in range(1 + self.ctx.local.directed):
            self.kernels.launch("classify", outward)

    def clear(self, *arrays: Any) -> None:
        """Set arrays to 0."""
        for array in arrays:
            self.device.clear(array)

    def is_dense(self, edges: int) -> bool:
        """Return True if every vertex is to scan its in-edges, since this many leave the frontier."""
        return edges * DENSE > self.graph.edges

    def scan(self, dense: bool, marked: Any, long: bool, argument: int = 0) -> None:
        """Scan the in-edges of all vertices that miss a source, or of those that the frontier's edges enter."""
        if not dense:
            self.device.clear(marked)
            self.kernels.launch("mark", int(long))
        for kernel in ("list_rows", "scan", *["scan_joined"] * self.long_in):
            self.kernels.launch(kernel, argument)
