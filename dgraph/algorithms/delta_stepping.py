"""Near-far Δ-stepping [Meyer & Sanders 2003; Davidson et al., IPDPS 2014] as programs.

:class:`Distances` relaxes the vertices of the current bucket and keeps farther ones waiting. The others stop at a
cutoff, or start from the distances of a graph to which edges were added.
"""

from __future__ import annotations

from dgraph.program import INF, MIN, Field, Program, where


class Distances(Program):
    """Δ-stepping: relax the edges of vertices whose distance fell, one bucket after the other.

    Attributes:
        source: original id.
        delta: width of a bucket, in units of the weights.
        dist: distance; INF without a path.
    """

    source: int = 0
    delta: float = 1.0

    dist = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Start at the source."""
        here = v.id == self.source
        return {"dist": where(here, 0, INF), "active": here}

    def edge(self, u, e, v):
        """Relax the edge."""
        return {"dist": u.dist + e.weight}

    def priority(self, v):
        """Return the bucket of the distance."""
        return v.dist / self.delta


class DataDriven(Distances):
    """Relax in place the edges of all vertices whose distance fell in the last round, without buckets [paper 000]."""

    priority = None  # type: ignore[assignment]


class LimitedDistances(Distances):
    """Δ-stepping up to a distance.

    Attributes:
        cutoff: largest distance to find.
    """

    cutoff: float = 0.0

    def edge(self, u, e, v):
        """Relax the edge if the new distance is within the cutoff."""
        dist = u.dist + e.weight
        return {"dist": where(dist <= self.cutoff, dist, INF)}


class Closer:
    """Fields and first frontier of a search from the distances of a graph to which edges were added.

    Attributes:
        touched: given: True if an added edge leaves the vertex.
    """

    dist = Field("int64", reduce=MIN, given=True)
    touched = Field("bool", given=True)

    def init(self, v, g):
        """Activate the reached sources of added edges."""
        return {"active": v.touched & (v.dist != INF)}


class CloserDistances(Closer, Distances):
    """Δ-stepping from earlier distances."""


class CloserLimitedDistances(Closer, LimitedDistances):
    """Δ-stepping from earlier distances up to a cutoff."""
