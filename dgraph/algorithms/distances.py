"""Distance columns and their summary (reached vertices, farthest, out-edges), in one pass over a rank's masters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dgraph.result.columns import UNREACHED, Column

if TYPE_CHECKING:
    from dgraph.comm import Comm
    from dgraph.engine.rounds.return_state import State
    from dgraph.graph.local import LocalGraph


@dataclass(frozen=True)
class Distances:
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
        kind = type(self.farthest)
        farthest = np.array([self.farthest], np.float64 if kind is float else np.int64)
        parts = comm.allgather(np.array([self.reached, farthest.view(np.int64)[0], self.arcs]))
        farthest = np.ascontiguousarray(parts[:, 1]).view(farthest.dtype)
        return int(parts[:, 0].sum()), farthest.max().item(), int(parts[:, 2].sum())


def summarize(state: State, name: str, local: LocalGraph) -> Distances:
    """Return the distances in field ``name`` of a program's final state; a GPU computes the summary in place."""
    known = state.counted("reached", name)
    if known is None:
        return distances(state[name], local.out_degree)
    return Distances(state.column(name, widened), *known)


def widened(values: np.ndarray) -> np.ndarray:
    """Return the column of :func:`distances` without the summary."""
    if values.dtype.kind == "f":
        return values
    column = values.astype(np.int64)
    column[values == np.iinfo(values.dtype).max] = UNREACHED
    return column


def distances(values: np.ndarray, out_degree: np.ndarray) -> Distances:
    """Convert ``values`` to a column and summarise them.

    Args:
        values: shape (masters,); the dtype's largest value, or infinity, marks a vertex without a path.
        out_degree: int64 (masters,), in the whole graph.
    """
    from dgraph.algorithms.distance_kernels import finite, widen  # loads the compiler

    if values.dtype.kind == "f":
        return Distances(values, *finite(values, out_degree))
    column = np.empty(len(values), np.int64)
    return Distances(column, *widen(values, np.iinfo(values.dtype).max, out_degree, column))
