"""Cost of six graph representations: memory, and the time of three accesses.

Adjacency matrix (dense and bitmap), CSR, CSC, COO as arrays and as pairs. Those that fit in :data:`ROOM` are built and
timed: listing a row of neighbours, looking up one arc, sweeping over all arcs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.block import EdgeBlock
from dgraph.graph.rows import transpose

ROOM = 1 << 28
"""Bytes above which a representation is not built."""
PROBES = 2000
"""Vertices and vertex pairs that are looked up."""


@dataclass(frozen=True)
class Cost:
    """Cost of one representation.

    Attributes:
        name: the representation.
        memory: bytes of the whole graph with its weights.
        order: complexity of listing a row and of a look-up, in n, m and the degree d.
        neighbours, lookup, sweep: nanoseconds per row of neighbours, per arc look-up, per arc of a sweep; None if not
            built.
    """

    name: str
    memory: int
    order: tuple[str, str]
    neighbours: float | None = None
    lookup: float | None = None
    sweep: float | None = None


def costs(block: EdgeBlock) -> list[Cost]:
    """Return the cost of every representation of a graph on one rank, measured if it fits."""
    n, m, ids = block.n, block.arcs, block.targets.itemsize
    value = 0 if block.weights is None else block.weights.itemsize
    rng = np.random.default_rng(1)
    vertices, ends = rng.integers(0, n, (2, PROBES))
    dense, bits = n * n * max(value, 1), n * ((n + 7) // 8)
    coo = (block.sources(), block.targets)
    measured = []
    for name, memory, order, arrays, kernels in (
        ("adjacency matrix", dense, ("n", "1"), lambda: (_matrix(block),), (_matrix_row, _matrix_has, _matrix_sweep)),
        ("bitmap", bits + value * m, ("n / 64", "1"), lambda: (_bitmap(block),), (_bits_row, _bits_has, _bits_sweep)),
        ("CSR", 8 * (n + 1) + (ids + value) * m, ("d", "log d"), lambda: (block.offsets, block.targets), _ROWS),
        ("CSC", 8 * (n + 1) + (ids + value) * m, ("m", "log d"), lambda: _columns(block), _COLUMNS),
        ("COO arrays", (2 * ids + value) * m, ("m", "m"), lambda: coo, _ARRAYS),
        ("COO pairs", (2 * ids + value) * m, ("m", "m"), lambda: (np.stack(coo, axis=1),), _PAIRS),
    ):
        fits = memory <= ROOM
        times = _timed(arrays(), kernels, vertices, ends, m) if fits else (None, None, None)
        measured.append(Cost(name, memory, order, *times))
    return measured


def _timed(arrays: tuple, kernels: tuple[Callable, Callable, Callable], vertices, ends, m) -> tuple[float, ...]:
    row, has, sweep = kernels
    row(*arrays, vertices[:1]), has(*arrays, vertices[:1], ends[:1]), sweep(*arrays)  # compiles
    figures = []
    for kernel, words, share in ((row, (vertices,), PROBES), (has, (vertices, ends), PROBES), (sweep, (), max(m, 1))):
        few = tuple(array[: max(1, PROBES // 50)] for array in words)
        began = time.perf_counter()
        kernel(*arrays, *few)
        spent = time.perf_counter() - began
        count = few[0].size if few else share
        if spent < 0.02 and few:
            began = time.perf_counter()
            kernel(*arrays, *words)
            spent, count = time.perf_counter() - began, share
        figures.append(1e9 * spent / count)
    return tuple(figures)


def _matrix(block: EdgeBlock) -> np.ndarray:
    matrix = np.zeros((block.n, block.n), np.uint8 if block.weights is None else block.weights.dtype)
    matrix[block.sources(), block.targets] = 1
    return matrix


def _bitmap(block: EdgeBlock) -> np.ndarray:
    bits = np.zeros((block.n, (block.n + 7) // 8), np.uint8)
    np.bitwise_or.at(bits, (block.sources(), block.targets >> 3), np.uint8(1) << (block.targets & 7).astype(np.uint8))
    return bits


def _columns(block: EdgeBlock) -> tuple[np.ndarray, np.ndarray]:
    return transpose(block.rows, block.offsets, block.targets, None)[:2]


@njit(cache=True)
def _matrix_row(matrix, vertices):
    total = 0
    for u in vertices:
        for v in range(matrix.shape[1]):
            if matrix[u, v] != 0:
                total += v
    return total


@njit(cache=True)
def _matrix_has(matrix, vertices, ends):
    total = 0
    for i in range(vertices.size):
        total += matrix[vertices[i], ends[i]] != 0
    return total


@njit(cache=True)
def _matrix_sweep(matrix):
    return _matrix_row(matrix, range(matrix.shape[0]))


@njit(cache=True)
def _bits_row(bits, vertices):
    total = 0
    for u in vertices:
        for byte in range(bits.shape[1]):
            word = bits[u, byte]
            if word:
                for bit in range(8):
                    if word & (1 << bit):
                        total += 8 * byte + bit
    return total


@njit(cache=True)
def _bits_has(bits, vertices, ends):
    total = 0
    for i in range(vertices.size):
        total += (bits[vertices[i], ends[i] >> 3] >> (ends[i] & 7)) & 1
    return total


@njit(cache=True)
def _bits_sweep(bits):
    return _bits_row(bits, range(bits.shape[0]))


@njit(cache=True)
def _rows_row(offsets, targets, vertices):
    total = 0
    for u in vertices:
        for i in range(offsets[u], offsets[u + 1]):
            total += np.int64(targets[i])
    return total


@njit(cache=True)
def _rows_has(offsets, targets, vertices, ends):
    total = 0
    for i in range(vertices.size):
        low, high = offsets[vertices[i]], offsets[vertices[i] + 1]
        end = high
        while low < high:
            middle = (low + high) >> 1
            if np.int64(targets[middle]) < ends[i]:
                low = middle + 1
            else:
                high = middle
        total += low < end and np.int64(targets[low]) == ends[i]
    return total


@njit(cache=True)
def _rows_sweep(offsets, targets):
    return _rows_row(offsets, targets, range(offsets.size - 1))


@njit(cache=True)
def _columns_row(offsets, sources, vertices):
    total = 0
    for u in vertices:
        for v in range(offsets.size - 1):
            for i in range(offsets[v], offsets[v + 1]):
                if np.int64(sources[i]) == u:
                    total += v
    return total


@njit(cache=True)
def _columns_has(offsets, sources, vertices, ends):
    return _rows_has(offsets, sources, ends, vertices)


@njit(cache=True)
def _arrays_row(src, dst, vertices):
    total = 0
    for u in vertices:
        for i in range(src.size):
            if np.int64(src[i]) == u:
                total += np.int64(dst[i])
    return total


@njit(cache=True)
def _arrays_has(src, dst, vertices, ends):
    total = 0
    for k in range(vertices.size):
        for i in range(src.size):
            if np.int64(src[i]) == vertices[k] and np.int64(dst[i]) == ends[k]:
                total += 1
                break
    return total


@njit(cache=True)
def _arrays_sweep(src, dst):
    total = 0
    for i in range(src.size):
        total += np.int64(src[i]) + np.int64(dst[i])
    return total


@njit(cache=True)
def _pairs_row(pairs, vertices):
    return _arrays_row(pairs[:, 0], pairs[:, 1], vertices)


@njit(cache=True)
def _pairs_has(pairs, vertices, ends):
    return _arrays_has(pairs[:, 0], pairs[:, 1], vertices, ends)


@njit(cache=True)
def _pairs_sweep(pairs):
    return _arrays_sweep(pairs[:, 0], pairs[:, 1])


_ROWS = (_rows_row, _rows_has, _rows_sweep)
_COLUMNS = (_columns_row, _columns_has, _rows_sweep)
_ARRAYS = (_arrays_row, _arrays_has, _arrays_sweep)
_PAIRS = (_pairs_row, _pairs_has, _pairs_sweep)
