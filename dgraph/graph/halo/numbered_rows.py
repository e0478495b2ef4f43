"""Rows in which vertices have the same numbers on all ranks: all of them on every rank, or a range on each.

Rank r *keeps* the vertices ``bounds[r] … bounds[r + 1]`` and the arcs that leave them, whichever rank owns them. Values
of vertices go to the owners of their masters, those of arcs to their keepers; receivers add them by rank, then row, so
float sums have the same bits on any number of ranks. Entry: :func:`numbered_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.owner_directed import scatter, swap
from dgraph.graph.halo.collected_arcs import Rows, offsets_of
from dgraph.graph.local import Csr, LocalGraph
from dgraph.graph.rows import transpose


@dataclass(frozen=True)
class NumberedRows:
    """Rows of all vertices, or of those that this rank keeps.

    Attributes:
        comm: the ranks.
        ids: original ids by number, int64 (n,).
        bounds: int64 (P + 1,): the first vertex that each rank keeps, then n.
        places: by rank, the number of each of its masters.
        directed: False if every arc has its reverse.
        offsets: int64 (rows + 1,).
        targets: numbers, uint32 (arcs,), ascending in each row.
        costs: weights, float64 (arcs,); None if every arc costs 1.
    """

    comm: Comm
    ids: np.ndarray
    bounds: np.ndarray
    places: list[np.ndarray]
    directed: bool
    offsets: np.ndarray
    targets: np.ndarray
    costs: np.ndarray | None

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.ids)

    slots = n

    @property
    def masters(self) -> int:
        """Number of rows that are here."""
        return len(self.offsets) - 1

    @property
    def kept(self) -> slice:
        """Vertices that this rank keeps."""
        return slice(int(self.bounds[self.comm.rank]), int(self.bounds[self.comm.rank + 1]))

    @property
    def first(self) -> int:
        """First vertex that this rank keeps."""
        return self.kept.start

    @property
    def stop(self) -> int:
        """Vertex after the last one that this rank keeps."""
        return self.kept.stop

    @property
    def kept_arcs(self) -> slice:
        """Arcs that leave the vertices that this rank keeps, if the rows of all vertices are here."""
        return slice(int(self.offsets[self.first]), int(self.offsets[self.stop]))

    @cached_property
    def sources(self) -> np.ndarray:
        """Source of each arc, int64, ascending."""
        first = 0 if self.masters == self.n else self.first
        return np.repeat(np.arange(first, first + self.masters), np.diff(self.offsets))

    @property
    def out(self) -> Rows:
        """Offsets and targets."""
        return self.offsets, self.targets

    @cached_property
    def into(self) -> Rows:
        """Rows of in-edges, if the rows of all vertices are here."""
        return transpose(self.n, *self.out, None)[:2] if self.directed else self.out

    pushed = out

    def numbers(self, ids: np.ndarray) -> np.ndarray:
        """Return the numbers of original ids, of rows in the order of ids."""
        return np.searchsorted(self.ids, ids)

    def simple(self) -> NumberedRows:
        """Return the rows without loops and parallel arcs, with the least cost of the latter."""
        first, target, costs = self.first, self.targets, self.costs
        source = np.repeat(np.arange(first, first + self.masters, dtype=np.uint32), np.diff(self.offsets))
        loops = source == target
        kept = ~loops
        kept[1:] &= (source[1:] != source[:-1]) | (target[1:] != target[:-1])
        if kept.all():
            return self
        if costs is not None:
            costs = np.minimum.reduceat(np.where(loops, np.inf, costs), np.flatnonzero(kept))
        return replace(self, offsets=offsets_of(source[kept] - first, self.masters), targets=target[kept], costs=costs)

    def gathered(self) -> NumberedRows:
        """Return the rows of all vertices; collective."""
        lengths, targets = (
            np.concatenate(self.comm.allgatherv(part)) for part in (np.diff(self.offsets), self.targets)
        )  # fmt: skip
        costs = None if self.costs is None else np.concatenate(self.comm.allgatherv(self.costs))
        return replace(self, offsets=np.concatenate([[0], np.cumsum(lengths)]), targets=targets, costs=costs)

    def to_owners(self, values: np.ndarray) -> list[np.ndarray]:
        """Send columns of ``values`` (k, n) to the owners of vertices, (k, masters) from each rank; collective."""
        return swap(self.comm, [values[:, place] for place in self.places])

    def to_keepers(self, values: np.ndarray) -> list[np.ndarray]:
        """Send columns of ``values`` (k, arcs) to the keepers of arcs; return (k, kept) from each rank; collective."""
        return swap(self.comm, np.split(values, self.offsets[self.bounds[1:-1]], axis=1))

    def returned(self, values: np.ndarray, fold: np.ufunc = np.add) -> np.ndarray:
        """Return the fold over ranks, in their order, of values (n,), by this rank's masters; collective."""
        return fold.reduce(np.concatenate(self.to_owners(values[None])), axis=0)

    def to_masters(self, values: np.ndarray) -> np.ndarray:
        """Return values of kept vertices by this rank's masters; collective."""
        return np.concatenate(self.comm.allgatherv(values))[self.places[self.comm.rank]]

    def of_reverse(self, values: np.ndarray) -> np.ndarray:
        """Return the value of the reverse of each kept arc, of rows of all vertices, undirected; collective."""
        target, source = self.targets[self.kept_arcs].astype(np.int64), self.sources[self.kept_arcs]
        keepers = np.searchsorted(self.bounds[1:-1], target, side="right")
        target, source, values = scatter(self.comm, keepers, target, source, values)
        return values[np.lexsort((source, target))]


