"""Min-plus products of a matrix in host memory: strips of its rows pass through a GPU.

A strip is copied to one of a few buffers, updated there, and copied back; the copies of its neighbours run beside its
product, in both directions at once [Katz and Kider 2008; Lund and Smith 2010]. A strip of ``DEPTH`` pivots takes about
as long as its copies, so that more pivots pass at a time than where the matrix lies on the GPU. With ``hybrid`` CPU
threads close the diagonal blocks, and take strips from the other end [Matsumoto et al. 2011]; we changed: they leave a
strip to the GPU that would be through with all others before them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np

from dgraph.algorithms.apsp_parts.minplus_cpu import MinPlus

DEPTH = 1024
"""Pivots of a block."""

STRIP = 32 << 20
"""Bytes of a strip, and of a buffer on the GPU and of the pinned memory before it."""

BUFFERS = 3
"""One arrives, one is updated, one leaves."""

COPIERS = 4
"""Threads that copy a strip to pinned memory, or from there: one does not use a memory's bandwidth."""

TRIED = 2
"""Strips that CPU threads take before their pace is judged; the first one may compile."""


class Buffer:
    """Room for a strip on the GPU, and pinned memory before it.

    Attributes:
        left: event behind the copy back.
        rows: rows of the matrix that are on their way; None: it is free.
    """

    def __init__(self, device: Any, size: int):
        self.there = device.xp.empty(size, np.uint8)
        self.pinned = device.raw.pinned(size)
        self.arrived, self.updated, self.left = (device.raw.event() for _ in range(3))
        self.rows: np.ndarray | None = None


