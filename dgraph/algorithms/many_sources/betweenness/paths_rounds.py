"""Rounds of :mod:`paths_kernel` that ranks run together, each on the rows of its masters: a batch for each thread.

After a round the host sends the values of a level to ghosts (``dependencies.py``), so a frontier comes with them.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.many_sources.betweenness.paths_kernel import (
    LOGGED,
    backward,
    begin,
    clear,
    clear_all,
    clear_slot,
    forward,
    largest,
    put,
    scale,
)
from dgraph.algorithms.many_sources.frontier import DENSE
from dgraph.algorithms.many_sources.lanes import LANES
from dgraph.backend.cpu.threads.atomics import OPTIONS


@njit(**OPTIONS)
def begin_batch(t, threads, sources, nows, seens, pathses, markses, logs, laneses, levelses):
    """Begin batch ``t``: the log has this rank's sources."""
    place = t * LANES
    clear_all(0, 1, nows[t], seens[t], pathses[t], markses[t])
    levelses[t, 0] = 0
    levelses[t, 1] = begin(sources[place : place + LANES], nows[t, 0], seens[t], pathses[t], logs[t], laneses[t])


@njit(**OPTIONS)
def forward_round(
    t, threads, sources, depth, rows, neighbours, pushed_offsets, pushed, cellses, nows, seens, pathses, sumses,
    markses, buffers, buffer_laneses, logs, laneses, levelses, frontiers, counts, mosts,
):  # fmt: skip
    """Run the forward round that finds level ``depth`` of each batch, from frontiers with ghosts."""
    place = t * LANES
    levels, log, lanes, now, cells, frontier = levelses[t], logs[t], laneses[t], nows[t, 0], cellses[t], frontiers[t]
    full = np.uint8((1 << max(min(LANES, len(sources) - place), 0)) - 1)
    edges, tail = 0, levels[depth]
    for i in range(counts[t]):
        edges += pushed_offsets[frontier[i] + 1] - pushed_offsets[frontier[i]]
    dense = edges > len(pushed) // DENSE
    clear_slot(cells, 0)
    forward(
        1, dense, np.uint32(depth), frontier[: counts[t]], rows, neighbours, pushed_offsets, pushed, full, now,
        nows[t, 1], seens[t], pathses[t], sumses[t], markses[t], buffers[t], buffer_laneses[t], log, lanes, tail, cells,
        0,
    )  # fmt: skip
    levels[depth + 1] = tail + cells[LOGGED]
    clear(0, 1, 0, counts[t], now, frontier)
    put(tail, levels[depth + 1], now, log, lanes)
    mosts[t] = 0.0
    largest(tail, levels[depth + 1], pathses[t], log, lanes, mosts[t])


@njit(**OPTIONS)
def scale_round(t, threads, depth, pathses, logs, laneses, levelses, factorses, mosts, kept):
    """Scale level ``depth`` of each batch by the largest numbers of paths on all ranks."""
    levels = levelses[t]
    first, last = levels[depth], levels[depth + 1]
    kept[t] &= scale(first, last, pathses[t], logs[t], laneses[t], mosts[t], factorses[t, depth])


@njit(**OPTIONS)
def backward_round(
    t, threads, depth, rows, neighbours, cellses, nows, pathses, shares, sumses, logs, laneses, levelses, factorses,
    frontiers, counts,
):  # fmt: skip
    """Compute the dependencies of level ``depth`` of each batch; frontiers hold the later level with its ghosts."""
    levels, log, lanes, now, cells = levelses[t], logs[t], laneses[t], nows[t, 0], cellses[t]
    first, last = levels[depth], levels[depth + 1]
    clear_slot(cells, 0)
    backward(
        1, first, last, rows, neighbours, now, nows[t, 1], pathses[t], shares[t], sumses[t], factorses[t, depth + 1],
        log, lanes, cells, 0,
    )  # fmt: skip
    clear(0, 1, 0, counts[t], now, frontiers[t])
    put(first, last, now, log, lanes)
