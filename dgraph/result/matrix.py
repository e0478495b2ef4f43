"""``DistanceMatrix``: distances between all pairs of vertices, whose rows are spread over the ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dgraph._support import arguments
from dgraph.comm import Comm, collective
from dgraph.errors import UsageError
from dgraph.graph.names import Names
from dgraph.result.files.matrix_file import save_matrix
from dgraph.result.named_columns import vertex_number

PART = 1 << 22
"""Entries whose summary is found at a time."""


class MatrixArcs(NamedTuple):
    """Arcs that leave this rank's rows: rows, columns, and weights (None: every arc weighs 1)."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None


def summaries(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the finite entries of each row, int64, and the largest one, float64."""
    step = max(PART // max(rows.shape[1], 1), 1)
    reached, farthest = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.float64)
    for low in range(0, len(rows), step):
        part = rows[low : low + step]
        finite = part < np.inf
        reached[low : low + step] = finite.sum(axis=1)
        farthest[low : low + step] = np.where(finite, part, -np.inf).max(axis=1)
    return reached, farthest


@dataclass(frozen=True, repr=False)
class DistanceMatrix:
    """Distances between all pairs; rows and columns are vertices in ascending order of ids.

    Attributes:
        rows_of_rank: this rank's rows, or a function that copies them from a GPU.
        ids: original ids of all vertices, int64 (n,), ascending; numbers of names, if vertices have names.
        first: this rank's first row.
        comm: the ranks.
        arcs: the arcs that leave this rank's rows.
        names: names of the vertices, where they have some.
        path_of_file: the .npy file in which the matrix lies; None: in memory.
        predecessors: int32 (k, n): in this rank's rows the place, in ``ids``, of the vertex before another on a path of
            fewest arcs; -1 in the source and where there is no path. None unless ``return_predecessors``.
    """

    rows_of_rank: np.ndarray | Callable[[], np.ndarray]
    ids: np.ndarray
    first: int
    comm: Comm
    arcs: MatrixArcs
    names: Names | None = None
    path_of_file: str | None = None
    predecessors: np.ndarray | None = None

    @cached_property
    def here(self) -> np.ndarray:
        """This rank's rows, float32 or float64, shape (k, n), infinite where there is no path; copied from a GPU once.

        Row i has the distances from vertex ``ids[first + i]``.
        """
        if not callable(self.rows_of_rank):
            return self.rows_of_rank
        rows = self.rows_of_rank()
        object.__setattr__(self, "rows_of_rank", rows)
        return rows

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the whole matrix, (n, n)."""
        return len(self.ids), len(self.ids)

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the distances."""
        return self.here.dtype

    @collective
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the whole matrix (n, n) on every rank, each of which needs memory for it; ``numpy.asarray`` calls it.

        Args:
            dtype: of the array; None: that of the distances.
            copy: True: a new array. None: on one rank this matrix's memory, where it has the dtype. False: that
                memory or an error.

        Raises:
            ValueError: ``copy=False``, and the array needs new memory.
        """
        kept = self.comm.size == 1 and not callable(self.rows_of_rank) and np.dtype(dtype or self.dtype) == self.dtype
        if copy is False and not kept:
            raise ValueError("the matrix as an array of that dtype needs new memory; leave copy=False out")
        if self.comm.size == 1:
            return np.array(self.here, dtype) if copy else np.asarray(self.here, dtype)
        parts = self.comm.allgatherv(np.ascontiguousarray(self.here).ravel())
        return np.concatenate(parts).reshape(self.shape).astype(self.dtype if dtype is None else dtype, copy=False)

    def __repr__(self) -> str:
        n, here = len(self.ids), len(self.here)
        return f"<distances of {n:,} × {n:,} vertices, {self.dtype}, {here:,} rows on this rank>"

    @collective
    def gather(self, root: int = 0) -> np.ndarray | None:
        """Return the whole matrix (n, n) on ``root``, which needs memory for it; None on the other ranks."""
        root = arguments.root_rank(root, self.comm.size)
        whole = self.comm.gathered(np.ascontiguousarray(self.here).ravel(), root)
        return whole.reshape(self.shape) if self.comm.rank == root else None

    @collective
    def rows(self, vertices: Sequence[int | str]) -> np.ndarray:
        """Return the distances from some vertices, shape (len(vertices), n), on every rank.

        Raises:
            UsageError: not a vertex.
        """
        places = self._places("vertices", list(arguments.vertices("vertices", vertices, weights=False)))
        mine = (places >= self.first) & (places < self.first + len(self.here))
        owned = np.concatenate(self.comm.allgatherv(np.flatnonzero(mine)))
        parts = self.comm.allgatherv(np.ascontiguousarray(self.here[places[mine] - self.first]).ravel())
        distances = np.empty((len(places), len(self.ids)), self.dtype)
        distances[owned] = np.concatenate(parts).reshape(-1, len(self.ids))
        return distances

    @collective
    def value(self, source: int | str, target: int | str) -> float:
        """Return one distance on every rank, infinite if there is no path.

        Raises:
            UsageError: not a vertex.
        """
        u, v = int(self._places("source", [source])[0]), int(self._places("target", [target])[0])
        return float(self._entry(u, v))

    @collective
    def path(self, source: int | str, target: int | str) -> list:
        """Return a shortest path of fewest arcs on every rank: ids or names; ``[]`` if there is none.

        It is found again from the distances: an arc x → y is on a path if weight + d[y, target] = d[x, target]. The
        cost is one column of the matrix, and a pass over the arcs for each arc of the path.

        Raises:
            UsageError: not a vertex.
        """
        u, v = int(self._places("source", [source])[0]), int(self._places("target", [target])[0])
        to = np.concatenate(self.comm.allgatherv(np.ascontiguousarray(self.here[:, v]))).astype(np.float64)
        if not np.isfinite(to[u]):
            return []
        arcs = self.arcs
        weight = np.ones(len(arcs.source)) if arcs.weight is None else arcs.weight
        with np.errstate(invalid="ignore"):
            near = self._slack(to[arcs.source], weight)
            tight = np.abs(weight + to[arcs.target] - to[arcs.source]) <= near
        return self._called(self._walk(u, v, arcs.source[tight], arcs.target[tight]))

    @collective
    def save(self, path: str | os.PathLike) -> None:
        """Write the matrix: ``.npy`` (n, n); ``.npz`` with ``vertex`` and ``distance``; ``.parquet`` of pairs.

        A .parquet or .arrow file has ``source``, ``target`` and ``distance`` of each pair with a path.

        Raises:
            UsageError: an unknown suffix, or pyarrow is not installed.
            OutputError: the system refused, such as a full disk; the incomplete file is removed.
        """
        arguments.path("path", path)
        if self.path_of_file is None or os.path.realpath(path) != os.path.realpath(self.path_of_file):
            save_matrix(path, self.here, self.ids, self.first, self.comm, self.names)

    def _slack(self, size: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the most that rounding makes of an equation between distances of this size."""
        exact = 2.0 ** (np.finfo(self.dtype).nmant + 1)
        whole = np.all(weight == np.rint(weight)) and np.all(np.abs(size[np.isfinite(size)]) < exact)
        return np.where(whole, 0.0, 4 * len(self.ids) * np.finfo(self.dtype).eps * (np.abs(size) + np.abs(weight)))

    def _walk(self, u: int, v: int, source: np.ndarray, target: np.ndarray) -> list[int]:
        """Return the places on a path from u to v of fewest arcs, by a breadth-first search; collective."""
        n = len(self.ids)
        before, frontier = np.full(n, -1, np.int64), np.zeros(n, np.bool_)
        before[u], frontier[u] = u, True
        while before[v] < 0:
            leaving = frontier[source] & (before[target] < 0)
            lowest = np.full(n, n, np.int64)
            np.minimum.at(lowest, target[leaving], source[leaving])
            lowest = self.comm.allreduce(lowest, "min")
            frontier = lowest < n
            if not frontier.any():
                raise UsageError("rounding of the weights hides the path; pass dtype='float64'")
            before[frontier] = lowest[frontier]
        path = [v]
        while path[-1] != u:
            path.append(int(before[path[-1]]))
        return path[::-1]

    def _called(self, places: list[int]) -> list:
        ids = self.ids[places]
        return (ids if self.names is None else self.names.of(ids, self.comm)).tolist()

    def _entry(self, u: int, v: int) -> np.generic:
        mine = self.here[max(u - self.first, 0) : u - self.first + 1, v] if u >= self.first else self.here[:0, v]
        return np.concatenate(self.comm.allgatherv(np.ascontiguousarray(mine)))[0]

    def _places(self, argument: str, vertices: Sequence[int | str]) -> np.ndarray:
        """Return the rows of vertices; collective."""
        wanted = np.array([vertex_number(argument, vertex, self.names, self.comm) for vertex in vertices], np.int64)
        rows = np.searchsorted(self.ids, wanted)
        match = self.ids[np.minimum(rows, max(len(self.ids) - 1, 0))] == wanted if len(self.ids) else wanted != wanted
        if not match.all():
            first = vertices[int(np.argmin(match))]
            raise UsageError(f"{argument}: {first!r} is not a vertex of the graph; pass one of its ids")
        return rows
