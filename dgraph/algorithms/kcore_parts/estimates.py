"""Core numbers by a row reducer: H-indexes of the neighbours' estimates."""

from __future__ import annotations

from dgraph.program import HINDEX, Field, Program, minimum


class Estimates(Program):
    """Core numbers by H-index estimates, which start from degrees and fall to the fixed point [Montresor et al. 2013].

    An estimate k stands once the vertex has k neighbours whose estimates are k or more.

    Attributes:
        most: bound of the estimates: those of the members of one k-core need not be above k.
        core: estimate.
        found: the largest h up to the estimate such that h neighbours have estimates of h or more.
    """

    most: int = 2**62
    directions, ceiling = ("pull",), "core"

    core = Field("int64")
    found = Field("int64", reduce=HINDEX)

    def init(self, v, g):
        """Start from the degree."""
        return {"core": minimum(v.out_degree, self.most), "active": v.out_degree > 0}

    def edge(self, u, e, v):
        """Give the neighbour's estimate."""
        return {"found": u.core}

    def apply(self, v, g):
        """Lower the estimate."""
        return {"core": v.found, "active": v.found < v.core}
