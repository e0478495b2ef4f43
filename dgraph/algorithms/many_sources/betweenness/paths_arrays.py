"""Array rounds of ``paths_kernel.py``, which answer first runs on small graphs in place of 3 to 4 s of compilation.

A round is a product of the rows with the lanes of a level, by SciPy where it is installed, else by ``np.bincount`` and
soon by machine code, which compiles in 0.2 s. All add in the order of the arcs, as the kernel does, so that bits are
equal. A level is pushed along its out-arcs, or pulled by the rows that want it, whichever are fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.many_sources.lanes import DOWN, LANES, LARGE, LEAST
from dgraph.backend.cpu.threads.atomics import OPTIONS
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.graph.rows import edges_of

FEW = 1 << 34
"""Sources times arcs times levels up to which array rounds take less time than the compilation: 0.22 ns for each, and
0.12 in machine code."""

PATIENCE = 6.0
"""Seconds of a processor in array rounds from which on compilation pays."""

ABREAST, CACHED = 8, 1 << 17
"""Most batches of a pass, and most vertices times batches: the lanes of a level fit in a processor's cache."""


ALL = slice(None)
"""Rows of all vertices, where few of them are left out."""


@dataclass
class PathLevel:
    """Rows of one level, for their lanes the paths (0: of another level), and a factor by which they were scaled."""

    rows: Any
    paths: np.ndarray
    factor: Any = 1.0

    @property
    def inside(self) -> np.ndarray:
        """True where the level has a row's lane."""
        return self.paths > 0.0


