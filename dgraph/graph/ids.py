"""Original ids and gids. gids are 0 .. n-1 in ascending order of original ids, so the smallest gid of a set is
the smallest original id."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from dgraph.comm.base import Comm


class VertexIds(ABC):
    """The map between gids and original ids (int64, not negative)."""

    @abstractmethod
    def to_original(self, gids: np.ndarray, comm: Comm) -> np.ndarray:
        """Original ids (int64) of gids; collective, each rank asks for its own."""

    @abstractmethod
    def to_gid(self, originals: np.ndarray, comm: Comm) -> np.ndarray:
        """gids (int64) of original ids, -1 where no vertex has that id; collective."""


@dataclass(frozen=True)
class ConsecutiveIds(VertexIds):
    """``n`` original ids from ``base`` on: dense formats and generators. Nothing is stored."""

    n: int
    base: int = 0

    def to_original(self, gids, comm):
        return np.asarray(gids).astype(np.int64) + self.base

    def to_gid(self, originals, comm):
        gids = np.asarray(originals, np.int64) - self.base
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
        gids = np.asarray(gids).astype(np.int64)
        owner = np.searchsorted(self.starts, gids, side="right") - 1
        return ask(gids, owner, lambda wanted: self.here[wanted - self.starts[comm.rank]], comm)

    def to_gid(self, originals, comm):
        originals = np.asarray(originals, np.int64)
        owner = np.maximum(np.searchsorted(self.lowest, originals, side="right") - 1, 0)
        return ask(originals, owner, lambda wanted: self._find(wanted, comm.rank), comm)

    def _find(self, wanted, rank):
        if not self.here.size:
            return np.full(wanted.size, -1, np.int64)
        at = np.minimum(np.searchsorted(self.here, wanted), self.here.size - 1)
        return np.where(self.here[at] == wanted, self.starts[rank] + at, -1)


def ask(keys: np.ndarray, owner: np.ndarray, answer, comm: Comm) -> np.ndarray:
    """Look keys up at the ranks that own them: ``answer(keys)`` runs there, its values come back in our order."""
    order = np.argsort(owner, kind="stable")
    cuts = np.searchsorted(owner[order], np.arange(comm.size + 1))
    sorted_keys = keys[order]
    asked = comm.alltoallv([sorted_keys[cuts[r] : cuts[r + 1]] for r in range(comm.size)])
    values = np.concatenate(comm.alltoallv([answer(part) for part in asked]))
    out = np.empty_like(values)
    out[order] = values
    return out
