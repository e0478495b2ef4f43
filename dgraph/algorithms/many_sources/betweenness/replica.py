"""Replica: the whole graph on every rank, so that ranks share out the sources in place of the vertices.

Vertices are numbered in ascending order of ids on every rank, so a search runs the same steps on any number of ranks.
Values of vertices go to the owners of their masters. Those of arcs go to *keepers*: rank r keeps the arcs that leave
the vertices ``bounds[r] … bounds[r + 1]``. Entry: :meth:`Replica.of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dgraph.algorithms.apsp_parts.matrix_rows import MatrixRows
from dgraph.comm import Comm


@dataclass(frozen=True)
class Replica:
    """Rows of the whole graph, without loops and parallel arcs; in each row targets ascend.

    Attributes:
        comm: the ranks.
        ids: original ids of all vertices, ascending, int64 (n,).
        bounds: int64 (P + 1,): the first vertex that each rank keeps, then n.
        place: number of each master of this rank's partition.
        offsets: int64 (n + 1,).
        targets: uint32 (arcs,).
        costs: weights, float64 (arcs,), of parallel arcs the least; empty: every arc costs 1.
    """

    comm: Comm
    ids: np.ndarray
    bounds: np.ndarray
    place: np.ndarray
    offsets: np.ndarray
    targets: np.ndarray
    costs: np.ndarray

    @classmethod
    def of(cls, local, comm: Comm, weighted: bool, by_id: bool = True) -> Replica:
        """Gather the rows of all ranks; collective. Not ``by_id``: vertices are numbered by gid."""
        rows = MatrixRows.of(local, comm, by_id)
        kept = rows.source != rows.target
        source, target = rows.source[kept], rows.target[kept]
        weight = rows.weight[kept] if weighted and rows.weight is not None else None
        first = np.ones(len(source), bool)
        first[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
        if weight is not None and len(weight):
            weight = np.minimum.reduceat(weight, np.flatnonzero(first))
        counts = np.bincount(source[first] - rows.first, minlength=rows.stop - rows.first)
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(comm.allgatherv(counts)))])
        targets = np.concatenate(comm.allgatherv(target[first].astype(np.uint32)))
        costs = np.zeros(0) if weight is None else np.concatenate(comm.allgatherv(weight))
        return cls(comm, rows.ids, rows.bounds, rows.place, offsets, targets, costs)

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.ids)

    @property
    def kept(self) -> slice:
        """Vertices that this rank keeps."""
        return slice(int(self.bounds[self.comm.rank]), int(self.bounds[self.comm.rank + 1]))

    @cached_property
    def arc_bounds(self) -> np.ndarray:
        """First arc that each rank keeps, then the number of arcs."""
        return self.offsets[self.bounds]

    def numbers(self, sources: np.ndarray) -> np.ndarray:
        """Return the numbers of original ids."""
        return np.searchsorted(self.ids, sources)

    @cached_property
    def masters(self) -> list[np.ndarray]:
        """Numbers of the masters of each rank; collective."""
        return self.comm.allgatherv(self.place)

    def to_owners(self, values: np.ndarray) -> list[np.ndarray]:
        """Send columns of ``values`` (k, n) to the owners of vertices; return (k, masters) from each rank."""
        return self._sent(len(values), [values[:, each] for each in self.masters])

    def to_keepers(self, values: np.ndarray) -> list[np.ndarray]:
        """Send columns of ``values`` (k, arcs) to their keepers; return (k, kept) from each rank; collective."""
        return self._sent(len(values), [values[:, a:b] for a, b in pairwise(self.arc_bounds.tolist())])

    def _sent(self, rows: int, parts: list[np.ndarray]) -> list[np.ndarray]:
        if self.comm.size == 1:
            return parts
        came = self.comm.alltoallv([np.ascontiguousarray(each).ravel() for each in parts])
        return [each.reshape(rows, -1) for each in came]

    def to_masters(self, values: np.ndarray) -> np.ndarray:
        """Return values of kept vertices by this rank's masters; collective."""
        return np.concatenate(self.comm.allgatherv(values))[self.place]