class ArrayPaths:
    """Searches from the batches of a pass, with a lane for each source that has out-arcs.

    Attributes:
        depths: levels that the batches reached; -1: numbers of paths of a batch overflow.
    """

    depths: np.ndarray

    def __init__(self, into: ArcMatrix, outward: ArcMatrix):
        self._into, self._outward = into, outward

    @classmethod
    def for_threads(cls, into: tuple, outward: tuple, threads: int) -> list[ArrayPaths]:
        """Return searches for each thread; ``into`` and ``outward`` are offsets and neighbours of in- and out-arcs."""
        matrices = ArcMatrix(*into, *outward), ArcMatrix(*outward, *into)
        return [cls(*matrices) for _ in range(threads)]

    def search(self, sources: np.ndarray) -> Iterator[None]:
        """Search from sources (-1: there is none), and compute their dependencies; yield after each round."""
        n, degree = len(self._into.degrees), float(self._into.degrees.max(initial=0))
        self._lanes = np.flatnonzero((sources >= 0) & (self._outward.degrees[sources] > 0))
        self._sources, batches = sources[self._lanes], self._lanes // LANES
        self._sums, self._unseen = np.zeros((n, len(batches))), np.ones((n, len(batches)))
        self.depths = np.zeros(-(-len(sources) // LANES), np.int64)
        rows, places = np.unique(self._sources, return_inverse=True)
        paths = np.zeros((len(rows), len(batches)))
        paths[places, np.arange(len(batches))] = 1.0
        level, levels, bound, wanted = PathLevel(rows, paths), list[PathLevel](), 1.0, ALL
        while len(level.paths):
            yield
            if bound > LARGE:
                most = level.paths.max(axis=0)
                level.factor, bound = np.where(most > LARGE, DOWN, 1.0), max(1.0, min(most.max(), LARGE))
                inside = level.inside
                level.paths *= level.factor
                small = np.any(inside & (level.paths < LEAST) & (level.factor < 1.0), axis=0)
                if small.any():
                    self.depths[batches[small]] = -1
                    return
            levels.append(level)
            self._unseen[level.rows] -= level.inside
            self.depths[:] = len(levels)
            wanted = _rows(self._unseen)
            level, bound = self._next(level, wanted), bound * degree
        sums = np.zeros(levels[-1].paths.shape) if levels else self._sums
        for level, nearer in zip(levels[:0:-1], levels[-2:0:-1], strict=False):
            yield
            sums += level.inside
            sums /= np.maximum(level.paths, LEAST)  # no division by 0
            sums = self._outward.sums(level.rows, sums, nearer.rows)
            sums *= nearer.paths
            sums *= level.factor
            self._sums[nearer.rows] += sums

    def _next(self, level: PathLevel, wanted: Any) -> PathLevel:
        """Return the rows that a level reaches."""
        paths = self._into.sums(level.rows, level.paths, wanted)
        paths *= self._unseen[wanted]
        new = _rows(paths)
        return PathLevel(wanted if new is ALL else np.arange(len(self._unseen))[wanted][new], paths[new])

    def add(self, endpoints: bool, parts: np.ndarray, reached: np.ndarray) -> None:
        """Sum the dependencies of each batch over its lanes into a row of ``parts``, as ``sum_lanes`` does."""
        columns = np.arange(len(self._lanes))
        self._sums[self._sources, columns] = 0.0
        for column, lane in enumerate(self._lanes.tolist()):
            parts[lane // LANES] += self._sums[:, column]
        if endpoints:
            seen = 1.0 - self._unseen
            seen[self._sources, columns] = 0.0
            for column, lane in enumerate(self._lanes.tolist()):
                parts[lane // LANES] += seen[:, column]
            reached[self._lanes] += seen.sum(axis=0, dtype=np.int64)


def _rows(values: np.ndarray) -> Any:
    """Return the rows of values ≥ 0 that are not all 0 in ascending order, or all rows if they are many."""
    rows = np.flatnonzero(np.einsum("ij->i", values))  # in an eighth of the time of a maximum
    return rows if 2 * len(rows) < len(values) else ALL


class ArcMatrix:
    """Rows of in-arcs, or of out-arcs, as a matrix, and the arcs the other way."""

    def __init__(self, offsets: np.ndarray, neighbours: np.ndarray, pushed: np.ndarray, targets: np.ndarray):
        self._arcs, self._pushed, self.degrees = (neighbours, offsets), (targets, pushed), np.diff(offsets)

    @cached_property
    def _matrices(self) -> tuple[Any, Any]:
        """The matrix by rows, and by columns if rows ascend, as sums over columns do; None: there is no SciPy."""
        (neighbours, offsets), shape = self._arcs, (len(self.degrees),) * 2
        ascends = np.diff(neighbours.astype(np.int64)) > 0
        ascends[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(neighbours))] - 1] = True
        with suppress(ImportError):
            sparse = import_module("scipy.sparse")
            by_rows, by_columns = (
                kind((np.ones(len(indices)), indices.view(np.int32), offsets.astype(np.int32)), shape=shape)
                for kind, (indices, offsets) in ((sparse.csr_array, self._arcs), (sparse.csc_array, self._pushed))
            )
            return by_rows, by_columns if ascends.all() else None
        return None, None

    def sums(self, rows: Any, values: np.ndarray, wanted: Any) -> np.ndarray:
        """Return, for the rows that are wanted, the sums of their neighbours' values, which are 0 but for ``rows``."""
        by_rows, by_columns = self._matrices
        pulled, many = self.degrees[wanted].sum(), 0.6 * len(self._arcs[0])
        if by_columns is not None and np.diff(self._pushed[1])[rows].sum() < min(pulled, many):
            return (by_columns[:, rows] @ values)[wanted]
        whole = values
        if rows is not ALL:
            whole = np.zeros((len(self.degrees), values.shape[1]))
            whole[rows] = values
        if by_rows is not None:
            return by_rows[wanted] @ whole if pulled < many else (by_rows @ whole)[wanted]
        numbers = np.arange(len(self.degrees))[wanted]
        sums = np.empty((len(numbers), values.shape[1]))
        _sum_rows(0, 1, *self._arcs, numbers, whole, sums)
        return sums


def array_sums(neighbours, offsets, numbers, values, sums) -> Iterator[None]:
    """Sum the values of the neighbours of rows, in the order of the arcs."""
    width = values.shape[1]
    row, e = edges_of(offsets, numbers)
    places = row[:, None] * width + np.arange(width)
    sums[:] = np.bincount(places.ravel(), values[neighbours[e]].ravel(), sums.size).reshape(sums.shape)
    yield


@plain_first(rounds=array_sums, patience=0.25)
@njit(**OPTIONS)
def _sum_rows(t, threads, neighbours, offsets, numbers, values, sums):
    for i in range(len(numbers)):
        for lane in range(values.shape[1]):
            sums[i, lane] = 0.0
        for e in range(offsets[numbers[i]], offsets[numbers[i] + 1]):
            u = np.int64(neighbours[e])
            for lane in range(values.shape[1]):
                sums[i, lane] += values[u, lane]
