"""Figures of the weights of all arcs, by which apsp chooses the dtype of distances and looks for negative cycles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.comm import Comm
from dgraph.graph.local import LocalGraph


@dataclass(frozen=True)
class WeightFigures:
    """Figures of weights.

    Attributes:
        integral: True if all weights are integers.
        least: smallest weight of all ranks.
        most: largest absolute weight of all ranks.
    """

    integral: bool
    least: float
    most: float

    def exact_in(self, dtype: str, n: int) -> bool:
        """Return True if every distance between ``n`` vertices is an integer that the dtype represents."""
        return self.integral and n * self.most < 2.0 ** (np.finfo(dtype).nmant + 1)


def weight_figures(local: LocalGraph, comm: Comm) -> WeightFigures:
    """Return the figures; 1 twice if every arc weighs 1; collective."""
    kind = local.out.weight_type
    low, high, _ = local.out.weight_range if kind is not None else (1, 1, 0.0)
    ends = comm.allreduce(np.array([low, -max(abs(float(low)), abs(float(high)))], np.float64), "min")
    return WeightFigures(kind is None or kind.kind == "i", float(ends[0]), -float(ends[1]))
