"""Near-far Δ-stepping [Meyer & Sanders 2003; Davidson et al., IPDPS 2014] as programs.

:class:`Distances` relaxes the vertices of the current bucket and keeps farther ones waiting. The others stop at a
cutoff, or start from the distances of a graph to which edges were added.
"""

from __future__ import annotations

from dgraph.program import ADD, INF, MIN, Field, Global, Program, minimum, where

FARTHEST_BUCKET, EXACT = 2.0**62, 1 << 52
"""Bucket of a target without a distance, and the largest bucket that compares exactly with a quotient of floats."""


class Distances(Program):
    """Δ-stepping: relax the edges of vertices whose distance fell, one bucket after the other.

    Attributes:
        source: original id.
        delta: width of a bucket, in units of the weights.
        dist: distance; INF without a path.
    """

    source: int = 0
    delta: float = 1.0

    end_figure = "reached", "dist"

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


class ToTarget:
    """End of a search with the bucket of a target.

    Until that bucket opens, the rounds are those of the whole search. From then on vertices of farther buckets, which
    no shortest path to the target passes, stay inactive. So no edge is read that the whole search does not read.

    Attributes:
        target: original id.
        lowered: 1 in a round that lowered the distance of the target.
        bucket_there: its bucket in that round.
        goal: its bucket; :data:`FARTHEST_BUCKET` before it is reached.
        opened: highest bucket opened by the end of the last round.
    """

    target: int = 0

    lowered = Global("int64", reduce=ADD)
    bucket_there = Global("int64", reduce=ADD)
    goal = Global("int64", init=int(FARTHEST_BUCKET))
    opened = Global("int64")

    def apply(self, v, g):
        """Send vertices whose distance fell to their buckets, up to that of the target, and note the target's."""
        is_target, bucket = v.id == self.target, v.dist / self.delta
        there = minimum(where(is_target, bucket, 0.0), FARTHEST_BUCKET)
        return {"active": (bucket < g.goal + 1) | (g.goal > EXACT), "lowered": is_target, "bucket_there": there}

    def step(self, g):
        """End when a bucket opens after that of the target, or when the frontier is empty."""
        goal = where(g.lowered > 0, g.bucket_there, g.goal)
        settled = (g.bucket > g.opened) & (goal <= g.opened)
        return {"done": (g.active == 0) | settled, "goal": goal, "opened": g.bucket}


class DistancesToTarget(ToTarget, Distances):
    """Δ-stepping up to the bucket of a target."""


class LimitedDistancesToTarget(ToTarget, LimitedDistances):
    """Δ-stepping up to the bucket of a target, or up to a cutoff."""


class NearestDistances(Distances):
    """Δ-stepping from several vertices: distances from the nearest of them.

    Attributes:
        start: given: True for a source.
    """

    start = Field("bool", given=True)

    def init(self, v, g):
        """Start at every source."""
        return {"dist": where(v.start, 0, INF), "active": v.start}


class NearestLimitedDistances(NearestDistances, LimitedDistances):
    """Δ-stepping from several vertices up to a distance."""


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
