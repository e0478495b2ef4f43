"""In-edges of ranked vertices in tiles of sources whose shares fit a core's cache.

A share of sixteen walks takes two cache lines, and those of a graph of 2^18 vertices as much as a whole L3. So arcs are
grouped by source, ``TILE`` places a group, as in propagation blocking [Beamer et al., IPDPS 2017]: a thread adds the
shares of one tile to all rows of its block before it reads the next tile. Sources are numbered by falling degree, so
that most arcs are in the first tiles. Within a tile rows ascend, and each is a visit with its arcs.

Many threads have small blocks, and read each tile for few arcs: they take whole rows, whose arcs lie in the order of
tiles, so that sums have the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import OPTIONS
from dgraph.backend.cpu.threads.team import Team

SHIFT = 14
"""log2 of the places of a tile, whose shares take 2 MiB."""

TILES = 64
"""Most tiles; the arcs of the last one, from all further places, are few."""

CHUNK = 32
"""Rows whose totals are added before those of others, whichever thread has them."""

FEW_THREADS = 4
"""Threads up to which arcs are grouped by tile."""

ROW_COST = 16
"""Arcs that take the time of a row, where blocks of rows are cut."""


@dataclass(frozen=True)
class TiledRows:
    """In-edges by tile of their sources, then row.

    Attributes:
        tiles: first visit of each tile, and their number, int64 (tiles + 1,).
        rows: row of each visit, uint32 (visits,).
        firsts: first arc of each visit, and the number of arcs, int64 (visits + 1,).
        sources: places of shares, uint32 (arcs,).
        weights: float64 (arcs,); None: each is 1.
        ends: int64 (rows + 1,): row r has ``ends[r + 1] - ends[r]`` arcs.
    """

    tiles: np.ndarray
    rows: np.ndarray
    firsts: np.ndarray
    sources: np.ndarray
    weights: np.ndarray | None
    ends: np.ndarray

    @classmethod
    def of(
        cls, team: Team, offsets: np.ndarray, sources: np.ndarray, weights: np.ndarray | None, order: np.ndarray,
        places: np.ndarray, whole_rows: bool = False, shift: int = SHIFT, most: int = TILES,
    ) -> TiledRows:  # fmt: skip
        """Lay out rows on the threads of a team; the layout does not depend on their number.

        Args:
            team: threads.
            offsets: int64 (rows + 1,).
            sources: uint32 (arcs,).
            weights: of the arcs; None: each is 1.
            order: int64 (rows,): the r-th row of the layout.
            places: uint32 (n,): place of the shares of each source.
            whole_rows: a visit is a row, in one tile, and its arcs are in the order of the tiles of their sources.
            shift: log2 of the places of a tile.
            most: tiles; the last one has the arcs from all further places.
        """
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(offsets)[order])])
        count, threads = min(max(len(places) - 1 >> shift, 0) + 1, most), team.size
        bounds = np.searchsorted(ends, len(sources) * np.arange(threads + 1) // threads)
        bounds[0], bounds[-1] = 0, len(order)
        arguments = offsets, sources, order, places, bounds, shift
        placed = np.empty(len(sources), np.uint32)
        weighed = None if weights is None else np.empty(len(sources))
        if whole_rows:
            starts = np.empty((threads, count + 1), np.int64)
            team.run(_fill_rows, threads, *arguments, weights, ends, starts, placed, weighed)
            rows = np.arange(len(order), dtype=np.uint32)
            return cls(np.array([0, len(order)]), rows, ends, placed, weighed, ends)
        arcs, visits = np.zeros((2, threads, count), np.int64)
        latest = np.full((threads, count), -1)
        team.run(_count, threads, *arguments, arcs, visits, latest)
        first_arcs, first_visits = map(_starts, (arcs, visits))
        total = int(visits.sum())
        tiles = np.append(first_visits[0], total)
        rows, firsts = np.empty(total, np.uint32), np.full(total + 1, len(sources))
        latest[:] = -1
        team.run(_fill, threads, *arguments, weights, first_arcs, first_visits, latest, rows, firsts, placed, weighed)
        return cls(tiles, rows, firsts, placed, weighed, ends)

    def blocks(self, count: int) -> np.ndarray:
        """Return the bounds of up to ``count`` blocks of whole chunks of rows, of about equal work, int64."""
        edges = np.append(np.arange(0, len(self.ends) - 1, CHUNK), len(self.ends) - 1)
        work = self.ends[edges] + ROW_COST * edges
        cuts = np.searchsorted(work, work[-1] * np.arange(1, count) // count)
        return np.unique(np.concatenate([[0], edges[cuts], edges[-1:]]))


def _starts(counts: np.ndarray) -> np.ndarray:
    """Return the first place of each thread in each tile, where tiles and in them threads follow each other."""
    turned = np.ascontiguousarray(counts.T)
    return np.ascontiguousarray((np.cumsum(turned) - turned.reshape(-1)).reshape(turned.shape).T)


@njit(**OPTIONS)
def _count(t, threads, offsets, sources, order, places, bounds, shift, arcs, visits, latest):
    last = arcs.shape[1] - 1
    for row in range(bounds[t], bounds[t + 1]):
        v = order[row]
        for arc in range(offsets[v], offsets[v + 1]):
            tile = min(np.int64(places[sources[arc]]) >> shift, last)
            arcs[t, tile] += 1
            if latest[t, tile] != row:
                latest[t, tile] = row
                visits[t, tile] += 1


@njit(**OPTIONS)
def _fill(
    t, threads, offsets, sources, order, places, bounds, shift, weights, next_arc, next_visit, latest, rows, firsts,
    placed, weighed,
):  # fmt: skip
    last = next_arc.shape[1] - 1
    for row in range(bounds[t], bounds[t + 1]):
        v = order[row]
        for arc in range(offsets[v], offsets[v + 1]):
            place = places[sources[arc]]
            tile = min(np.int64(place) >> shift, last)
            position = next_arc[t, tile]
            next_arc[t, tile] = position + 1
            if latest[t, tile] != row:
                latest[t, tile] = row
                rows[next_visit[t, tile]], firsts[next_visit[t, tile]] = row, position
                next_visit[t, tile] += 1
            placed[position] = place
            if weights is not None:
                weighed[position] = weights[arc]


@njit(**OPTIONS)
def _fill_rows(
    t, threads, offsets, sources, order, places, bounds, shift, weights, ends, starts, placed, weighed
):  # fmt: skip
    last = starts.shape[1] - 2
    for row in range(bounds[t], bounds[t + 1]):
        v = order[row]
        for tile in range(last + 2):
            starts[t, tile] = 0
        for arc in range(offsets[v], offsets[v + 1]):
            starts[t, min(np.int64(places[sources[arc]]) >> shift, last) + 1] += 1
        starts[t, 0] = ends[row]
        for tile in range(last + 1):
            starts[t, tile + 1] += starts[t, tile]
        for arc in range(offsets[v], offsets[v + 1]):
            place = places[sources[arc]]
            tile = min(np.int64(place) >> shift, last)
            position = starts[t, tile]
            starts[t, tile] = position + 1
            placed[position] = place
            if weights is not None:
                weighed[position] = weights[arc]
