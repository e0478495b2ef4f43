"""HostEngine: steps of a search for communities on the threads of a rank; ``search_steps.py`` takes them in turn."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.communities.community_totals import Partition
from dgraph.algorithms.communities.graph_level import GraphLevel
from dgraph.algorithms.communities.moves import move
from dgraph.algorithms.communities.refinement import refine
from dgraph.algorithms.communities.serial_moves import connected, gaining, sweep
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cpu.threads.team import Team


def _marked(labels: np.ndarray, bound: int) -> np.ndarray:
    """Return 1 for each label below a bound that a vertex has, 0 for others."""
    marks = np.zeros(bound, np.uint8)
    marks[labels.astype(np.intp)] = 1  # as take, many times as fast as an index of int32
    return marks


class HostEngine:
    """Steps on NumPy arrays: labels are int32 (n,).

    Args:
        units: of the quality.
        most: largest number of the graph's vertices in a community.
        theta: randomness of the refinement.
        team: threads.
        apart: quality of vertices without arcs, which are not in level 0.

    Attributes:
        first: the last partition of level 0.
    """

    move, gaining, refine = move, gaining, refine

    def __init__(self, units: Units, most: int, theta: float | None, team: Team, apart: int):
        self.units, self.most, self.theta, self.team, self.apart = units, most, theta, team, apart
        self.first: Partition | None = None

    def partition(self, level: GraphLevel, labels: np.ndarray) -> Partition:
        """Return labels with their totals."""
        partition = Partition(level, labels)
        if self.first is None or level.n >= self.first.level.n:
            self.first = partition
        return partition

    def copied(self, labels: np.ndarray) -> np.ndarray:
        """Return a copy of labels."""
        return labels.copy()

    def quality(self, level: GraphLevel) -> int:
        """Return the exact quality of communities that are a level's vertices, and of vertices without arcs."""
        return self.units.quality(int(level.loops.sum()), level.mass) + self.apart

    def sweep(self, partition: Partition, active: np.ndarray, count: int, listed: np.ndarray | None) -> np.ndarray:
        """Move ``listed`` vertices and the first ``count`` active ones, in turn; return them, ascending."""
        vertices = np.flatnonzero(active)[:count].astype(np.int32)
        vertices = vertices if listed is None else np.union1d(listed, vertices)
        sweep(partition, self.units, self.most, vertices)
        return vertices

    def take(self, partition: Partition, labels: np.ndarray) -> None:
        """Take labels whose communities are mostly the same, by any names."""
        partition.take(labels)

    def coarse(self, level: GraphLevel, labels: np.ndarray, large: bool = False) -> tuple[GraphLevel, np.ndarray]:
        """Return the level with a vertex for each label, and the vertex of it for each vertex."""
        return level.coarse(labels, self.team)

    def connected(self, level: GraphLevel, labels: np.ndarray, parts: np.ndarray | None = None) -> np.ndarray:
        """Return the smallest vertex of the connected piece of each vertex within its community, and part of it."""
        if parts is not None:
            labels = np.unique(labels.astype(np.int64) * level.n + parts, return_inverse=True)[1].astype(np.int32)
        return connected(level, labels, self.team)

    def alone(self, n: int) -> np.ndarray:
        """Return labels of single vertices."""
        return np.arange(n, dtype=np.int32)

    def count(self, labels: np.ndarray) -> int:
        """Return the number of communities."""
        return int(np.count_nonzero(_marked(labels, len(labels))))

    def within(self, labels: np.ndarray, bound: int) -> np.ndarray:
        """Return labels below a bound as 0, 1, … in their order."""
        return (np.cumsum(_marked(labels, bound), dtype=np.int32) - 1).take(labels)

    def above(self, groups: np.ndarray, labels: np.ndarray, n: int) -> np.ndarray:
        """Return the label of each of n groups, whose vertices have one label."""
        wanted = np.empty(n, np.int32)
        wanted[groups[::-1].astype(np.intp)] = labels[::-1]
        return wanted

    def through(self, labels: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return the label of each vertex's group."""
        return labels.take(groups)

    def changes(self, labels: np.ndarray, others: np.ndarray) -> int:
        """Return the number of vertices with two labels."""
        return int(np.count_nonzero(labels != others))
