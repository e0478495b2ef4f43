"""Parts and the ranks they live on: in a run one a rank, while a store is written any number on any."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dgraph.comm.base import Comm
from partitioning.arrays import arcs


@dataclass(frozen=True)
class PartLayout:
    """Parts 0 … count-1, dealt out to the ranks in order, equally many each."""

    count: int
    comm: Comm

    @cached_property
    def starts(self) -> np.ndarray:
        """The first part of every rank, then ``count``: int64 (P + 1,)."""
        return np.arange(self.comm.size + 1, dtype=np.int64) * self.count // self.comm.size

    @property
    def here(self) -> range:
        """The parts of this rank."""
        return range(int(self.starts[self.comm.rank]), int(self.starts[self.comm.rank + 1]))

    def collect(self, values: np.ndarray, order: np.ndarray | None, cuts: np.ndarray) -> list[list[np.ndarray]]:
        """Send values, grouped by part (:func:`partitioning.arrays.arcs.deal`), to the ranks of the parts; collective.

        Returns:
            For every part here what each rank sent it.
        """
        if self.count == self.comm.size:
            return [self.comm.alltoallv(arcs.grouped(values, order, cuts))]
        came = self.comm.alltoallv(arcs.grouped(values, order, cuts[self.starts]))
        counts = self.comm.alltoallv(np.split(np.diff(cuts), self.starts[1:-1]))
        split = [np.split(part, np.cumsum(lengths)[:-1]) for part, lengths in zip(came, counts, strict=True)]
        return [[from_rank[i] for from_rank in split] for i in range(len(self.here))]

    def swap(self, told: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
        """``told[i][q]`` goes from part ``here[i]`` to part q; collective. Returns ``heard[i][q]``, from part q."""
        if self.count == self.comm.size:
            return [self.comm.alltoallv(told[0])]
        spans = [slice(self.starts[r], self.starts[r + 1]) for r in range(self.comm.size)]
        empty = np.zeros(0, self._dtype(told))
        came = self.comm.alltoallv([np.concatenate([empty, *(p for row in told for p in row[s])]) for s in spans])
        counts = self.comm.alltoallv([np.array([len(p) for row in told for p in row[s]], np.int64) for s in spans])
        heard: list[list[np.ndarray]] = [[] for _ in self.here]
        for part, lengths in zip(came, counts, strict=True):
            pieces = np.split(part, np.cumsum(lengths)[:-1]) if len(lengths) else []
            for i, each in enumerate(heard):
                each += pieces[i :: len(self.here)]
        return heard

    def _dtype(self, told) -> np.dtype:
        """One dtype on all ranks, also on those without a part."""
        mine = told[0][0].dtype.str if told else ""
        return np.dtype(next(name for name in self.comm.allgather_json(mine) if name))
