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
from dgraph.graph.rows import row_shares, sort_rows, transpose
from partitioning.arrays.lazy_numba import compiles


@dataclass
class DegreeRows(GhostRows):
    """Rows of out-edges of masters, without loops and parallel arcs; ghosts have rows without arcs.

    Attributes:
        owners: rank that owns each number.
        values: int32 (arcs,), at first how often each arc is listed; empty if the rows are oriented.
        entering: of oriented rows, offsets and sources of the arcs that enter each number; empty of others.
    """

    owners: np.ndarray
    values: np.ndarray
    entering: Rows

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


def degree_rows(local: LocalGraph, comm: Comm, oriented: bool, threads: int = 1) -> DegreeRows:
    """Return the rows of this rank's masters; collective.

    Raises:
        UsageError: a graph of 2³² vertices or more on several ranks.
    """
    masters, degrees = local.masters, local.out_degree
    if oriented and comm.size == 1:
        order, place, (offsets, targets), entering = _arranged(local, threads)
        nobody, lists = np.zeros(len(order), np.int32), [np.zeros(0, np.uint32)]
        return DegreeRows(comm, local.gids[order], place, offsets, targets, lists, lists, nobody, nobody[:0], entering)
    source, target = _oriented(local, threads) if oriented else _without_loops(local)
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
    target = keys.astype(np.uint32)
    entering = transpose(len(gids), offsets, target, None)[:2] if oriented else (offsets[:0], target[:0])
    return DegreeRows(comm, gids[order], place, offsets, target, sent, ghosts, owners[order], values, entering)


def _without_loops(local: LocalGraph) -> Rows:
    """Return the sources and targets (lids) of local arcs that are no loops."""
    source = np.repeat(np.arange(local.size, dtype=np.uint32), np.diff(local.out.offsets))
    target = local.out.neighbours.view(np.uint32)
    kept = source != target
    return source[kept], target[kept]


def _oriented(local: LocalGraph, threads: int) -> Rows:
    """Return the sources and targets (lids) of local arcs to a vertex of higher degree, or gid."""
    order, _, (starts, targets), _ = _arranged(local, threads)
    order = order.astype(np.uint32)
    return np.repeat(order, np.diff(starts)), order[targets]


def _arranged(local: LocalGraph, threads: int) -> tuple[np.ndarray, np.ndarray, Rows, Rows]:
    """Return the order of vertices by degree and their places; oriented rows, and the arcs that enter each vertex."""
    offsets, neighbours = local.out.offsets, local.out.neighbours.view(np.uint32)
    order = _by_degree(local.gids, local.out_degree)
    place = _places(order, np.uint32)
    if compiles(neighbours.size):
        return order, place, *_orient(offsets, neighbours, order, place, threads)
    return order, place, *_orient_few(offsets, neighbours, order, place)


def _orient_few(offsets: np.ndarray, neighbours: np.ndarray, order: np.ndarray, place: np.ndarray) -> tuple[Rows, Rows]:
    source, target = place[np.repeat(np.arange(order.size), np.diff(offsets))], place[neighbours]
    kept = source < target
    keys = np.unique(source[kept].astype(np.uint64) << ROW | target[kept])
    source, target = keys >> ROW, keys.astype(np.uint32)
    entering = source[np.argsort(target, kind="stable")].astype(np.uint32)
    return (offsets_of(source, order.size), target), (offsets_of(target, order.size), entering)


def _orient(
    offsets: np.ndarray, neighbours: np.ndarray, order: np.ndarray, place: np.ndarray, threads: int
) -> tuple[Rows, Rows]:
    """Return rows with the arcs to higher places, once for parallel arcs, which are adjacent, and their reverses."""
    begins = np.append(0, np.cumsum(np.diff(offsets)[order]))
    starts, entering = np.zeros((2, order.size + 1), np.int64)
    both = np.empty(neighbours.size, np.uint32)

    def split(rows: slice) -> None:
        _split(rows.start, rows.stop, offsets, neighbours, order, place, begins, both, starts, entering)

    row_shares(split, begins, threads)
    np.cumsum(starts, out=starts)
    np.cumsum(entering, out=entering)
    targets, sources = np.empty(starts[-1], np.uint32), np.empty(entering[-1], np.uint32)

    def copy(rows: slice) -> None:
        _copy(rows.start, rows.stop, begins, both, starts, targets, entering, sources)

    row_shares(copy, begins, threads)
    sort_rows(starts, targets, None, threads)
    sort_rows(entering, sources, None, threads)
    return (starts, targets), (entering, sources)


@njit(cache=True, nogil=True)
def _split(first, last, offsets, neighbours, order, place, begins, both, higher, lower):
    """Store each row's places of neighbours in its part of ``both``: higher ones from the front, lower from the end."""
    for p in range(first, last):
        u, before, up, down = order[p], np.uint32(p), begins[p], begins[p + 1]
        for e in range(offsets[u], offsets[u + 1]):
            q = place[neighbours[e]]
            if q == before:
                continue
            if q > p:
                both[up] = q
                up += 1
            elif q < p:
                down -= 1
                both[down] = q
            before = q
        higher[p + 1], lower[p + 1] = up - begins[p], begins[p + 1] - down


@njit(cache=True, nogil=True)
def _copy(first, last, begins, both, starts, targets, entering, sources):
    for p in range(first, last):
        for i in range(starts[p + 1] - starts[p]):
            targets[starts[p] + i] = both[begins[p] + i]
        for i in range(entering[p + 1] - entering[p]):
            sources[entering[p] + i] = both[begins[p + 1] - 1 - i]


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
