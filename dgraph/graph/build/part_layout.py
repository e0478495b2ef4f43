"""Assignment of parts to ranks: one part a rank in a run, any number of parts when a store is written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dgraph.comm.base import Comm
from partitioning.arrays import arcs


@dataclass(frozen=True)
class PartLayout:
    """Parts 0 … count-1 in contiguous blocks over the ranks, equally many each."""

    count: int
    comm: Comm

    @cached_property
    def starts(self) -> np.ndarray:
        """First part of every rank, then ``count``: int64 (P + 1,)."""
        return np.arange(self.comm.size + 1, dtype=np.int64) * self.count // self.comm.size

    @property
    def here(self) -> range:
        """Parts of this rank."""
        return range(int(self.starts[self.comm.rank]), int(self.starts[self.comm.rank + 1]))

    def collect(self, values: np.ndarray, order: np.ndarray | None, cuts: np.ndarray) -> list[list[np.ndarray]]:
        """Send values, grouped by part, to the ranks of the parts; collective.

        Args:
            values: one value an item, in any order.
            order: permutation that groups the values by part, or None, from
                :func:`partitioning.arrays.arcs.group_by_owner`.
            cuts: int64 (count + 1,), start of each part's group.

        Returns:
            For every part here, the array received from each rank.
        """
        if self.count == self.comm.size:
            return [self.comm.alltoallv(arcs.grouped(values, order, cuts))]
        came = self.comm.alltoallv(arcs.grouped(values, order, cuts[self.starts]))
        counts = self.comm.alltoallv(np.split(np.diff(cuts), self.starts[1:-1]))
        split = [np.split(part, np.cumsum(lengths)[:-1]) for part, lengths in zip(came, counts, strict=True)]
        return [[from_rank[i] for from_rank in split] for i in range(len(self.here))]

    def swap(self, sent: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
        """Send ``sent[i][q]`` from part ``here[i]`` to part q; return ``received[i][q]``, from part q; collective."""
        if self.count == self.comm.size:
            return [self.comm.alltoallv(sent[0])]
        spans = [slice(self.starts[r], self.starts[r + 1]) for r in range(self.comm.size)]
        empty = np.zeros(0, self._dtype(sent))
        came = self.comm.alltoallv([np.concatenate([empty, *(p for row in sent for p in row[s])]) for s in spans])
        counts = self.comm.alltoallv([np.array([len(p) for row in sent for p in row[s]], np.int64) for s in spans])
        received: list[list[np.ndarray]] = [[] for _ in self.here]
        for part, lengths in zip(came, counts, strict=True):
            pieces = np.split(part, np.cumsum(lengths)[:-1]) if len(lengths) else []
            for i, pieces_of_part in enumerate(received):
                pieces_of_part += pieces[i :: len(self.here)]
        return received

    def _dtype(self, sent) -> np.dtype:
        """Return the common dtype on all ranks, including ranks without a part; collective."""
        mine = sent[0][0].dtype.str if sent else ""
        return np.dtype(next(name for name in self.comm.allgather_json(mine) if name))
