"""Min-plus products on a GPU (``minplus.cuh``); searches of all sources run there or on this rank's CPU threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np

from dgraph.algorithms.apsp_parts.source_searches import SourceSearches
from dgraph.backend.cuda.codegen.own_kernels import own_text
from dgraph.backend.row_solver import RowSize, RowSolver

TYPES = {"float32": ("float", "fminf", 2), "float64": ("double", "fmin", 1)}
"""dtype → its type and minimum in CUDA, and blocks whose registers fit a multiprocessor."""

CLOSED = 128
"""Largest block of pivots that is closed in registers."""


@cache
def text(dtype: str) -> str:
    """Return the kernels' text for matrices of ``dtype``."""
    kind, least, resident = TYPES[dtype]
    types = f"typedef {kind} value_t;\n#define LEAST {least}\n#define CLOSED {CLOSED}\n#define RESIDENT {resident}"
    return own_text(types, "minplus")


class GpuMinPlus(RowSolver):
    """Matrices in GPU memory; attributes and methods are those of the CPU's ``MinPlus``, but ``added`` is a GPU's."""

    preferred = most = CLOSED
    added: ClassVar = {4: 0.2e-12, 8: 0.8e-12}
    on_host = False
    searches = ("heap", "dijkstra", "bellman-ford")

    def __init__(self, backend: Any):
        super().__init__(backend)
        self.device = backend.device
        self.xp, self.free = self.device.xp, self.device.free

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of a rank's rows of the matrix, at 8 a distance, and 16 a vertex for their summaries."""
        return 16 * size.vertices + 8 * size.n * size.masters

    def streamed(self, hybrid: bool) -> Any:
        """Return products of matrices in host memory, by this GPU, with CPU threads beside it if ``hybrid``."""
        from dgraph.algorithms.apsp_parts.minplus_streamed import StreamedMinPlus

        return StreamedMinPlus(self, hybrid)

    def put(self, array: np.ndarray) -> Any:
        """Return the array on the GPU."""
        return self.device.put(array)

    def get(self, array: Any) -> np.ndarray:
        """Return the array on the host."""
        return self.device.get(array)

    def update(self, c: Any, rows: slice, columns: slice, a: Any, b: Any) -> None:
        """Set ``c[rows, columns]`` to its minimum with the min-plus product of ``a`` and ``b``."""
        if a.size and b.size:
            tiles = -(-a.shape[0] // 32) * -(-b.shape[1] // 128)
            self._launch("minplus", tiles, c, rows.start * c.shape[1] + columns.start, a, b)

    def close(self, block: Any) -> None:
        """Close a square block under paths inside it, in place."""
        if block.size:
            self._launch("close_block", 1, block, 0, block, block)

    def searching(
        self, method: str, rows: Any, reduced: np.ndarray | None, h: np.ndarray | None, dtype: np.dtype
    ) -> Callable[[np.ndarray, int], None]:
        """Return a function that fills rows of distances on the host, see the kernel of CPU threads."""
        if method != "heap":
            return SourceSearches(self.device, method, rows, reduced, h, dtype)
        from dgraph.algorithms.apsp_parts.minplus_cpu import MinPlus as OnThreads

        return OnThreads(self.backend).searching(method, rows, reduced, h, dtype)

    def bytes_of_searches(self, rows: int, n: int, arcs: int, itemsize: int) -> int:
        """Return the bytes of GPU memory that searches from ``rows`` sources at a time take."""
        return SourceSearches.bytes(rows, n, arcs, itemsize, self.device.blocks)

    def trees(self, distances: np.ndarray, first: int, rows: Any, slack: float) -> tuple[np.ndarray, int]:
        """Return the predecessors of rows of distances on the host, see the kernel of CPU threads."""
        from dgraph.algorithms.apsp_parts.minplus_cpu import MinPlus as OnThreads

        return OnThreads(self.backend).trees(distances, first, rows, slack)

    def summaries(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the finite entries of each row, int64, and the largest one, float64, on the host."""
        count = len(rows)
        reached, farthest = self.xp.empty(count, np.int64), self.xp.empty(count, np.float64)
        if count:
            self._launch("summarize", -(-count // 8), rows, 0, rows, rows, reached, farthest)
        return self.get(reached), self.get(farthest)

    def _launch(self, kernel: str, most: int, c: Any, begin: int, a: Any, b: Any, *figures: Any) -> None:
        device = self.device
        module = device.module(text(str(c.dtype)), "minplus")
        start = device.address(c) + begin * c.dtype.itemsize
        words = [start, c.shape[1], a.shape[0], b.shape[1], a.shape[1], device.address(a), device.address(b)]
        words += [*map(device.address, figures), 0, 0][:2]
        module.set_environment(np.array(words, np.int64))
        module.launch(kernel, min(most, device.blocks * module.resident(kernel)))
