"""This rank's rows for the provers of the CPU: ranges of rows for threads, and values of targets on other ranks.

Columns are *extended*: values of this rank's rows, then those of its ghosts, the targets on other ranks in ascending
order. A kernel finds the target ``v`` at ``table[v]``; on one rank, which has no table, at ``v``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm.hosts import ranks_here
from dgraph.graph.build.clean_kernels import clear
from partitioning.arrays.lazy_numba import machine_code

PIECES = 8
"""Ranges of rows a thread, so that threads end at about the same time."""

LEAST = 1 << 16
"""Fewest arcs and rows of a range."""


class HostRows:
    """Rows of this rank.

    Attributes:
        block: the rows.
        threads: threads that work on them.
        bounds: where the ranges of rows begin and end.
    """

    def __init__(self, distributed: Any, threads: int | None = None):
        self.block, self.comm = distributed.block, distributed.comm
        block, comm = self.block, self.comm
        self.threads = threads or default_threads(comm)
        self._starts = distributed.starts
        self._ghosts_elsewhere: list[np.ndarray] = []
        pieces = max(1, min(PIECES * self.threads, (len(block.targets) + block.rows) // LEAST))
        work = np.linspace(0, len(block.targets) + block.rows, pieces + 1).astype(np.int64)
        self.bounds = np.searchsorted(block.offsets + np.arange(block.rows + 1), work)
        self.bounds[-1] = block.rows

    @cached_property
    def ghosts(self) -> np.ndarray:
        """Gids of targets on other ranks, ascending."""
        block = self.block
        if self.comm.size == 1:
            return np.zeros(0, np.int64)
        others = np.ones(block.n, np.bool_)
        with machine_code(block.targets.size > LEAST):  # NumPy takes half of a short certificate
            clear(block.targets, 0, others)
        others[block.first : block.first + block.rows] = True
        return np.flatnonzero(~others)

    @cached_property
    def size(self) -> int:
        """Length of an extended column."""
        return self.block.rows + self.ghosts.size

    @cached_property
    def table(self) -> np.ndarray:
        """Position of each row and ghost in an extended column, by gid; empty on one rank."""
        block = self.block
        table = np.zeros(block.n if self.comm.size > 1 else 0, np.int64 if self.size >= 1 << 32 else np.uint32)
        if table.size:
            table[block.first : block.first + block.rows] = np.arange(block.rows)
            table[self.ghosts] = np.arange(block.rows, self.size)
        return table

    def _requested(self) -> list[np.ndarray]:
        """Return the rows of this rank that are ghosts of each rank; collective."""
        if not self._ghosts_elsewhere:  # no cached property, whose lock would be that of all ranks of one process
            requests = self.comm.alltoallv(self._by_owner(self.ghosts))
            self._ghosts_elsewhere = [gids - self.block.first for gids in requests]
        return self._ghosts_elsewhere

    def _by_owner(self, values: np.ndarray) -> list[np.ndarray]:
        """Split values of ghosts by the ranks that own these."""
        return np.split(values, np.searchsorted(self.ghosts, self._starts[1:-1]))

    def extended(self, column: np.ndarray) -> np.ndarray:
        """Return a column with the values of ghosts behind it; collective."""
        if self.comm.size == 1:
            return column
        parts = self.comm.alltoallv([column[rows] for rows in self._requested()])
        return np.concatenate([column, *parts])

    def by_gid(self, column: np.ndarray) -> np.ndarray:
        """Return a column of all vertices, in which this rank's rows and ghosts have their values; collective."""
        if self.comm.size == 1:
            return column
        if column.itemsize == 1:  # the marks that find ghosts are as many bytes
            return np.concatenate(self.comm.allgatherv(column))
        whole, block = np.zeros(self.block.n, column.dtype), self.block
        whole[block.first : block.first + block.rows] = column
        whole[self.ghosts] = self.extended(column)[block.rows :]
        return whole

    def returned(self, extended: np.ndarray, combine: Any) -> np.ndarray:
        """Return a column to which the values of ghosts were combined at their owners (``np.add``); collective."""
        column = extended[: self.block.rows]
        if self.comm.size == 1:
            return column
        for rows, values in self.sent_back(extended[self.block.rows :]):
            column[rows] = combine(column[rows], values)  # a peer's rows are distinct
        return column

    def sent_back(self, behind: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows of this rank, and the values that a peer has for them; ``behind``: of ghosts; collective."""
        yield from zip(self._requested(), self.comm.alltoallv(self._by_owner(behind)), strict=True)

    def one_a_thread(self) -> np.ndarray:
        """Return bounds of one range of rows a thread."""
        pieces = len(self.bounds) - 1
        return self.bounds[np.linspace(0, pieces, min(self.threads, pieces) + 1).astype(np.int64)]

    def run(
        self, work: Callable[[int, int, int], Any], threads: int | None = None, bounds: np.ndarray | None = None
    ) -> list[Any]:
        """Call ``work(number, low, high)`` for each range of rows, by several threads; return the results in order."""
        ends = (self.bounds if bounds is None else bounds).tolist()
        calls = list(zip(range(len(ends) - 1), ends[:-1], ends[1:], strict=True))
        threads = min(threads or self.threads, len(calls))
        if threads == 1:
            return [work(*call) for call in calls]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda call: work(*call), calls))

    def count(self, rules: tuple[str, ...], work: Callable[[int, int, np.ndarray], None]) -> dict[str, Any]:
        """Call ``work(low, high, violations)`` for each range, and return each rule's violations and the first place.

        ``violations`` is int64 (rules, 3), zeros: violations, and the first one's row and target (-1 at a vertex).
        """
        violations = np.zeros((len(self.bounds) - 1, len(rules), 3), np.int64)
        self.run(lambda number, low, high: work(low, high, violations[number]))
        return {rule: self._first(violations[:, number]) for number, rule in enumerate(rules)}

    def _first(self, violations: np.ndarray) -> tuple[int, Any]:
        total = int(violations[:, 0].sum())
        if not total:
            return 0, -1
        row, target = violations[int(np.argmax(violations[:, 0] > 0)), 1:].tolist()
        gid = self.block.first + row
        return total, gid if target < 0 else (gid, target)


def default_threads(comm: Any) -> int:
    """Return the cores that this process may use, its share of them if ranks of one host may use the same ones."""
    cores = len(os.sched_getaffinity(0))
    return max(cores // len(ranks_here(comm)), 1) if cores == os.cpu_count() else cores


@njit(inline="always")
def violated(violations, rule, row, target):
    """Count a violation of a rule, and keep the first one of this range."""
    if violations[rule, 0] == 0:
        violations[rule, 1], violations[rule, 2] = row, target
    violations[rule, 0] += 1


@njit(inline="always")
def local(v, table):
    """Return the position of target ``v`` in an extended column."""
    return np.int64(table[v]) if table.size else np.int64(v)
