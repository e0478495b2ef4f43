"""Distance columns and their summary (reached vertices, farthest, out-edges), in one pass over a rank's masters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dgraph.result.columns import UNREACHED, Column

if TYPE_CHECKING:
    from dgraph.comm import Comm
    from dgraph.engine.rounds.return_state import State
    from dgraph.graph.local import LocalGraph


@dataclass(frozen=True)
class DistanceColumn:
    """This rank's distances and their summary.

    Attributes:
        column: array of shape (masters,), or a function that returns it. Integers are int64, with ``UNREACHED`` for
            vertices without a path; floats keep their dtype.
        reached: vertices with a path.
        farthest: their largest distance; 0 if there are none.
        arcs: sum of their out-degrees in the whole graph.
    """

    column: Column
    reached: int
    farthest: float
    arcs: int

    def over_ranks(self, comm: Comm) -> tuple[int, float, int]:
        """Reduce ``reached``, ``farthest`` and ``arcs`` over all ranks; collective."""
        if comm.size == 1:
            return int(self.reached), self.farthest, int(self.arcs)
        kind = type(self.farthest)
        farthest = np.array([self.farthest], np.float64 if kind is float else np.int64)
        parts = comm.allgather(np.array([self.reached, farthest.view(np.int64)[0], self.arcs]))
        reached, _, arcs = zip(*parts.tolist(), strict=True)
        return sum(reached), max(parts[:, 1].copy().view(farthest.dtype).tolist()), sum(arcs)


def summarize(state: State, name: str, local: LocalGraph) -> DistanceColumn:
    """Return the distances in field ``name`` of a program's final state."""
    return DistanceColumn(state.column(name, widened), *state.reached(name, local))


def begin_summary(state: State, local: LocalGraph, counted: bool) -> Callable[[], DistanceColumn]:
    """Begin to :func:`summarize` levels; return the function that waits, which may be called again.

    ``counted``: the rounds may have counted them.

    Until the last call the field must not change, nor may other figures of a GPU's field be asked for.
    """
    if counted and (levels := state.levels):
        return lambda: DistanceColumn(state.column("level", widened), *levels)
    figures = state.begin_reached("level", local)
    return lambda: DistanceColumn(state.column("level", widened), *figures())


def widened(values: np.ndarray) -> np.ndarray:
    """Return a column of distances: integers as int64, with ``UNREACHED`` for the dtype's largest value."""
    if values.dtype.kind == "f":
        return values
    largest = np.iinfo(values.dtype).max
    column = np.multiply(values == largest, UNREACHED - largest, dtype=np.int64)  # six times as fast as a masked store
    column += values
    return column
