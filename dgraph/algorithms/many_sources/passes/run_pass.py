"""Runs of one algorithm that differ in their sources, as one pass on one rank's CPU: each gets its own answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, check_source
from dgraph.algorithms.distances import widened
from dgraph.algorithms.many_sources.passes.pass_limits import most_together
from dgraph.algorithms.vertex_values import lids_of
from dgraph.backend.row_solver import RowSolver
from dgraph.engine.rounds.context import Context

NONE = np.iinfo(np.uint32).max
"""Parent of a vertex without one."""

Searched = tuple[np.ndarray, np.ndarray, list[tuple[dict[str, Any], int | None, int]]]
"""Distances and parents (lanes, n), and for each run its summary, the edges that it traversed, and its rounds."""


class RunPass(RowSolver):
    """Solver of runs in one pass; a pass takes the calling thread alone.

    Attributes:
        kind: class of the runs.
    """

    kind: type[Algorithm]

    def shares(self, works: Sequence[Algorithm], ctx: Context) -> bool:
        """Return True if the runs can be one pass: equal but for their sources, on one rank, rows sorted by id."""
        if not all(isinstance(work, self.kind) for work in works) or len(works) > most_together(ctx.local.n):
            return False
        settings, *others = [work.settings() | {"source": None} for work in works]
        alike = all(other == settings for other in others) and self.suits(settings, ctx)
        return alike and ctx.comm.size == 1 and bool(ctx.local.ascending)

    def solve(self, ctx: Context, works: Sequence[Algorithm]) -> list[tuple[Answer, int]]:
        """Run the searches in one pass; return their answers, and the rounds that each is said to have taken.

        Raises:
            UsageError: a source is not a vertex.
            Cancelled: the pass was cancelled between two of its parts.
        """
        settings, local = works[0].settings(), ctx.local
        sources = [check_source(ctx, work.settings()["source"], work.name) for work in works]
        distances, parents, runs = self.searched(ctx, settings, lids_of(local, np.array(sources, np.int64)))
        answers = []
        for lane, (source, (summary, arcs, rounds)) in enumerate(zip(sources, runs, strict=True)):
            columns: dict[str, Callable[[], np.ndarray]] = {"distance": partial(widened, distances[lane])}
            if settings["return_predecessors"]:
                columns["predecessor"] = partial(_ids_of, parents[lane], local.original)
            answers.append((Answer(columns, {"source": source} | summary, arcs=arcs), rounds))
        return answers

    @abstractmethod
    def suits(self, settings: dict[str, Any], ctx: Context) -> bool:
        """Return True if runs of these settings can be one pass on this graph."""

    @abstractmethod
    def searched(self, ctx: Context, settings: dict[str, Any], lids: np.ndarray) -> Searched:
        """Search from vertices."""


def _ids_of(lids: np.ndarray, original: np.ndarray) -> np.ndarray:
    """Return the original ids of vertices, int64; -1 for ``NONE``."""
    none = lids == NONE
    ids = original[np.where(none, 0, lids)]
    ids[none] = -1
    return ids
