"""Maps between original ids and gids.

Gids are 0 .. n-1 in ascending order of original ids, so the smallest gid of a set has the smallest original id.
``build/order.py`` makes the exception: gids by degree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dgraph.comm.base import Comm
from dgraph.comm.owner_directed import fetch
from dgraph.errors import DataError
from dgraph.graph.names import Names

CHUNK = 1 << 16
"""Ids that a rank looks up at a time."""


class VertexIds(ABC):
    """Map between gids and original ids (int64, not negative).

    Attributes:
        ascending: True if the smaller of two gids has the smaller original id.
    """

    ascending: ClassVar[bool] = True

    @property
    def names(self) -> Names | None:
        """Table of vertex names that original ids index; None if ids are the input's own integers."""
        return None

    @abstractmethod
    def to_original(self, gids: np.ndarray, comm: Comm) -> np.ndarray:
        """Return the original ids (int64) of gids; collective, each rank passes its own."""

    @abstractmethod
    def to_gid(self, originals: np.ndarray, comm: Comm) -> np.ndarray:
        """Return the gids (int64, read-only) of original ids, -1 for ids of no vertex; collective."""

    @abstractmethod
    def grown(self, fresh: np.ndarray, comm: Comm) -> tuple[VertexIds, np.ndarray]:
        """Return the map after vertices were added; collective.

        Args:
            fresh: ids of no vertex, ascending and distinct, equal on all ranks: int64, or names (dtype S).
            comm: communicator of the ranks.

        Returns:
            The map, and for every new vertex the number of former gids below its gid, ascending, int64. Consecutive ids
            stay consecutive, so there may be more new vertices than ``fresh``.
        """


@dataclass(frozen=True)
class ConsecutiveIds(VertexIds):
    """``n`` original ids from ``base`` on, of dense formats and generators. No table is stored."""

    n: int
    base: int = 0

    def to_original(self, gids, comm):
        """Return the original ids (int64) of gids; no communication."""
        return np.asarray(gids).astype(np.int64) + self.base

    def to_gid(self, originals, comm):
        """Return the gids (int64) of original ids, -1 for ids of no vertex; no communication."""
        gids = np.asarray(originals, np.int64)
        if self.base:
            gids = gids - self.base
        if not gids.size or (gids.min() >= 0 and gids.max() < self.n):
            return gids
        return np.where((gids >= 0) & (gids < self.n), gids, -1)

    def grown(self, fresh, comm):
        """Return ids up to the largest of ``fresh``; those between are vertices, too; no communication."""
        if not fresh.size:
            return self, np.zeros(0, np.int64)
        n = int(fresh[-1]) + 1 - self.base
        return ConsecutiveIds(n, self.base), np.full(n - self.n, self.n, np.int64)


def check_ids(ids: np.ndarray) -> None:
    """Refuse 2^63 - 1, which is unreached or a missing predecessor in answers, among ascending ids."""
    if 2**63 - 1 in ids[-1:]:
        raise DataError(f"vertex {2**63 - 1}: this id stands for no vertex; ids are at most 2^63 - 2; give it another")


@dataclass(frozen=True)
class SparseIds(VertexIds):
    """Ids that occur in the input, sorted; rank r holds those of gids ``starts[r] .. starts[r + 1] - 1``.

    Attributes:
        here: int64, ascending: this rank's original ids.
        starts: int64, shape (P + 1,): the first gid of every rank, then n.
        lowest: int64, shape (P,): ids in ``lowest[r] .. lowest[r + 1] - 1`` are held by rank r.
    """

    here: np.ndarray
    starts: np.ndarray
    lowest: np.ndarray

    def to_original(self, gids, comm):
        """Return the original ids (int64) of gids; collective, by look-up at the owners."""
        return remote_look_up(
            np.asarray(gids),
            lambda wanted: np.searchsorted(self.starts, wanted, side="right") - 1,
            lambda wanted: self.here[wanted - self.starts[comm.rank]],
            comm,
        )

    def to_gid(self, originals, comm):
        """Return the gids (int64) of original ids, -1 for ids of no vertex; collective, by look-up at the owners."""
        return remote_look_up(
            np.asarray(originals),
            lambda wanted: np.maximum(np.searchsorted(self.lowest, wanted, side="right") - 1, 0),
            lambda wanted: self._find(wanted, comm.rank),
            comm,
        )

    def grown(self, fresh, comm):
        """Return the ids with ``fresh`` in their places; collective."""
        check_ids(fresh)
        owner = np.maximum(np.searchsorted(self.lowest, fresh, side="right") - 1, 0)
        here, starts, below = inserted(self.here, self.starts, fresh, owner == comm.rank, comm)
        return SparseIds(here, starts, self.lowest), below

    def _find(self, wanted, rank):
        if not self.here.size:
            return np.full(wanted.size, -1, np.int64)
        positions = np.minimum(np.searchsorted(self.here, wanted), self.here.size - 1)
        return np.where(self.here[positions] == wanted, self.starts[rank] + positions, -1)


def inserted(
    here: np.ndarray, starts: np.ndarray, fresh: np.ndarray, mine: np.ndarray, comm: Comm
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Insert keys into a sorted table that is spread over the ranks; collective.

    Args:
        here: this rank's keys, ascending.
        starts: int64 (P + 1,), the position of every rank's first key, then the number of keys.
        fresh: new keys, ascending, equal on all ranks.
        mine: bool, True for those that belong to this rank.
        comm: communicator of the ranks.

    Returns:
        The keys here, the starts, and the number of former keys below each of ``fresh``, int64.
    """
    positions = np.searchsorted(here, fresh[mine])
    below = np.zeros(fresh.size, np.int64)
    below[mine] = starts[comm.rank] + positions
    here = np.insert(here, positions, fresh[mine])
    starts = np.concatenate([[0], np.cumsum(comm.allgather(np.array([here.size], np.int64))[:, 0])])
    return here, starts, comm.allreduce(below)


Look = Callable[[np.ndarray], np.ndarray]
"""Function from int64 keys to equally many values."""


def remote_look_up(keys: np.ndarray, owner: Look, answer: Look, comm: Comm) -> np.ndarray:
    """Look integer keys up at the ranks that own them; collective, a chunk at a time.

    Args:
        keys: integers on this rank.
        owner: function from keys to the ranks that own them.
        answer: function from keys to values, called on the owner with the keys of all ranks.
        comm: communicator of the ranks.

    Returns:
        The value of each key, int64.
    """
    if comm.size == 1:
        return np.array(answer(keys.astype(np.int64, copy=False)), np.int64)
    answers = np.empty(keys.size, np.int64)
    for step in range(comm.largest(-(-keys.size // CHUNK))):
        part = slice(step * CHUNK, (step + 1) * CHUNK)
        wanted = keys[part].astype(np.int64, copy=False)
        (answers[part],) = fetch(comm, owner(wanted), wanted, lambda names: (answer(names),))
    return answers
