"""Searches on the graph as it was loaded, for certificates of answers from many sources."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.validate.distributed_columns import DistributedColumns

AGAIN = 16
"""Sources whose dependencies are computed again."""

NEAR = 1e-9
"""Relative difference of sums that rounding may cause."""


def chosen_sources(distributed: DistributedColumns, parameters: Mapping[str, Any]) -> np.ndarray:
    """Return the gids of the sources, ascending: all, the named ones, or the ``k`` of smallest SplitMix64 hash."""
    gids, k, named = distributed.gids, parameters["k"], parameters.get("sources")
    if named is not None:
        return np.sort(distributed.block.ids.to_gid(np.array(list(named), np.int64), distributed.comm))
    n = int(distributed.starts[-1])
    epsilon = parameters.get("epsilon")
    if epsilon is not None:
        k = 1 + math.ceil(math.log(2 * max(n, 1) / parameters["delta"]) / (2 * epsilon**2))
    if k is None or k >= n:
        return np.arange(n)
    key = distributed.block.ids.to_original(gids, distributed.comm).astype(np.uint64)
    key += np.uint64((parameters["random_state"] + 1) * 0x9E3779B97F4A7C15 & (2**64 - 1))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
    key ^= key >> np.uint64(31)
    few = np.argsort(key)[:k]
    keys, gids = (np.concatenate(distributed.comm.allgatherv(values[few])) for values in (key, gids))
    return np.sort(gids[np.argsort(keys)[:k]])


def row_offsets(rows: np.ndarray, n: int) -> np.ndarray:
    """Return the first place of each of ``n`` rows among ascending ``rows``, and the end: int64 (n + 1,)."""
    return np.searchsorted(rows, np.arange(n + 1))


def places_of(offsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the places of all entries of ``rows``, row after row."""
    counts = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(counts)
    return np.repeat(offsets[rows] - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)


class SearchedArcs:
    """Arcs of this rank's rows without loops and repetitions, with their least weights; every method is collective."""

    def __init__(self, distributed: DistributedColumns):
        self.distributed, block = distributed, distributed.block
        rows, targets = np.repeat(np.arange(block.rows), np.diff(block.offsets)), np.asarray(block.targets)
        kept = rows + block.first != targets
        first = np.ones(len(rows), bool)
        first[1:] = (targets[1:] != targets[:-1]) | (rows[1:] != rows[:-1])
        weights = np.ones(len(rows)) if block.weights is None else block.weights.astype(np.float64)
        weights = np.minimum.reduceat(weights, np.flatnonzero(first)) if len(rows) else weights
        self.weights = weights[kept[first]]
        kept &= first
        self.rows, self.targets = rows[kept], targets[kept].astype(np.int64)
        self.offsets = row_offsets(self.rows, block.rows)
        self.filled = np.flatnonzero(np.diff(self.offsets))
        self.starts = self.offsets[self.filled]
        table = distributed.prover.rows.table
        self._places = table[self.targets] if table.size else self.targets

    @cached_property
    def _entering(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of the arcs in the order of their targets, the distinct targets, and the first arc to each."""
        order = np.argsort(self.targets, kind="stable")
        return self.rows[order], *np.unique(self.targets[order], return_index=True)

    def at_targets(self, column: np.ndarray) -> np.ndarray:
        """Return the values of a column at the targets of all arcs."""
        return self.distributed.prover.rows.extended(column)[self._places]

    def of_reverse(self, values: np.ndarray) -> np.ndarray:
        """Return the value of each arc's reverse, in an undirected graph."""
        (order, source) = (np.lexsort((self.rows, self.targets)), self.rows + self.distributed.block.first)
        rows, ends, came = self.distributed.send(self.targets[order], source[order], values[order])
        return came[np.lexsort((ends, rows))]

    def _begin(self, gids: np.ndarray) -> np.ndarray:
        """Return a column in which vertex ``gids[i]`` has bit i."""
        block, column = self.distributed.block, np.zeros(self.distributed.block.rows, np.uint64)
        here = (gids >= block.first) & (gids < block.first + block.rows)
        column[gids[here] - block.first] = np.uint64(1) << np.flatnonzero(here).astype(np.uint64)
        return column

    def against(self, gids: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield, by distance, the rows from which a shortest path of this length leads to ``gids``, as bits."""
        new = self._begin(gids)
        seen, depth = new.copy(), 0
        while self.distributed.comm.total(int(np.count_nonzero(new))):
            there = self.at_targets(new)
            new = np.zeros_like(seen)
            if len(self.starts):
                new[self.filled] = np.bitwise_or.reduceat(there, self.starts)
            new &= ~seen
            seen |= new
            depth += 1
            yield depth, new

    def by_weights(self, gids: np.ndarray, mine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of the distances to ``gids`` from rows in ``mine``, and how many others reach them.

        Distances are found by Bellman and Ford's rounds against the arcs.
        """
        distributed, far, reached = self.distributed, np.zeros(len(gids)), np.zeros(len(gids), np.int64)
        for i, gid in enumerate(gids.tolist()):
            distance = np.where(distributed.gids == gid, 0.0, np.inf)
            while True:
                there = self.at_targets(distance)
                lower = distance.copy()
                if len(self.starts):
                    least = np.minimum.reduceat(there + self.weights, self.starts)
                    lower[self.filled] = np.minimum(distance[self.filled], least)
                changed = distributed.comm.total(int(not np.array_equal(lower, distance)))
                distance = lower
                if not changed:
                    break
            here = mine & (distance < np.inf) & (distributed.gids != gid)
            far[i], reached[i] = distributed.sum(distance[here]), distributed.comm.total(int(here.sum()))
        return far, reached

    def inner(self, gids: np.ndarray, more: int = 0) -> int:
        """Return the number of inner vertices, and ``more``, of shortest paths from ``gids``, a path a pair."""
        total = sum(
            (depth - 1 + more) * int(np.unpackbits(new[new != 0].view(np.uint8)).sum(dtype=np.int64))
            for depth, new in self.along(gids)
            if depth
        )
        return self.distributed.comm.total(total)

    def along(self, gids: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield, by distance from 0 on, the rows to which a shortest path of it leads from ``gids``, as bits."""
        new = self._begin(gids)
        if not self.distributed.block.directed:
            yield 0, new
            yield from self.against(gids)
            return
        seen, depth = new.copy(), 0
        while self.distributed.comm.total(int(np.count_nonzero(new))):
            yield depth, new
            sources, entered, entries = self._entering
            bits = new[sources]
            bits = np.bitwise_or.reduceat(bits, entries) if len(entries) else bits
            rows, received = self.distributed.send(entered, bits)
            new = np.zeros_like(seen)
            np.bitwise_or.at(new, rows, received)
            new &= ~seen
            seen |= new
            depth += 1
