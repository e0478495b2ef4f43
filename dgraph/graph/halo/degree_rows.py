"""Rows of masters in which vertices are numbered by degree, then gid: for triangles, which are found in short rows.

An oriented row has the arcs to vertices of higher numbers, so that none is long [Chiba & Nishizeki 1985]. Rows that are
not oriented have a value for each arc, which both ends' owners have. Entry: :func:`degree_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm import Comm
from dgraph.comm.owner_directed import scatter, swap
from dgraph.graph.halo.collected_arcs import ROW, Rows, collected, offsets_of, rows_of_keys
from dgraph.graph.halo.ghost_rows import GhostRows, mirror_lists, name_ghosts
from dgraph.graph.local import LocalGraph


@dataclass
class DegreeRows(GhostRows):
    """Rows of out-edges of masters, without loops and parallel arcs; ghosts have rows without arcs.

    Attributes:
        owners: rank that owns each number.
        values: int32 (arcs,), at first how often each arc is listed; empty if the rows are oriented.
    """

    owners: np.ndarray
    values: np.ndarray

    @cached_property
    def sources(self) -> np.ndarray:
        """Number of each arc's source, uint32, ascending."""
        return np.repeat(np.arange(self.slots, dtype=np.uint32), np.diff(self.offsets))

    @cached_property
    def lower(self) -> np.ndarray:
        """True for arcs whose target has the lower number."""
        return self.targets < self.sources

    @cached_property
    def _keys(self) -> np.ndarray:
        return self.sources.astype(np.uint64) << ROW | self.targets

    @property
    def degrees(self) -> np.ndarray:
        """Number of arcs of each master, by lid, int64."""
        return np.diff(self.offsets)[self.place]

    def keep(self, kept: np.ndarray) -> None:
        """Drop the arcs that are False in ``kept``, on this rank; others drop their reverses."""
        self.offsets = offsets_of(self.sources[kept], self.slots)
        self.targets, self.values = self.targets[kept], self.values[kept]
        for name in ("sources", "lower", "_keys"):
            self.__dict__.pop(name, None)

    def copy_to_reverse(self, arcs: np.ndarray) -> np.ndarray:
        """Copy the values of arcs to their reverses, at the owners of their targets; collective.

        Args:
            arcs: positions, int64.

        Returns:
            The arcs here whose values were set.
        """
        reverses, values = self.to_owners(self.targets[arcs], self.sources[arcs], self.values[arcs])
        self.values[reverses] = values
        return reverses

    def to_owners(self, ends: np.ndarray, others: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Send values of arcs to the owners of ``ends``; collective.

        Args:
            ends: number of the source of each arc.
            others: number of its target.
            values: one for each arc.

        Returns:
            Positions of the arcs of ``ends``, and the values that were received for them.
        """
        if self.comm.size > 1:
            ends, others, values = scatter(self.comm, self.owners[ends], self.gids[ends], self.gids[others], values)
            ends, others = self.numbers(ends), self.numbers(others)
        return np.searchsorted(self._keys, ends.astype(np.uint64) << ROW | others.astype(np.uint64)), values


def degree_rows(local: LocalGraph, comm: Comm, oriented: bool) -> DegreeRows:
    """Return the rows of this rank's masters; collective.

    Raises:
        UsageError: a graph of 2³² vertices or more on several ranks.
    """
    masters, degrees = local.masters, local.out_degree
    source, target = _oriented(local) if oriented else _without_loops(local)
    if comm.total(int(source.max(initial=0) >= max(masters, 1))):
        keys = collected(local, comm, 0, (source, target), once=oriented)
        gids, sent, ghosts = name_ghosts(local, comm, keys)
        degrees = np.concatenate([degrees[:masters], *swap(comm, [degrees[lids] for lids in sent])])
        offsets, target = rows_of_keys(keys, gids, masters)
        source = np.repeat(np.arange(masters), np.diff(offsets))
    else:
        gids, (sent, ghosts) = local.gids, mirror_lists(local, comm.size)
    order = _by_degree(gids, degrees)
    number = _places(order, np.uint64)
    keys = number[source] << ROW | number[target]
    del source, target
    keys.sort()
    values = np.zeros(0, np.int32)
    if not oriented:
        first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        keys, values = keys[first], np.diff(np.append(first, len(keys))).astype(np.int32)
    owners = np.full(len(gids), comm.rank, np.int32)
    for peer, lids in enumerate(ghosts):
        owners[lids] = peer
    sent, ghosts = ([number[part].astype(np.uint32) for part in parts] for parts in (sent, ghosts))
    offsets, place = offsets_of(keys >> ROW, len(gids)), number[:masters].astype(np.uint32)
    return DegreeRows(comm, gids[order], place, offsets, keys.astype(np.uint32), sent, ghosts, owners[order], values)


def _without_loops(local: LocalGraph) -> Rows:
    """Return the sources and targets (lids) of local arcs that are no loops."""
    source = np.repeat(np.arange(local.size, dtype=np.uint32), np.diff(local.out.offsets))
    target = local.out.neighbours.view(np.uint32)
    kept = source != target
    return source[kept], target[kept]


def _oriented(local: LocalGraph) -> Rows:
    """Return the sources and targets (lids) of local arcs to a vertex of higher degree, or gid."""
    offsets, neighbours = local.out.offsets, local.out.neighbours.view(np.uint32)
    place = _places(_by_degree(local.gids, local.out_degree), np.uint32)
    source, target = np.empty(neighbours.size, np.uint32), np.empty(neighbours.size, np.uint32)
    count = _orient(offsets, neighbours, place, source, target)
    return source[:count], target[:count]


def _orient_few(offsets, neighbours, place, source, target):
    """Return what :func:`_orient` returns."""
    u = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    kept = place[u] < place[neighbours]
    kept[1:] &= (u[1:] != u[:-1]) | (neighbours[1:] != neighbours[:-1])
    count = np.count_nonzero(kept)
    source[:count], target[:count] = u[kept], neighbours[kept]
    return count


@njit(cache=True, nogil=True, few=_orient_few)
def _orient(offsets, neighbours, place, source, target):
    """List the arcs whose target has the higher place, once for parallel ones, which are adjacent; return the count."""
    count = 0
    for u in range(offsets.size - 1):
        for e in range(offsets[u], offsets[u + 1]):
            v = neighbours[e]
            if place[u] < place[v] and (e == offsets[u] or v != neighbours[e - 1]):
                source[count], target[count] = u, v
                count += 1
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