def _are_places(numbers: np.ndarray) -> bool:
    """Return True if each number is its position: rows stand in the order that is asked for."""
    return np.array_equal(numbers, np.arange(len(numbers)))


def numbered_rows(local: LocalGraph, comm: Comm, order: str, weights: bool) -> NumberedRows:
    """Send each arc to the keeper of its source; collective.

    Args:
        local: this rank's partition.
        comm: the ranks.
        order: of the vertices: "id" or "gid".
        weights: True to send weights along, where the graph has some.
    """
    masters, rows = local.masters, local.out
    every = comm.allgatherv(local.gids[:masters])
    gids, originals = np.concatenate(every), np.concatenate(comm.allgatherv(local.original[:masters]))
    ordered = np.argsort(originals if order == "id" else gids, kind="stable")
    place = np.empty(len(ordered), np.int64)
    place[gids[ordered]] = np.arange(len(ordered))
    bounds = len(ordered) * np.arange(comm.size + 1) // comm.size
    if comm.size == 1 and (order == "gid" or local.ascending) and _are_places(place) and _are_places(local.gids):
        cost = rows.weights.astype(np.float64) if weights and rows.weights is not None else None
        offsets, targets = rows.offsets.astype(np.int64), rows.neighbours.view(np.uint32).copy()
        return NumberedRows(comm, originals[ordered], bounds, [place[gids]], local.directed, offsets, targets, cost)
    source = place[np.repeat(local.gids, np.diff(rows.offsets))]
    target = place[local.gids[rows.neighbours.view(np.uint32)]].astype(np.uint32)
    columns = [source, target]
    if weights and rows.weights is not None:
        columns.append(rows.weights.astype(np.float64))
    columns = scatter(comm, np.searchsorted(bounds[1:-1], source, side="right"), *columns)
    if comm.size > 1 or (order == "id" and not local.ascending):
        sort = np.lexsort((columns[1], columns[0]))
        columns = [column[sort] for column in columns]
    source, target, *costs = columns
    first, stop = bounds[comm.rank : comm.rank + 2]
    offsets = offsets_of(source - first, int(stop - first))
    places = [place[part] for part in every]
    return NumberedRows(
        comm, originals[ordered], bounds, places, local.directed, offsets, target, costs[0] if costs else None
    )


def whole_graph_of(local: LocalGraph, comm: Comm) -> LocalGraph:
    """Return the graph of all ranks, without weights, as the partition of a single rank; collective."""
    rows = numbered_rows(local, comm, "gid", False).gathered()
    return LocalGraph(
        local.n, local.m, local.arcs, local.n, np.arange(local.n), rows.ids, np.diff(rows.offsets),
        Csr(rows.offsets, rows.targets, None), local.directed,
    )  # fmt: skip
