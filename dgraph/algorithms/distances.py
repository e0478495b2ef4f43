"""Distance columns and their summary (reached vertices, farthest, out-edges), in one pass over a rank's masters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dgraph.engine.rounds.return_state import Reached, State, over_ranks
from dgraph.result.columns import UNREACHED, Column

if TYPE_CHECKING:
    from dgraph.comm import Comm
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
        whole: these three over all ranks, where they are known.
    """

    column: Column
    reached: int
    farthest: float
    arcs: int
    whole: Reached | None = None

    def over_ranks(self, comm: Comm) -> Reached:
        """Reduce ``reached``, ``farthest`` and ``arcs`` over all ranks; collective."""
        if comm.size == 1:
            return int(self.reached), self.farthest, int(self.arcs)
        if self.whole is not None:
            return self.whole
        kind = np.float64 if type(self.farthest) is float else np.int64
        farthest = np.array([self.farthest], kind).view(np.int64)[0]
        return over_ranks(comm.allgather(np.array([self.reached, self.arcs, farthest])), kind)[1]


def summarize(state: State, name: str, local: LocalGraph) -> DistanceColumn:
    """Return the distances in field ``name`` of a program's final state."""
    return begin_summary(state, name, local)()


def begin_summary(state: State, name: str, local: LocalGraph, counted: bool = False) -> Callable[[], DistanceColumn]:
    """Begin to :func:`summarize`; return the function that waits, which may be called again.

    ``counted``: the field holds levels, which the rounds may have counted.

    Until the last call the field must not change, nor may other figures of a GPU's field be asked for.
    """
    if counted and (levels := state.levels):
        return lambda: DistanceColumn(state.column(name, widened), *levels)
    if state.summary:
        mine, whole = state.summary
        return lambda: DistanceColumn(state.column(name, widened), *mine, whole)
    figures = state.begin_reached(name, local)
    return lambda: DistanceColumn(state.column(name, widened), *figures())


def widened(values: np.ndarray) -> np.ndarray:
    """Return a column of distances: integers as int64, with ``UNREACHED`` for the dtype's largest value."""
    if values.dtype.kind == "f":
        return values
    largest = np.iinfo(values.dtype).max
    column = np.multiply(values == largest, UNREACHED - largest, dtype=np.int64)  # six times as fast as a masked store
    column += values
    return column
