"""Iterations of PageRank on CPU threads for its certificate: one more, or all of them again."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.validate import answer_kernels
from dgraph.validate.host.host_rows import HostRows
from dgraph.validate.host.host_sums import arriving


class HostRanks:
    """Claimed ranks, and a vector that is iterated, by row.

    Attributes:
        mass: violations and first gid of ranks that are not shares.
        chances: violations and first arc of weights that are negative.
        total: sum of the ranks.
        most_arriving: largest in-degree; 0 if the precision needs none.
    """

    def __init__(self, distributed: Any, rows: HostRows, claimed: np.ndarray, alpha: float, jump: Any, single: bool):
        self._distributed, self._rows, self._claimed, self._alpha = distributed, rows, claimed, alpha
        block = self._block = rows.block
        self._jump = self._sinks = np.float64(1 / block.n) if jump is None else jump
        bad = ~(claimed >= 0) | (claimed > 2)
        hits = int(np.count_nonzero(bad))
        self.mass = hits, block.first + int(np.argmax(bad)) if hits else -1
        self.total = distributed.sum(claimed)
        self.chances: tuple[int, Any] = (0, -1)
        self._weights = np.zeros(0) if block.weights is None else block.weights
        self._leaving = np.diff(block.offsets)
        if block.weights is not None:
            self._leaving = np.zeros(block.rows)
            self.chances = rows.count(("chances",), self._add_weights)["chances"]
        self._arriving: Any = 0
        self.most_arriving = 0
        if single:
            self._arriving = arriving(rows, np.ones(block.rows), np.zeros(0))
            self.most_arriving = distributed.comm.allgather(np.array([self._arriving.max(initial=0)])).max()
        self._vector = claimed

    def _add_weights(self, low: int, high: int, violations: np.ndarray) -> None:
        block = self._block
        answer_kernels.sum_weights(low, high, violations, block.offsets, block.targets, block.weights, self._leaving)

    def start(self, uniform: bool) -> None:
        """Set the vector to 1 / n each, or to the claimed ranks."""
        self._vector = np.full(self._block.rows, 1 / self._block.n) if uniform else self._claimed

    def change_from(self, sinks: np.ndarray | None, first: np.ndarray | None) -> None:
        """Set the shares of the rank of sinks where they are not those of jumps, and the vector to start from."""
        self._sinks = self._jump if sinks is None else sinks
        self._vector = self._vector if first is None else first

    def iterate(self) -> float:
        """Iterate the vector once; return ``missed``, the bound of a run's rounding error in units of its precision."""
        leaving, distributed = self._leaving, self._distributed
        share = np.divide(self._vector, leaving, out=np.zeros_like(self._vector), where=leaving > 0)
        inflow = arriving(self._rows, share, self._weights)
        lost = distributed.sum(self._vector[leaving == 0])
        missed = 2 + distributed.sum((self._arriving + 2 + (self._block.weights is not None)) * inflow)
        self._vector = (1 - self._alpha) * self._jump + self._alpha * (inflow + lost * self._sinks)
        return missed

    def change(self) -> float:
        """Return the L1 distance of the vector from the claimed ranks."""
        return self._distributed.sum(np.abs(self._claimed - self._vector))

    def worst(self) -> tuple[int, np.generic, np.generic]:
        """Return this rank's smallest gid where the two differ most of all ranks, or -1, and both values."""
        apart = np.abs(self._claimed - self._vector)
        most = self._distributed.comm.allgather(np.array([apart.max(initial=-1)])).max()
        worst = np.flatnonzero(apart == most)[:1]
        if not worst.size:
            return -1, np.float64(0), np.float64(0)
        return self._block.first + int(worst[0]), self._claimed[worst[0]], self._vector[worst[0]]
