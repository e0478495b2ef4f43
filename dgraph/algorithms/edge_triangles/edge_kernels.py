"""CPU kernels over the triangles of edges: their number, those that leaving edges destroy, arcs between neighbours.

The row of each vertex v is marked; then the row of the lower end u of each of its edges is looked up. So an edge costs
the smaller of its ends' degrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.edge_triangles.edge_states import LEAVING
from dgraph.algorithms.edge_triangles.whole_peel import WholePeel
from dgraph.algorithms.kernels.wedges.corner_counts import joined_shares
from dgraph.backend.cpu.threads.atomics import OPTIONS, add_into, fetch_add
from dgraph.backend.cpu.threads.host_solver import HostSolver
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.context import Context
from dgraph.graph.halo import DegreeRows
from dgraph.graph.rows import edges_of

CHUNK = 32
"""Vertices that a thread takes at a time, hubs first."""

SMALL = 1 << 14
"""Entries up to which one thread works."""

ROWS = 32
"""Rows that NumPy marks at a time."""


class EdgeTriangles(HostSolver):
    """Kernels on a team of threads."""

    def __init__(self, backend: Any):
        super().__init__(backend)
        self._places: np.ndarray | None = None
        self._loss: tuple[np.ndarray, np.ndarray] | None = None

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of whole rows and of what is counted on them.

        An arc takes 60: its ends (8), value, flag and support, up to 40 while rows are made, and then a loss, a touched
        entry and lists of edges. A vertex takes 100: gid, owner, place, offsets, degree, counts and lists of edges, and
        a mark of each thread; a master 16 more in the column of the answer and the result.
        """
        return 100 * size.vertices + 60 * size.arcs + 16 * size.masters

    def supports(self, full: DegreeRows) -> np.ndarray:
        """Return the triangles of each edge, at the entry of its higher end: int32 (entries,); collective."""
        support = np.zeros(len(full.targets), np.int32)
        for other in self._others(full, full.targets[full.lower]):
            place, taken, threads = self._scratch(full, len(full.targets))
            self.team.run(_supports, threads, full.offsets, full.targets, *other[:2], support, place, taken)
        return support

    def peel(self, full: DegreeRows) -> WholePeel:
        """Return the rounds that peel the edges of a graph that is whole on this rank."""
        return WholePeel(full, self.supports(full), self.team)

    def destroyed(self, full: DegreeRows, leaving: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the edges left that lose triangles because others leave; collective.

        Args:
            full: rows; an edge's value is ``ALIVE``, ``LEAVING``, or below that if it left before.
            leaving: entries that leave, ascending; each edge at its higher end.

        Returns:
            Numbers of the higher and lower ends, and the triangles that are lost; an edge may occur several times.
        """
        rows = full.sources[leaving]
        heads = np.append(np.flatnonzero(np.diff(rows, prepend=-1)), len(rows))
        own = (full.offsets, full.targets, full.values)
        if self._loss is None:
            self._loss = np.zeros(len(full.targets), np.int32), np.zeros(len(full.targets), np.int64)
        parts: list[list[np.ndarray]] = [[np.empty(0, np.int64)] for _ in range(3)]
        for number, other in enumerate(self._others(full, full.targets[leaving])):
            sides = [(full.offsets, full.targets, *self._loss, np.zeros(1, np.int64))]
            if number:
                size = len(other[1])
                sides += [(*other[:2], np.zeros(size, np.int32), np.zeros(size, np.int64), np.zeros(1, np.int64))]
            place, taken, threads = self._scratch(full, int(np.diff(full.offsets)[rows[heads[:-1]]].sum()))
            # other ranks' rows come in many small pieces
            kernel = first_destroyed if full.comm.size == 1 else _destroyed
            self.team.run(
                kernel, threads, rows, heads, leaving, *own, *sides[0][2:], *other, *sides[-1][2:], place, taken
            )  # fmt: skip
            for offsets, targets, loss, touched, count in sides:
                losing = touched[: count[0]]
                one = (
                    full.sources[losing]
                    if loss is self._loss[0]
                    else np.searchsorted(offsets, losing, side="right") - 1
                )
                one, two = one.astype(np.int64), targets[losing].astype(np.int64)
                for part, values in zip(parts, (np.maximum(one, two), np.minimum(one, two), loss[losing]), strict=True):
                    part.append(values.astype(np.int64))
                loss[losing] = 0
        ends, others, losses = (np.concatenate(part) for part in parts)
        return ends, others, losses

    def at_corners(self, full: DegreeRows, sums: np.ndarray, products: bool = False) -> np.ndarray:
        """Return sums over the triangles at each master, (masters,); ``sums`` are zeros (vertices,); collective.

        A triangle adds the value of the opposite edge; with ``products`` the product of its edges' values.
        """
        for other in self._others(full, full.targets[full.lower]):
            place, taken, threads = self._scratch(full, len(full.targets))
            self.team.run(
                _at_corners, threads, full.offsets, full.targets, full.values, *other, sums, place, taken, products
            )  # fmt: skip
        return full.returned(sums)

    def _others(self, full: DegreeRows, lower: np.ndarray):
        """Yield this rank's rows, then those of lower ends that other ranks own; collective."""
        yield full.offsets, full.targets, full.values
        if full.comm.size > 1:
            wanted = np.zeros(len(full.gids), np.bool_)
            wanted[lower] = True
            yield from full.pieces(wanted, full.values)

    def _scratch(self, full: DegreeRows, work: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Return marks of each thread, all 0, a counter, and the number of threads."""
        if self._places is None:
            self._places = np.zeros((self.team.size, len(full.gids)), np.uint32)
        return self._places, np.zeros(1, np.int64), self.team.size if work > SMALL else 1


class NeighbourArcs(EdgeTriangles):
    """Counter of arcs between neighbours, of a graph whose edges have the number of their arcs as value."""

    def solve(self, ctx: Context) -> NeighbourArcs:
        """Count; collective."""
        self.ctx = ctx
        with ctx.record("compute"):
            full = ctx.rows("ghosts", "degree")
            counts = self.at_corners(full, np.zeros(len(full.gids), np.int64))
            self.joined, self.degrees = counts.astype(np.float64), full.degrees
        return self

    def shares(self) -> tuple[np.ndarray, float]:
        """Return the share of ordered pairs of neighbours with an arc between them, and its sum; collective."""
        return joined_shares(self.ctx, self.joined, self.degrees)


def array_supports(offsets, targets, low_offsets, low_targets, support, places, taken) -> Iterator[None]:
    """Add the triangles of each edge, of some rows at a time."""
    yield  # not later: started sums cannot start again
    for first in range(0, len(offsets) - 1, ROWS):
        v = np.arange(first, min(first + ROWS, len(offsets) - 1))
        row, i = edges_of(offsets, v)
        marks = np.zeros((len(v), places.shape[1]), np.bool_)
        marks[row, targets[i]] = True
        lower = targets[i] < v[row]
        row, i = row[lower], i[lower]
        edge, j = edges_of(low_offsets, targets[i])
        support[i] += np.bincount(edge, marks[row[edge], low_targets[j]], len(i)).astype(np.int32)


@plain_first(rounds=array_supports, patience=2.0)
@njit(**OPTIONS)
def _supports(t, threads, offsets, targets, low_offsets, low_targets, support, places, taken):
    place, last = places[t], len(offsets) - 2
    while True:
        begin = fetch_add(taken, 0, CHUNK)
        if begin > last:
            return
        for v in range(last - begin, max(last - begin - CHUNK, -1), -1):
            first, stop = offsets[v], offsets[v + 1]
            for i in range(first, stop):
                place[targets[i]] = 1
            for i in range(first, stop):
                u = np.int64(targets[i])
                if u > v:
                    break
                triangles = 0
                for j in range(low_offsets[u], low_offsets[u + 1]):
                    triangles += place[low_targets[j]]
                support[i] += triangles
            for i in range(first, stop):
                place[targets[i]] = 0


def array_destroyed(
    rows, heads, leaving, offsets, targets, values, loss, touched, count, low_offsets, low_targets, low_values,
    low_loss, low_touched, low_count, places, taken,
) -> Iterator[None]:  # fmt: skip
    """Count the triangles that other edges lose, of some rows at a time."""
    yield  # not later: started sums cannot start again
    own, low = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for first in range(0, len(heads) - 1, ROWS):
        begins = heads[first : first + ROWS + 1]
        v = rows[begins[:-1]]
        row, i = edges_of(offsets, v)
        row, i = row[values[i] >= LEAVING], i[values[i] >= LEAVING]
        place = np.zeros((len(v), places.shape[1]), np.int32)
        place[row, targets[i]] = i + 1
        v, row = np.repeat(v, np.diff(begins)), np.repeat(np.arange(len(v)), np.diff(begins))
        u = targets[leaving[begins[0] : begins[-1]]]
        edge, j = edges_of(low_offsets, u)
        i = place[row[edge], low_targets[j]] - 1
        closed = (i >= 0) & (low_values[j] >= LEAVING)
        edge, i, j = edge[closed], i[closed], j[closed]
        w, low_goes, goes = low_targets[j], low_values[j] == LEAVING, values[i] == LEAVING
        own.append(i[~goes & (~low_goes | (v[edge] < w))])
        low.append(j[~low_goes & (~goes | (u[edge] < w))])
    _lose(loss, touched, count, np.concatenate(own))
    _lose(low_loss, low_touched, low_count, np.concatenate(low))


def _lose(loss, touched, count, entries) -> None:
    """Add a triangle to the loss of each entry, and list those that had none."""
    losing = np.unique(entries)
    losing = losing[loss[losing] == 0]
    np.add.at(loss, entries, 1)
    touched[count[0] : count[0] + len(losing)] = losing
    count[0] += len(losing)


@njit(**OPTIONS)
def _destroyed(
    t, threads, rows, heads, leaving, offsets, targets, values, loss, touched, count, low_offsets, low_targets,
    low_values, low_loss, low_touched, low_count, places, taken,
):  # fmt: skip
    place, groups = places[t], len(heads) - 1
    while True:
        group = fetch_add(taken, 0, 1)
        if group >= groups:
            return
        v = np.int64(rows[heads[group]])
        first, stop = offsets[v], offsets[v + 1]
        for i in range(first, stop):
            if values[i] >= LEAVING:
                place[targets[i]] = i - first + 1
        for entry in range(heads[group], heads[group + 1]):
            u = np.int64(targets[leaving[entry]])
            for j in range(low_offsets[u], low_offsets[u + 1]):
                w = np.int64(low_targets[j])
                if not place[w] or low_values[j] < LEAVING:
                    continue
                i = first + place[w] - 1
                goes_low, goes = low_values[j] == LEAVING, values[i] == LEAVING
                # of two leaving edges of a triangle, that with the lower other end takes it from the third
                if not goes and (not goes_low or v < w) and fetch_add(loss, i, 1) == 0:
                    touched[fetch_add(count, 0, 1)] = i
                if not goes_low and (not goes or u < w) and fetch_add(low_loss, j, 1) == 0:
                    low_touched[fetch_add(low_count, 0, 1)] = j
        for i in range(first, stop):
            place[targets[i]] = 0


first_destroyed = plain_first(_destroyed, rounds=array_destroyed, patience=2.0)
"""``_destroyed``, or its array rounds until compilation pays."""


@njit(**OPTIONS)
def _at_corners(
    t, threads, offsets, targets, values, low_offsets, low_targets, low_values, sums, places, taken, products
):  # fmt: skip
    """Add values of triangles to those of their corners: of opposite edges, or products of all three."""
    place, last, alone = places[t], len(offsets) - 2, threads == 1
    while True:
        begin = fetch_add(taken, 0, CHUNK)
        if begin > last:
            return
        for v in range(last - begin, max(last - begin - CHUNK, -1), -1):
            first, stop = offsets[v], offsets[v + 1]
            for i in range(first, stop):
                place[targets[i]] = i - first + 1
            for i in range(first, stop):
                u = np.int64(targets[i])
                if u > v:
                    break
                for j in range(low_offsets[u], low_offsets[u + 1]):
                    w = np.int64(low_targets[j])
                    p = place[w]
                    if p and u < w < v:
                        of_v, of_u, of_w = low_values[j], values[first + p - 1], values[i]
                        if products:
                            of_v = of_u = of_w = of_w * of_u * of_v
                        add_into(sums, np.int64(v), of_v, alone)
                        add_into(sums, u, of_u, alone)
                        add_into(sums, w, of_w, alone)
            for i in range(first, stop):
                place[targets[i]] = 0
