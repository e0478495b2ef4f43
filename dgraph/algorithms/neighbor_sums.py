"""Programs of one round that add up the values of neighbours, times the weights of the edges between."""

from __future__ import annotations

from dgraph.algorithms.base import OnePass
from dgraph.program import ADD, ALL, Field


class InSums(OnePass):
    """Sum of the values of in-neighbours, times the weights of their edges.

    Attributes:
        score: given: value of each vertex.
        sum: sum over in-edges.
    """

    domain = ALL

    score = Field("float64", given=True)
    sum = Field("float64", reduce=ADD)

    def init(self, v, g):
        """Initialise nothing."""
        return {"sum": 0.0}

    def edge(self, u, e, v):
        """Add the value of the source."""
        return {"sum": u.score * e.weight}


class OutSums(InSums):
    """Sum of the values of out-neighbours, times the weights of their edges."""

    reverse = True
