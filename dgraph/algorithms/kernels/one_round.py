"""Base of machines whose hand-written kernels finish a program in one round on a rank that holds the whole graph."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from dgraph.backend.interface import Machine


class OneRound(Machine):
    """Machine whose one fused round solves the program; a program on one has no globals.

    Attributes:
        active, edges: this rank's active vertices and their edges, for the totals.
    """

    done, started = False, True
    round = total_active = total_edges = 0
    active: int
    edges: int

    @abstractmethod
    def solve(self) -> None:
        """Run the program to its end on the whole graph."""

    def fused(self, limit: int) -> int:
        """Run the one round."""
        self._ring = np.array([[self.active, self.edges, self.direction == "pull"]], np.int64)
        self.solve()
        self.round, self.done = self.round + 1, True
        return 1

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return this rank's active vertices and edges; there are no sums."""
        return np.array([self.active, self.edges], np.int64), np.empty(0)

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Apply the totals of all ranks; a round that leaves no vertex active is the last one."""
        self.round += not starting
        self._ring = np.array([[self.total_active, self.total_edges, int(self.direction == "pull")]], np.int64)
        self.total_active, self.total_edges = integers.tolist()
        self.done = not starting and self.total_active == 0

    def globals(self) -> dict[str, int | float]:
        """Return no globals."""
        return {}

    def figures(self, first: int) -> np.ndarray:
        """Return vertices, edges and direction of the last round; int64 (1, 3)."""
        return self._ring
