"""Original ids and gids. gids are 0 .. n-1 in ascending order of original ids, so the smallest gid of a set is
the smallest original id; unless another order was asked for (``order.py``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dgraph.comm.base import Comm
from dgraph.graph.names import Names

CHUNK = 1 << 16
"""ids that a rank asks for at a time"""


class VertexIds(ABC):
    """The map between gids and original ids (int64, not negative).

    Attributes:
        ascending: whether the smaller of two gids has the smaller original id.
        names: what original ids are the numbers of, where vertices are called by words.
    """

    ascending: ClassVar[bool] = True

    @property
    def names(self) -> Names | None:
        return None

    @abstractmethod
    def to_original(self, gids: np.ndarray, comm: Comm) -> np.ndarray:
        """Original ids (int64) of gids; collective, each rank asks for its own."""

    @abstractmethod
    def to_gid(self, originals: np.ndarray, comm: Comm) -> np.ndarray:
        """gids (int64) of original ids, -1 where no vertex has that id, not to be written to; collective."""


@dataclass(frozen=True)
class ConsecutiveIds(VertexIds):
    """``n`` original ids from ``base`` on: dense formats and generators. Nothing is stored."""

    n: int
    base: int = 0

    def to_original(self, gids, comm):
        return np.asarray(gids).astype(np.int64) + self.base

    def to_gid(self, originals, comm):
        gids = np.asarray(originals, np.int64)
        if self.base:
            gids = gids - self.base
        if not gids.size or (gids.min() >= 0 and gids.max() < self.n):
            return gids
        return np.where((gids >= 0) & (gids < self.n), gids, -1)


@dataclass(frozen=True)
class SparseIds(VertexIds):
    """The ids that occur, sorted; rank r holds those of gids ``starts[r] .. starts[r + 1] - 1``.

    Attributes:
        here: int64, ascending: this rank's original ids.
        starts: int64, shape (P + 1,): the first gid of every rank, then n.
        lowest: int64, shape (P,): no id on rank r is below ``lowest[r]``, none on a rank before it reaches it.
    """

    here: np.ndarray
    starts: np.ndarray
    lowest: np.ndarray

    def to_original(self, gids, comm):
        return ask(
            np.asarray(gids),
            lambda wanted: np.searchsorted(self.starts, wanted, side="right") - 1,
            lambda wanted: self.here[wanted - self.starts[comm.rank]],
            comm,
        )

    def to_gid(self, originals, comm):
        return ask(
            np.asarray(originals),
            lambda wanted: np.maximum(np.searchsorted(self.lowest, wanted, side="right") - 1, 0),
            lambda wanted: self._find(wanted, comm.rank),
            comm,
        )

    def _find(self, wanted, rank):
        if not self.here.size:
            return np.full(wanted.size, -1, np.int64)
        at = np.minimum(np.searchsorted(self.here, wanted), self.here.size - 1)
        return np.where(self.here[at] == wanted, self.starts[rank] + at, -1)


Look = Callable[[np.ndarray], np.ndarray]
"""int64 keys to as many values"""


def ask(keys: np.ndarray, owner: Look, answer: Look, comm: Comm) -> np.ndarray:
    """Look integer keys up at the ranks that own them; collective, a chunk at a time.

    Returns:
        ``answer(keys)``, int64, which was called there with the keys that all ranks asked for.
    """
    out = np.empty(keys.size, np.int64)
    for step in range(comm.largest(-(-keys.size // CHUNK))):
        part = slice(step * CHUNK, (step + 1) * CHUNK)
        wanted = keys[part].astype(np.int64, copy=False)
        to = owner(wanted)
        order = np.argsort(to, kind="stable")
        cuts = np.searchsorted(to[order], np.arange(comm.size + 1))
        wanted = wanted[order]
        asked = comm.alltoallv([wanted[cuts[r] : cuts[r + 1]] for r in range(comm.size)])
        out[part][order] = np.concatenate(comm.alltoallv([answer(each) for each in asked]))
    return out
