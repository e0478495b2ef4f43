"""Distances as users get them, and what is said of them, in one pass over a rank's masters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dgraph.result.columns import UNREACHED, Column

if TYPE_CHECKING:
    from dgraph.comm import Comm
    from dgraph.engine.rounds.driver import State
    from dgraph.graph.local import LocalGraph


@dataclass(frozen=True)
class Distances:
    """This rank's distances.

    Attributes:
        column: shape (masters,); integers as int64, ``UNREACHED`` where there is no path; floats as they were. Or what
            makes it.
        reached: vertices with a path.
        farthest: the largest distance among them; 0 if there are none.
        arcs: edges that leave them, in the whole graph.
    """

    column: Column
    reached: int
    farthest: float
    arcs: int

    def of_all(self, comm: Comm) -> tuple[int, float, int]:
        """``reached``, ``farthest`` and ``arcs`` of all ranks; collective."""
        kind = type(self.farthest)
        farthest = np.array([self.farthest], np.float64 if kind is float else np.int64)
        told = comm.allgather(np.array([self.reached, farthest.view(np.int64)[0], self.arcs]))
        farthest = np.ascontiguousarray(told[:, 1]).view(farthest.dtype)
        return int(told[:, 0].sum()), farthest.max().item(), int(told[:, 2].sum())


def measured(state: State, name: str, local: LocalGraph) -> Distances:
    """Of a field that a program left: where a GPU has it, it need not come to the host for this."""
    known = state.counted("reached", name)
    if known is None:
        return distances(state[name], local.out_degree)
    return Distances(lambda: widened(state[name]), *known)


def widened(values: np.ndarray) -> np.ndarray:
    """The column of :func:`distances`, for which nothing has to be counted any more."""
    if values.dtype.kind == "f":
        return values
    column = values.astype(np.int64)
    column[values == np.iinfo(values.dtype).max] = UNREACHED
    return column


def distances(values: np.ndarray, out_degree: np.ndarray) -> Distances:
    """Of ``values`` (masters,), whose dtype's largest value, or infinity, means that there is no path.

    Args:
        out_degree: int64 (masters,), in the whole graph.
    """
    from dgraph.algorithms.distance_kernels import finite, widen  # loads the compiler

    if values.dtype.kind == "f":
        return Distances(values, *finite(values, out_degree))
    column = np.empty(len(values), np.int64)
    return Distances(column, *widen(values, np.iinfo(values.dtype).max, out_degree, column))
