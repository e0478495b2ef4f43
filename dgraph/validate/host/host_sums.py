"""Sums over the arcs of CPU ranks: of what arrives at each row along arcs, and of what its arcs lead to."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.validate import answer_kernels
from dgraph.validate.host.host_rows import HostRows, local


def arriving(rows: HostRows, share: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the sums of shares that reach each row, times the arcs' ``weights`` (empty: times 1); collective.

    Threads add to vectors of their own, as many as take no more memory than the rows' targets.
    """
    block = rows.block
    threads = max(1, min(rows.threads, block.targets.nbytes // (8 * max(rows.size, 1))))
    free = [np.zeros(rows.size) for _ in range(threads)]

    def work(_: int, low: int, high: int) -> None:
        inflow = free.pop()
        graph = block.offsets, block.targets, weights, rows.table
        answer_kernels.flow(low, high, *graph, share, inflow)
        free.append(inflow)

    rows.run(work, threads)
    inflow = free.pop()
    for more in free:
        inflow += more
    return rows.returned(inflow, np.add)


def departing(rows: HostRows, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the sums of the values of each row's targets, times the arcs' ``weights`` (empty: times 1); collective."""
    block, extended, sums = rows.block, rows.extended(values), np.zeros(rows.block.rows)
    graph = block.offsets, block.targets, weights, rows.table
    rows.run(lambda _, low, high: _sum_targets(low, high, *graph, extended, sums))
    return sums


@njit(cache=True, nogil=True)
def _sum_targets(low, high, offsets, targets, weights, table, values, sums):
    for row in range(low, high):
        total = 0.0
        for i in range(offsets[row], offsets[row + 1]):
            x = values[local(targets[i], table)]
            total += x * weights[i] if weights.size else x
        sums[row] = total
