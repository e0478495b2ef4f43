"""Buckets of distances in rounds: near-far, bucketing [Davidson et al., IPDPS 2014] and Δ-stepping [Meyer & Sanders].

A vertex waits while its distance ``best`` is below ``dist``, with which its edges were last relaxed. A round relaxes
the edges of active vertices; a pass, a round without edges, sorts all waiting vertices and activates the first bucket.
Both count as rounds. Passes scan all vertices, as papers' far piles are compacted by a scan. Weights are ≥ 0.

- :class:`NearFar`: vertices below the split are near and processed until none is left. Then the split rises to the end
  of the bucket of the nearest entry of the far pile, and a pass takes the near ones out of the pile. An entry keeps the
  distance at which it was made, as in the paper, so a pass may find nothing near.
- :class:`Bucketing`: every round is followed by a pass that sorts all waiting vertices anew. The next round expands the
  first bucket, which is Δ wide and begins at the nearest waiting vertex, to a sixteenth of Δ.
- :class:`DeltaStepping`: light edges (weight ≤ Δ) of a bucket are relaxed until it is empty; then the heavy edges of
  all its vertices, once; then the next bucket opens. Rows are not sorted by weight, so both walk whole rows.
"""

from __future__ import annotations

from dgraph.algorithms.sssp_parts.bellman_ford import RoundDistances
from dgraph.program import INF, MIN, Global, minimum, where

LAST = 2**61
"""Bucket that stands for none."""

SHARES = 16
"""Parts of a bucket's width to which :class:`Bucketing` knows the nearest distance."""

LIGHT, COLLECT, HEAVY, OPEN = range(4)
"""Phases of Δ-stepping: light edges; a pass that activates the bucket's vertices; heavy edges; a pass that opens the
next bucket."""


class WaitingBuckets(RoundDistances):
    """Base of programs with waiting vertices.

    Attributes:
        delta: width of a bucket, in units of the weights.
        least: lowest bucket of the waiting vertices that the round's ``apply`` visited; at least ``LAST`` for none.
    """

    delta: float = 1.0

    least = Global("int64", reduce=MIN)

    def edge(self, u, e, v):
        """Relax the edge."""
        return {"best": self.proposal(u, e)}

    def bucket(self, distance):
        """Return the bucket of a distance, not truncated."""
        return minimum(distance / self.delta, float(LAST))

    def split(self, v, chosen):
        """Return the results of ``apply``: vertices that wait and are ``chosen`` become active."""
        waits = v.best < v.dist
        active = waits & chosen
        least = where(waits & ~chosen, self.bucket(v.best), float(LAST))
        walked = where(active, v.out_degree, 0)
        return {"dist": where(active, v.best, v.dist), "active": active, "least": least, "walked": walked}


class NearFar(WaitingBuckets):
    """Near-far: two piles.

    Attributes:
        end: first bucket that is not near.
        far: lowest bucket of the far pile's entries.
        passed: 1 if the last round was a pass.
    """

    end = Global("int64", init=1)
    far = Global("int64", init=LAST)
    passed = Global("int64")

    def apply(self, v, g):
        """Activate near vertices."""
        return self.split(v, self.bucket(v.best) < g.end)

    def step(self, g):
        """Raise the split when no near vertex is left; a pass knows the far pile exactly."""
        far = where(g.passed == 1, g.least, minimum(g.far, g.least))
        empty = g.active == 0
        more = empty & (far < LAST)
        return {
            "far": far,
            "end": where(more, far + 1, g.end),
            "passed": where(more, 1, 0),
            "whole": more,
            "done": empty & (far >= LAST),
        }


class Bucketing(WaitingBuckets):
    """Sort all waiting vertices after every round, and expand the first bucket.

    Attributes:
        begin: first share of the bucket that the next pass activates.
        passes: 1 if the next round is a pass.
    """

    begin = Global("int64")
    passes = Global("int64")

    def bucket(self, distance):
        """Return the share of a bucket in which a distance lies, not truncated."""
        return minimum(distance / self.delta * float(SHARES), float(LAST))

    def apply(self, v, g):
        """Activate vertices of the first bucket, in a pass."""
        return self.split(v, (g.passes == 1) & (self.bucket(v.best) < g.begin + SHARES))

    def step(self, g):
        """Alternate rounds and passes; end when no vertex waits after a round."""
        return {
            "begin": g.least,
            "passes": 1 - g.passes,
            "whole": True,
            "done": (g.passes == 0) & (g.least >= LAST),
        }


class DeltaStepping(WaitingBuckets):
    """Δ-stepping with light and heavy edges.

    Attributes:
        at: the open bucket.
        phase: of the next round.
    """

    at = Global("int64")
    phase = Global("int64", init=LIGHT)

    def edge(self, u, e, v, g):
        """Relax a light edge, or a heavy one in the phase of heavy edges."""
        light = e.weight <= self.delta
        return {"best": where(where(g.phase == HEAVY, ~light, light), self.proposal(u, e), INF)}

    def apply(self, v, g):
        """Activate waiting vertices of the bucket, or in ``COLLECT`` all that were expanded in it."""
        below = self.bucket(v.best) < g.at + 1
        fields = self.split(v, ((g.phase == LIGHT) | (g.phase == OPEN)) & below)
        done = (v.best == v.dist) & below & (self.bucket(v.best) >= g.at) & (v.dist != INF)
        active = fields["active"] | ((g.phase == COLLECT) & done)
        return fields | {"active": active, "walked": where(active, v.out_degree, 0)}

    def step(self, g):
        """Go on to the next phase; the pass after heavy edges opens the lowest bucket of all waiting vertices."""
        stays = (g.phase == LIGHT) & (g.active > 0)
        phase = where(stays, LIGHT, where(g.phase == OPEN, LIGHT, g.phase + 1))
        return {
            "phase": phase,
            "at": where(g.phase == HEAVY, g.least, g.at),
            "whole": phase != LIGHT,
            "done": (g.phase == HEAVY) & (g.least >= LAST),
        }
