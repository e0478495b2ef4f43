"""Error of betweenness that is estimated from drawn sources.

Theorem [Hoeffding 1963, for draws without replacement in section 6; Brandes & Pich 2007, section 3.1]. The dependency
of a source on v, divided by its largest possible value, lies in [0, 1]. The mean of k drawn ones differs from the mean
of all by ε or more with probability at most 2 exp(-2 k ε²); for some of n values, with n times that. So n values are
all within ε = sqrt(ln(2 n / δ) / 2 k) with probability 1 - δ. A drawn source takes part in k - 1 searches.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Parameter
from dgraph.algorithms.many_sources.drawn_sources import RANDOM_STATE, K, check_sources, sources_of
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError

EPSILON = Parameter("epsilon", float, None, "in place of k: largest error of a normalized value")
DELTA = Parameter("delta", float, 0.1, "probability that some value has a larger error than is stated")
SOURCES = Parameter("sources", "vertices", None, "sources of an estimate, in place of drawn ones", weights=False)
WEIGHTED = Parameter("weighted", bool, False, "paths are shortest by the weights of edges, which must be above 0")
NORMALIZED = Parameter("normalized", bool, True, "divide by the number of pairs of other vertices")
PARAMETERS = (K, RANDOM_STATE, SOURCES, EPSILON, DELTA, WEIGHTED, NORMALIZED)
"""Parameters of betweenness: the first five choose sources."""


@dataclass(frozen=True)
class Sample:
    """Sources of betweenness.

    Attributes:
        sources: original ids, ascending.
        bound: largest error of a normalized value with probability 1 - delta; None for all or named sources.
    """

    sources: np.ndarray
    bound: float | None

    def facts(self, factor: float) -> dict[str, Any]:
        """Return figures of the summary; ``factor`` turns a normalized value into one of the column."""
        bound = {} if self.bound is None else {"error_bound": self.bound * factor}
        return {"sources": len(self.sources)} | bound


class Betweenness(Algorithm):
    """Base of betweenness of vertices and of edges, with :data:`PARAMETERS`.

    Attributes:
        of_arcs: True if dependencies are summed for each arc, too.
    """

    k: int | None
    random_state: int
    sources: Any
    epsilon: float | None
    delta: float
    weighted: bool  # type: ignore[misc]
    normalized: bool
    endpoints: bool = False
    targets: Any = None
    of_arcs = False

    def check(self) -> None:
        """Refuse sources that are chosen twice, or by values without a meaning."""
        chosen = [name for name in ("k", "sources", "epsilon") if getattr(self, name) is not None]
        if len(chosen) > 1:
            raise UsageError(
                f"{' and '.join(chosen)} each choose the sources (k and epsilon draw them, sources names them); leave "
                "one of the two out"
            )
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise UsageError(f"{name} = {value!r} of {self.name} is not between 0 and 1; give a value such as 0.05")

    def sample(self, ctx: Context) -> Sample:
        """Return the sources; collective."""
        n, k = ctx.local.n, self.k
        if self.sources is not None:
            return Sample(np.sort(check_sources(ctx, self.sources, self.name)), None)
        if self.epsilon is not None:
            squared = max(self.epsilon**2, sys.float_info.min)  # 0 where epsilon is below 1e-162
            k = min(n, 1 + math.ceil(min(n, math.log(2 * max(n, 1) / self.delta) / (2 * squared))))
        sources = sources_of(ctx, None if k == n else k, self.random_state)
        return Sample(sources, error_bound(n, len(sources), self.delta) if len(sources) < n else None)


def error_bound(n: int, k: int, delta: float) -> float:
    """Return the largest error of n normalized values from k of n sources, with probability 1 - delta."""
    return 1.0 if k < 2 else min(1.0, math.sqrt(math.log(2 * n / delta) / (2 * (k - 1))))