class StreamedMinPlus:
    """Products by a GPU in host memory; attributes and methods are those of the CPU's ``MinPlus``.

    Args:
        gpu: products in GPU memory.
        hybrid: let CPU threads take strips, too.

    Attributes:
        taken: strips that the GPU and the threads took.
        pace: least seconds of an addition there so far; 0: not known.
    """

    xp: Any = np
    preferred, most = DEPTH, 1 << 30
    on_host, searches = True, ("heap",)

    def __init__(self, gpu: Any, hybrid: bool):
        self.gpu, self.threads = gpu, MinPlus(gpu.backend)
        self.hybrid = hybrid
        threads = self.threads.team.size
        self.added = {size: 4 * seconds * threads for size, seconds in gpu.added.items()}
        self.searching, self.trees, self.summaries = self.threads.searching, self.threads.trees, self.threads.summaries
        self.taken = {"gpu": 0, "cpu": 0}
        self.pace = {"gpu": 0.0, "cpu": 0.0}
        self._buffers: list[Buffer] = []
        self._streams = gpu.device.raw.stream(), gpu.device.raw.stream()

    def put(self, array: np.ndarray) -> np.ndarray:
        """Return the array: it is in host memory."""
        return array

    get = put

    @staticmethod
    def bytes_there(rows: int, n: int, depth: int, itemsize: int) -> int:
        """Return the bytes of GPU memory that a product of ``rows`` rows and the closing of a block take."""
        return max((rows + n) * depth, 3 * depth * depth) * itemsize + BUFFERS * max(STRIP, n * itemsize)

    def close(self, block: np.ndarray) -> None:
        """Close a square block under paths inside it, in place: on threads if ``hybrid``, else on the GPU."""
        kernel = self.threads if self.hybrid else self.gpu
        there = kernel.put(block)
        close_wide(kernel, there, kernel.preferred)
        if there is not block:
            block[...] = kernel.get(there)

    def update(self, c: np.ndarray, rows: slice, columns: slice, a: np.ndarray, b: np.ndarray) -> None:
        """Set ``c[rows, columns]`` to its minimum with the min-plus product of ``a`` and ``b``, see ``MinPlus``."""
        if not a.size or not b.size:
            return
        width = columns.stop - columns.start
        height = max(STRIP // (width * c.itemsize), 1)
        strips = deque(slice(top, min(top + height, len(a))) for top in range(0, len(a), height))
        target = c[rows, columns]
        with ThreadPoolExecutor(COPIERS + self.hybrid) as pool:
            beside = pool.submit(self._by_threads, strips, c, rows, columns, a, b) if self.hybrid else None
            began, before = time.perf_counter(), self.taken["gpu"]
            self._by_gpu(strips, target, a, b, pool)
            self._keep_pace("gpu", began, (self.taken["gpu"] - before) * height * b.size)
            if beside is not None:
                beside.result()

    def _by_threads(self, strips: deque, c: np.ndarray, rows: slice, columns: slice, a: np.ndarray, b: np.ndarray):
        while self.taken["cpu"] < TRIED or self.pace["cpu"] < len(strips) * self.pace["gpu"]:
            part = _taking(strips.pop)()
            if part is None:
                return
            into, began = slice(rows.start + part.start, rows.start + part.stop), time.perf_counter()
            self.threads.update(c, into, columns, a[part], b)
            self._keep_pace("cpu", began, (part.stop - part.start) * b.size)
            self.taken["cpu"] += 1

    def _keep_pace(self, where: str, began: float, additions: int) -> None:
        if additions:
            seconds = (time.perf_counter() - began) / additions
            self.pace[where] = min(seconds, self.pace[where] or seconds)

    def _by_gpu(self, strips: deque, target: np.ndarray, a: np.ndarray, b: np.ndarray, pool: Executor) -> None:
        device, raw = self.gpu.device, self.gpu.device.raw
        arriving, leaving = self._streams
        size = max(STRIP, target.shape[1] * target.itemsize)
        if not self._buffers or self._buffers[0].pinned.nbytes < size:
            self._buffers = [Buffer(device, size) for _ in range(BUFFERS)]
            device.wait()  # the pool may have given memory that earlier work of this stream still reads
        left, panel = device.put(a), device.put(b)
        for number, part in enumerate(iter(_taking(strips.popleft), None)):
            buffer = self._buffers[number % BUFFERS]
            self._finish(buffer, pool)
            strip = target[part]
            _copy(strip, buffer.pinned[: strip.nbytes].view(strip.dtype).reshape(strip.shape), pool)
            there = buffer.there[: strip.nbytes].view(strip.dtype).reshape(strip.shape)
            address, pinned = device.address(there), int(buffer.pinned.ctypes.data)
            raw.copy(address, pinned, strip.nbytes, arriving)
            raw.record(buffer.arrived, arriving)
            raw.hold(buffer.arrived)
            self.gpu.update(there, slice(0, len(strip)), slice(0, strip.shape[1]), left[part], panel)
            raw.record(buffer.updated)
            raw.hold(buffer.updated, leaving)
            raw.copy(pinned, address, strip.nbytes, leaving)
            raw.record(buffer.left, leaving)
            buffer.rows = strip
            self.taken["gpu"] += 1
        for buffer in self._buffers:
            self._finish(buffer, pool)

    def _finish(self, buffer: Buffer, pool: Executor) -> None:
        """Wait for the strip in a buffer, and write it into the matrix."""
        if buffer.rows is not None:
            self.gpu.device.raw.wait(buffer.left)
            strip, buffer.rows = buffer.rows, None
            _copy(buffer.pinned[: strip.nbytes].view(strip.dtype).reshape(strip.shape), strip, pool)


def _copy(source: np.ndarray, target: np.ndarray, pool: Executor) -> None:
    """Copy rows by the threads of a pool."""
    step = -(-len(source) // COPIERS)
    parts = [slice(top, top + step) for top in range(0, len(source), step)]
    list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))


def close_wide(kernel: Any, block: Any, width: int) -> None:
    """Close a square block under paths inside it, ``width`` pivots at a time; it lies where ``kernel`` works."""
    whole = slice(0, len(block))
    for top in range(0, len(block), width):
        part = slice(top, min(top + width, len(block)))
        square = kernel.xp.ascontiguousarray(block[part, part].copy())
        kernel.close(square)
        panel = block[part].copy()
        kernel.update(panel, slice(0, len(panel)), whole, square, block[part].copy())
        kernel.update(block, whole, whole, kernel.xp.ascontiguousarray(block[:, part].copy()), panel)


def _taking(take: Callable[[], slice]) -> Callable[[], slice | None]:
    """Return a function that takes a strip, or None if there is none left."""

    def taken() -> slice | None:
        try:
            return take()
        except IndexError:
            return None

    return taken
