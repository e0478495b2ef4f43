"""Graphs of one scale on which ``measures.py`` and its peers call, with the sizes of these calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import dgraph

SMALL = 12
"""Scale up to which NetworkX takes part in every row; beyond in rows of less than a minute, up to ``MIDDLE``."""
MIDDLE = 16

PAIRS = 100_000
SOURCES, ENDS, STEPS = 16, 32, 20
"""Personalisations and nearest sources; sources and targets of betweenness; steps of a walk."""

Task = Callable[[], Any]


@dataclass(frozen=True)
class Measured:
    """R-MAT graphs of one scale on two threads, and what the calls ask of them.

    Attributes:
        scale: log2 of the vertices.
        plain: symmetric, without weights; ``weighted``: with weights 1..255; ``directed``: arcs as drawn; ``acyclic``:
            each edge once, from its smaller to its larger id.
        sources: vertices of the largest component.
    """

    scale: int
    plain: dgraph.Graph
    weighted: dgraph.Graph
    directed: dgraph.Graph
    sources: np.ndarray

    @classmethod
    def load(cls, scale: int) -> Measured:
        """Draw the graphs of a scale."""
        device = dgraph.Cpu(threads=len(os.sched_getaffinity(0)))
        plain, weighted = (
            dgraph.Graph.load(f"rmat:{scale},symmetric", weights=rule, device=device) for rule in ("unit", "1..255")
        )
        directed = dgraph.Graph.load(f"rmat:{scale}", weights="unit", device=device)
        labels = dgraph.run("cc", plain).columns["labels"]
        largest = np.flatnonzero(labels == np.bincount(labels).argmax())
        return cls(scale, plain, weighted, directed, np.random.default_rng(66).choice(largest, 2 * ENDS, replace=False))

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.plain.n

    @cached_property
    def edges(self) -> np.ndarray:
        """Ends of each edge of ``plain`` once, the smaller first, int64 (edges, 2)."""
        ends = np.column_stack(arcs_of(self.plain))
        return ends[ends[:, 0] < ends[:, 1]]

    @cached_property
    def pairs(self) -> np.ndarray:
        """``PAIRS`` pairs of vertices that have a common neighbour, the smaller first, ascending; int64 (pairs, 2)."""
        source, target = arcs_of(self.plain)
        rng, block = np.random.default_rng(66), self.plain.block
        arc = rng.integers(0, len(source), 2 * PAIRS)
        middle = target[arc]
        first, last = block.offsets[middle], block.offsets[middle + 1]
        other = target[(first + rng.random(len(arc)) * (last - first)).astype(np.int64)]
        ends = np.sort(np.column_stack([source[arc], other]), axis=1)
        return np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)[:PAIRS]

    @cached_property
    def reset(self) -> list[int]:
        """Vertices at which walks of personalised PageRank restart."""
        return self.sources[:SOURCES].tolist()

    @cached_property
    def katz_alpha(self) -> float:
        """Factor of Katz centrality: half of the reciprocal of the largest eigenvalue."""
        scores = dgraph.run("eigenvector", self.plain, tol=1e-9, max_iter=1000).columns["eigenvector"]
        source, target = arcs_of(self.plain)
        return 0.5 / float(scores[source] @ scores[target])

    @cached_property
    def center(self) -> int:
        """The source of median degree, around which ego graphs are."""
        degrees = np.diff(self.plain.block.offsets)[self.sources]
        return int(self.sources[np.argsort(degrees)[len(degrees) // 2]])


def arcs_of(graph: dgraph.Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and targets of all arcs, int64."""
    return graph.block.sources().astype(np.int64), graph.block.targets.astype(np.int64)
