"""Whole rows of this rank's masters, with a value for each edge, and the rows of lower ends that other ranks own.

Vertices are numbered by degree, then gid. A triangle is looked for from an edge's higher end, in the row of its lower
end, which is the shorter one [Chiba & Nishizeki 1985]. Rows of other ranks' vertices come some at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgraph.algorithms.edge_triangles.oriented_rows import FEWEST, OrientedRows
from dgraph.comm import Comm
from dgraph.graph.local import LocalGraph

ALIVE, LEAVING = 1 << 30, 1 << 29
"""Values of edges that are left, and of those that leave in this round; smaller ones are those of edges that left."""


class FullRows:
    """Distinct neighbours of each master, without loops; both ends' owners hold an edge, with its value.

    Attributes:
        rows: numbers of vertices, and their owners.
        offsets: int64 (vertices + 1,); only masters have entries.
        sources, targets: uint32 (entries,), ascending.
        values: int32 (entries,); at first, how often each edge is listed.
        lower: True for entries whose target has the lower number.
    """

    def __init__(self, local: LocalGraph, comm: Comm):
        self.comm = comm
        source = np.repeat(np.arange(local.size, dtype=np.uint32), np.diff(local.out.offsets))
        target = local.out.neighbours.view(np.uint32)
        kept = source != target
        self.rows = rows = OrientedRows.on_owners(local, comm, source[kept], target[kept])
        del source, target, kept
        keys = np.repeat(np.arange(len(rows.gids), dtype=np.uint64), np.diff(rows.offsets))
        keys <<= np.uint64(32)
        keys |= rows.targets
        rows.targets = np.empty(0, np.uint32)
        keys, counts = _distinct(keys)
        self._set(keys, counts.astype(np.int32))
        self._asked = rows._of_peers(comm)

    def _set(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Set the entries: source and target in one integer, ascending, and their values."""
        self._keys, self.values = keys, values
        self.sources, self.targets = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
        self.offsets = _offsets(self.sources, len(self.rows.gids))
        self.lower = self.targets < self.sources

    def keep(self, kept: np.ndarray) -> None:
        """Drop the entries that are False in ``kept``, on this rank; others drop theirs of the same edges."""
        self._set(self._keys[kept], self.values[kept])

    @property
    def degrees(self) -> np.ndarray:
        """Distinct neighbours of each master by lid, int64."""
        return np.diff(self.offsets)[self.rows.mine]

    def of_others(self, wanted: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield offsets, targets and values of wanted rows that other ranks own, some at a time; collective.

        Args:
            wanted: True for wanted numbers; those of this rank's masters are left out.
        """
        rows, comm = self.rows, self.comm
        asked = [each[wanted[each]] for each in self._asked]
        lengths = np.diff(self.offsets)
        served = [rows._numbers(gids) for gids in comm.alltoallv([rows.gids[each] for each in asked])]
        incoming = sum(int(each.sum()) for each in comm.alltoallv([lengths[each] for each in served]))
        turns = comm.largest(-(-incoming // max(len(self.targets) // 4, FEWEST)))
        for turn in range(turns):
            part, mine = [each[turn::turns] for each in asked], [each[turn::turns] for each in served]
            at = [self._entries(each) for each in mine]
            sizes = np.concatenate(comm.alltoallv([lengths[each] for each in mine]))
            gids = np.concatenate(comm.alltoallv([rows.gids[self.targets[each]] for each in at]))
            values = np.concatenate(comm.alltoallv([self.values[each] for each in at]))
            number = rows._numbers(gids)
            known = number >= 0  # a vertex that no row here names closes no triangle
            source = np.repeat(np.concatenate(part), sizes)[known].astype(np.uint64)
            keys = source << np.uint64(32) | number[known].astype(np.uint64)
            order = np.argsort(keys)
            offsets = _offsets(source, len(rows.gids))
            yield offsets, keys[order].astype(np.uint32), values[known][order]

    def sent(self, at: np.ndarray) -> np.ndarray:
        """Copy the values of entries to the owners of their targets; collective.

        Args:
            at: entries, int64.

        Returns:
            The entries that were set.
        """
        there, values = self.to_owners(self.targets[at], self.sources[at], self.values[at])
        self.values[there] = values
        return there

    def to_owners(self, ends: np.ndarray, others: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Send values of edges to the owners of ``ends``; collective.

        Args:
            ends: number of one end of each edge.
            others: number of the other end.
            values: one for each edge.

        Returns:
            Entries of edges in the rows of their ``ends``, and the values that were received for them.
        """
        rows, comm = self.rows, self.comm
        if comm.size > 1:
            owner = rows.owners[ends]
            order, cuts = np.argsort(owner, kind="stable"), np.cumsum(np.bincount(owner, minlength=comm.size))[:-1]
            moved = (rows.gids[ends][order], rows.gids[others][order], values[order])
            ends, others, values = (np.concatenate(comm.alltoallv(np.split(each, cuts))) for each in moved)
            ends, others = rows._numbers(ends), rows._numbers(others)
        keys = ends.astype(np.uint64) << np.uint64(32) | others.astype(np.uint64)
        return np.searchsorted(self._keys, keys), values

    def _entries(self, numbers: np.ndarray) -> np.ndarray:
        """Return the places of all entries of these rows, one row after the other."""
        starts, lengths = self.offsets[numbers], self.offsets[numbers + 1] - self.offsets[numbers]
        return np.arange(int(lengths.sum())) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)


def _distinct(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ones of ascending keys, and how often each occurs."""
    first = np.flatnonzero(np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]]))
    return keys[first], np.diff(np.append(first, len(keys)))


def _offsets(rows: np.ndarray, count: int) -> np.ndarray:
    """Return the offsets, int64 (count + 1,), of the entries of rows."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows.astype(np.int64), minlength=count), out=offsets[1:])
    return offsets
