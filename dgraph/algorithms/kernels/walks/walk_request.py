"""Request to a solver of random walks, and its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.drawn_sources import numbers_of
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import host_share, refuse_unless_fits
from dgraph.graph.generators.counter import key

ENDED = 2**32 - 1
"""Number in place of a vertex after the end of a walk."""

PURPOSE = 0x77616C6B
"""Purpose of the draws, see ``counter.key``."""


@dataclass(frozen=True)
class WalkRequest:
    """Walks to make. Walk w starts at source w // ``per_source``.

    Attributes:
        sources: original ids; None: all vertices by ascending id.
        per_source: walks from each source.
        length: most steps of a walk.
        weighted: an edge is drawn in proportion to its weight; otherwise all edges of a vertex alike.
        restart: probability of a return to the source, before each step.
        seed: of the draws.
        weights: the weights of the crossed edges are wanted.
    """

    sources: Any
    per_source: int
    length: int
    weighted: bool
    restart: float
    seed: int
    weights: bool

    @property
    def key(self) -> np.uint64:
        """Start of the sequence of draws."""
        return key(self.seed, PURPOSE)

    @property
    def returns(self) -> np.uint64:
        """Draws below it return to the source."""
        return np.uint64(min(int(self.restart * 2.0**64), 2**64 - 1))

    def starts(self, ids: np.ndarray) -> np.ndarray:
        """Return the numbers of the sources, int64; ``ids`` are those of all vertices, ascending.

        Raises:
            UsageError: a source is not a vertex.
        """
        return np.arange(len(ids)) if self.sources is None else numbers_of("sources", self.sources, ids)

    def share(self, sources: int, ctx: Context) -> slice:
        """Return the walks of this rank, and refuse those that its memory cannot hold; collective.

        Raises:
            OutOfMemory: on every rank, if one lacks memory.
        """
        total, ranks = sources * self.per_source, ctx.comm.size
        mine = slice(*(total * rank // ranks for rank in (ctx.comm.rank, ctx.comm.rank + 1)))
        need = (mine.stop - mine.start) * (4 * (self.length + 1) + 8 * self.length * self.weights)
        refuse_unless_fits(ctx.comm, need, host_share(ctx.comm), lambda need, free: (
            f"{total:,} walks of {self.length} steps need {need:,} bytes on a rank, and {free:,} are free; give fewer "
            "sources or walks, or more ranks with memory of their own"
        ))  # fmt: skip
        return mine


@dataclass(frozen=True)
class Walked:
    """Walks of this rank.

    Attributes:
        first: number of its first walk; ``total``: walks of all ranks.
        crossed: edges that its walks crossed.
        vertices: returns original ids, int64 (walks, length + 1), -1 after the end of a walk.
        weights: returns the weights of the crossed edges, float64 (walks, length), NaN where none was crossed; None:
            they were not wanted.
        visits: times that walks of all ranks were at each master, int64, or a function that returns it.
    """

    first: int
    total: int
    crossed: int
    vertices: Callable[[], np.ndarray]
    weights: Callable[[], np.ndarray] | None
    visits: Any
