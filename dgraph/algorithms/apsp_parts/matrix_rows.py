"""Vertices in ascending order of ids, rows of the matrix by rank, and the arcs that leave a rank's rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.comm import Comm
from dgraph.graph.local import LocalGraph


@dataclass
class MatrixRows:
    """This rank's rows of the matrix, and their arcs.

    Attributes:
        comm: the ranks.
        ids: original ids of all vertices, ascending, int64 (n,); a vertex's position in it is its row and column.
        bounds: int64 (P + 1,): each rank's first row, then n.
        source: row of each arc that leaves this rank's rows, ascending, int64.
        target: its column, int64.
        weight: its weight, float64; None if every arc weighs 1.
        place: row of each master of this rank's partition.
        integral: True if all weights are integers.
        least: smallest weight of all ranks.
        most: largest absolute weight of all ranks.
    """

    comm: Comm
    ids: np.ndarray
    bounds: np.ndarray
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    place: np.ndarray
    integral: bool
    least: float
    most: float

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.ids)

    @property
    def first(self) -> int:
        """This rank's first row."""
        return int(self.bounds[self.comm.rank])

    @property
    def stop(self) -> int:
        """Row after this rank's last one."""
        return int(self.bounds[self.comm.rank + 1])

    @classmethod
    def of(cls, local: LocalGraph, comm: Comm, by_id: bool = True) -> MatrixRows:
        """Send each arc to the rank that has its source's row; collective. Not ``by_id``: rows are in order of gids."""
        masters, out = local.masters, local.out
        gids = np.concatenate(comm.allgatherv(local.gids[:masters]))
        originals = np.concatenate(comm.allgatherv(local.original[:masters]))
        order = np.argsort(originals if by_id else gids, kind="stable")
        place = np.empty(len(order), np.int64)
        place[gids[order]] = np.arange(len(order))
        bounds = len(order) * np.arange(comm.size + 1) // comm.size
        source = place[np.repeat(local.gids, np.diff(out.offsets))]
        target = place[local.gids[out.neighbours.view(np.uint32)]]
        weight = None if out.weights is None else out.weights.astype(np.float64)
        ends = np.searchsorted(bounds, source, side="right") - 1
        by_rank = np.argsort(ends, kind="stable")
        cuts = np.cumsum(np.bincount(ends, minlength=comm.size))[:-1]
        arrays = [source, target] + ([] if weight is None else [weight])
        came = [np.concatenate(comm.alltoallv(np.split(each[by_rank], cuts))) for each in arrays]
        if comm.size > 1 or (by_id and not local.ascending):
            sort = np.lexsort((came[1], came[0]))
            came = [each[sort] for each in came]
        source, target, *rest = came
        low, high, _ = out.weight_range if weight is not None else (1, 1, 0.0)
        kind = out.weight_type
        ends_of = comm.allreduce(np.array([low, -max(abs(float(low)), abs(float(high)))], np.float64), "min")
        return cls(
            comm, originals[order], bounds, source, target, rest[0] if rest else None, place[local.gids[:masters]],
            kind is None or kind.kind == "i", float(ends_of[0]), -float(ends_of[1]),
        )  # fmt: skip

    def exact_in(self, dtype: str) -> bool:
        """Return True if every distance is an integer that the dtype represents."""
        return self.integral and self.n * self.most < 2.0 ** (np.finfo(dtype).nmant + 1)

    def to_masters(self, values: np.ndarray) -> np.ndarray:
        """Return values of this rank's rows by its partition's masters; collective."""
        return np.concatenate(self.comm.allgatherv(values))[self.place]
