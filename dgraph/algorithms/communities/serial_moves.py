"""Moves of single vertices in one serial order, and connected pieces of communities by union-find on all threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_arrays import ALONE, find_gaining, first_plain
from dgraph.algorithms.communities.community_totals import Partition, best_move, empty_label, shift, stays
from dgraph.algorithms.communities.graph_level import CHUNK, GraphLevel, threads_for
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cpu.threads.atomics import INLINE, OPTIONS, barrier, fetch_add, pointers, replace_if_equal
from dgraph.backend.cpu.threads.team import Team

PASSES = 16
"""Passes of a sweep over its vertices at most."""


def gaining(engine: Any, partition: Partition) -> tuple[np.ndarray, int]:
    """Return 1 for vertices that gain by a move, uint8 (n,), and their number."""
    level, units, team = partition.level, engine.units, engine.team
    threads, n = threads_for(level.n, team), level.n  # bounds spare most rows
    flags, (sums, touched) = np.zeros(n, np.uint8), level.tables(threads, n)
    team.run(
        _settle, threads, np.zeros(2, np.int64), np.empty(0, np.int32), 0, units.scale, units.price, engine.most,
        level.rows, partition.totals, partition.bounds, flags, sums, touched,
    )  # fmt: skip
    return flags, int(np.count_nonzero(flags))


def sweep(partition: Partition, units: Units, most: int, vertices: np.ndarray) -> None:
    """Move vertices in turn, int32 ascending, again and again until none moves, at most :data:`PASSES` times.

    One of them gains, and so the quality rises.
    """
    level = partition.level
    _settle(
        0, 1, np.zeros(2, np.int64), vertices, PASSES, units.scale, units.price, most, level.rows, partition.totals,
        partition.bounds, np.empty(0, np.uint8), *level.tables(1, level.n),
    )  # fmt: skip
    partition.end_round()


@first_plain(rounds=find_gaining)
@njit(**OPTIONS)
def _settle(
    t, threads, taken, vertices, passes, scale, price, most, rows, totals, bounds, flags, all_sums, all_touched
):  # fmt: skip
    """Flag vertices that gain by a move; with ``passes``, one thread moves those of ``vertices`` in turn, so often."""
    n = len(rows[3])
    size = len(vertices) if passes else n
    rows, totals, bounds = pointers(rows), pointers(totals), pointers(bounds)
    vertices, flags, sums, touched = pointers((vertices, flags, all_sums[t], all_touched[t]))
    labels, mass_of, members, _ = totals
    group, salt, balanced, alone = np.int64(-1), np.int64(0), size < 0, threads == 1  # types of the rounds' best_move
    while True:
        first = fetch_add(taken, 0, CHUNK)
        if first >= size:
            passes -= 1
            if passes <= 0 or not taken[1]:
                return
            taken[0] = taken[1] = 0
            continue
        for k in range(first, min(first + CHUNK, size)):
            v = vertices[k] if passes else np.int32(k)
            if stays(v, scale, price, rows, labels, mass_of, bounds):
                continue
            new = best_move(v, scale, price, most, rows, totals, bounds, sums, touched, salt, group, -group, balanced)
            if new == labels[v]:
                continue
            if not passes:
                flags[v], bounds[0][v] = 1, -np.inf
                continue
            if new == ALONE:
                new = empty_label(v, members, n)
            shift(v, new, rows, totals, bounds, alone)
            taken[1] = 1


@njit(**INLINE)
def _first(pieces, v):
    """Return the first vertex of the piece of v so far, and shorten the way to it."""
    parent = np.int64(pieces[v])
    while parent != v:
        grandparent = np.int64(pieces[parent])
        pieces[v] = grandparent
        v, parent = grandparent, np.int64(pieces[grandparent])
    return v


@first_plain
@njit(**OPTIONS)
def _connect(t, threads, gate, taken, offsets, targets, labels, heads, pieces):
    """Join the pieces of the ends of arcs within a community, the later one to the first one.

    First of an arc of each vertex; then of all arcs of those that are not yet in the piece of the vertex that ``heads``
    has for their community, as in Afforest [Sutton, Ben-Nun, Barak 2018].
    """
    n = len(labels)
    offsets, targets, labels, heads, pieces = pointers((offsets, targets, labels, heads, pieces))
    for sampling in (True, False):
        while True:
            first = fetch_add(taken, 1 - sampling, CHUNK)
            if first >= n:
                break
            for v in range(first, min(first + CHUNK, n)):
                if not sampling and _first(pieces, v) == _first(pieces, np.int64(heads[labels[v]])):
                    continue
                for i in range(offsets[v], offsets[v + 1]):
                    u = targets[i]
                    if labels[u] != labels[v]:
                        continue
                    least, most = _first(pieces, np.int64(u)), _first(pieces, v)
                    while least != most:
                        least, most = min(least, most), max(least, most)
                        if replace_if_equal(pieces, most, most, least, threads == 1):
                            break
                        least, most = _first(pieces, least), _first(pieces, most)
                    if sampling:
                        heads[labels[v]] = u
                        break
        barrier(gate, threads)
    for v in range(n * t // threads, n * (t + 1) // threads):
        pieces[v] = _first(pieces, v)


def connected(level: GraphLevel, labels: np.ndarray, team: Team) -> np.ndarray:
    """Return the smallest vertex of the connected piece of each vertex within its community."""
    pieces, heads = np.arange(level.n, dtype=np.int32), np.zeros(level.n, np.int32)
    gate, taken = np.zeros(16, np.int64), np.zeros(2, np.int64)
    team.run(_connect, threads_for(level.n, team), gate, taken, level.offsets, level.targets, labels, heads, pieces)
    return pieces
