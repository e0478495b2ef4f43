"""Triangles at every vertex of a distributed graph: rows are oriented, moved to the owners of their sources, counted.

An edge leads to its end of higher degree, so that no row is long [Chiba & Nishizeki 1985]. Each rank counts the
triangles whose lowest corner it owns. Rows of middle corners come from their owners, some at a time, so that a rank
never holds many more of others' edges than of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm import Comm
from dgraph.comm.owner_directed import scatter
from dgraph.engine.rounds.context import Context
from dgraph.graph.local import LocalGraph

PARTS = 4
"""Edges of others at a time: one in this many of the rank's own, since they take some 60 bytes each on their way."""

FEWEST = 1 << 16
"""Edges of others' rows at a time, at least."""


def triangles_at(ctx: Context, counter_of: Callable[[np.ndarray, np.ndarray], Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of triangles at each master and its number of distinct neighbours; collective.

    Loops are left out, and parallel edges count once. ``counter_of`` makes a counter for rows of offsets and targets.

    Returns:
        two int64 arrays (masters,).
    """
    local, comm = ctx.local, ctx.comm
    with ctx.record("compute"):
        source, target, degree = _oriented(local)
        rows = OrientedRows.on_owners(local, comm, source, target)
        del source, target
        counter = counter_of(rows.offsets, rows.targets)
        counter.count(rows.offsets, rows.targets)
        if comm.size > 1:
            for offsets, targets in rows.of_others(comm):
                counter.count(offsets, targets)
        return rows.returned(comm, counter.counts), _added(local, comm, degree)


def _oriented(local: LocalGraph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sources and targets (lids) of oriented local edges, and the distinct local neighbours of each lid."""
    offsets, neighbours = local.out.offsets, local.out.neighbours.view(np.uint32)
    place = _places(_by_degree(local.gids, local.out_degree), np.uint32)
    source, target = np.empty(neighbours.size, np.uint32), np.empty(neighbours.size, np.uint32)
    distinct = np.empty(local.size, np.int64)
    count = _orient(offsets, neighbours, place, source, target, distinct)
    return source[:count], target[:count], distinct


@njit(cache=True, nogil=True)
def _orient(offsets, neighbours, place, source, target, distinct):
    """List the edges whose end has the higher place, without parallel ones, which are adjacent; return their number."""
    count = 0
    for u in range(offsets.size - 1):
        others = 0
        for e in range(offsets[u], offsets[u + 1]):
            v = neighbours[e]
            if v == u or (e > offsets[u] and v == neighbours[e - 1]):
                continue
            others += 1
            if place[u] < place[v]:
                source[count], target[count] = u, v
                count += 1
        distinct[u] = others
    return count


def _by_degree(gids: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return the order of vertices by degree, then gid."""
    if degrees.max(initial=0) < 1 << 16:
        degrees = degrees.astype(np.uint16)  # sorted by radix
    if np.all(gids[1:] > gids[:-1]):
        return np.argsort(degrees, kind="stable")
    return np.lexsort((gids, degrees))


def _places(order: np.ndarray, dtype: type) -> np.ndarray:
    """Return the place of each vertex in an order."""
    place: np.ndarray = np.empty(len(order), dtype)
    place[order] = np.arange(len(order), dtype=dtype)
    return place


def _added(local: LocalGraph, comm: Comm, values: np.ndarray) -> np.ndarray:
    """Return the sum over ranks of values by lid, for masters: int64 (masters,); collective."""
    mine = values[: local.masters].copy()
    if comm.size > 1:
        parts = [np.zeros(0, np.int64)] * comm.size
        for peer, side in local.own_mirrors.items():
            parts[peer] = values[side.first : side.first + side.count]
        for peer, got in enumerate(comm.alltoallv(parts)):
            if got.size:
                mine += np.bincount(local.peer_mirrors[peer].lids, got, len(mine)).astype(np.int64)  # type: ignore[arg-type]
    return mine


@dataclass
class OrientedRows:
    """Oriented rows of this rank's masters. Their vertices are numbered in the order of edges: by degree, then gid.

    Attributes:
        offsets: int64 (vertices + 1,); only masters have edges. ``targets``: uint32 (edges,), ascending in each row.
        gids: of each number, int64.
        owners: rank that owns each number.
        mine: number of each master, by lid.
    """

    offsets: np.ndarray
    targets: np.ndarray
    gids: np.ndarray
    owners: np.ndarray
    mine: np.ndarray

    @cached_property
    def place(self) -> np.ndarray:
        """Numbers in ascending order of gids."""
        return np.argsort(self.gids)

    @staticmethod
    def on_owners(local: LocalGraph, comm: Comm, source: np.ndarray, target: np.ndarray) -> OrientedRows:
        """Send each edge (lids) to the owner of its source; collective."""
        owners, masters = local.owners(comm.rank), local.masters
        gids, degrees = local.gids, local.out_degree
        if comm.total(int(source.max(initial=0) >= max(masters, 1))):
            to = owners[source]
            sent = (gids[source], gids[target], owners[target].astype(np.int64), degrees[target])
            source, high, owner, degree = scatter(comm, to, *sent)
            away = owner != comm.rank
            others, first = np.unique(high[away], return_index=True)
            source = np.searchsorted(gids[:masters], source)
            target = np.where(away, masters + np.searchsorted(others, high), np.searchsorted(gids[:masters], high))
            gids = np.concatenate([gids[:masters], others])
            owners = np.concatenate([owners[:masters], owner[away][first]])
            degrees = np.concatenate([degrees[:masters], degree[away][first]])
        order = _by_degree(gids, degrees)
        number = _places(order, np.uint64)
        edges = number[source] << np.uint64(32) | number[target]
        edges.sort()
        gids = gids[order]
        return OrientedRows(
            _offsets(edges >> np.uint64(32), len(order)), edges.astype(np.uint32), gids, owners[order],
            number[:masters].astype(np.uint32),
        )  # fmt: skip

    def of_others(self, comm: Comm) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield offsets and targets, as of this object, of rows that other ranks own, some at a time; collective."""
        lengths = np.diff(self.offsets)
        asked = self._of_peers(comm)
        wanted = [self._numbers(gids) for gids in comm.alltoallv([self.gids[each] for each in asked])]
        incoming = sum(int(each.sum()) for each in comm.alltoallv([lengths[rows] for rows in wanted]))
        turns = comm.largest(-(-incoming // max(len(self.targets) // PARTS, FEWEST)))
        for turn in range(turns):
            part = [each[turn::turns] for each in asked]
            wanted = [self._numbers(gids) for gids in comm.alltoallv([self.gids[each] for each in part])]
            sizes = np.concatenate(comm.alltoallv([lengths[rows] for rows in wanted]))
            gids = np.concatenate(comm.alltoallv([self._gathered(rows) for rows in wanted]))
            target = self._numbers(gids)
            known = target >= 0  # a vertex that no row here names closes no triangle
            rows = np.repeat(np.concatenate(part), sizes)[known].astype(np.uint64)
            edges = rows << np.uint64(32) | target[known].astype(np.uint64)
            edges.sort()
            yield _offsets(edges >> np.uint64(32), len(self.gids)), edges.astype(np.uint32)

    def returned(self, comm: Comm, counts: np.ndarray) -> np.ndarray:
        """Send counts to the owners of the vertices and add them up: int64 (masters,); collective."""
        if comm.size > 1:
            asked = self._of_peers(comm)
            ids = comm.alltoallv([self.gids[each] for each in asked])
            for gids, values in zip(ids, comm.alltoallv([counts[each] for each in asked]), strict=True):
                counts[self._numbers(gids)] += values
        return counts[self.mine]

    def _of_peers(self, comm: Comm) -> list[np.ndarray]:
        """Return the numbers that each other rank owns."""
        owners = np.where(self.owners == comm.rank, -1, self.owners)
        return [np.flatnonzero(owners == peer) for peer in range(comm.size)]

    def _numbers(self, gids: np.ndarray) -> np.ndarray:
        """Return the number of each gid, int64; -1 for one that has none."""
        if not len(self.place):
            return np.full(len(gids), -1)
        at = np.searchsorted(self.gids, gids, sorter=self.place)
        number = self.place[np.minimum(at, len(self.place) - 1)]
        return np.where(self.gids[number] == gids, number, -1)

    def _gathered(self, rows: np.ndarray) -> np.ndarray:
        """Return the gids of the targets of rows, one row after the other."""
        starts, lengths = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        at = np.arange(int(lengths.sum())) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        return self.gids[self.targets[at]]


def _offsets(rows: np.ndarray, count: int) -> np.ndarray:
    """Return the offsets, int64 (count + 1,), of rows of edges in ascending order of rows."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows.astype(np.int64), minlength=count), out=offsets[1:])
    return offsets
