"""Bellman-Ford in rounds [paper 001, Algorithms 4 and 5]: all edges, or those of vertices whose distance fell.

Every round reads the distances of the round before (``dist``) and reduces proposals in ``best``. After k rounds a
distance is that of the shortest walk of at most k edges, on any backend and any number of ranks, so rounds and
relaxations are those of the pseudo-code. Negative weights are allowed; ``negative_weights.py`` stops negative cycles.

- :class:`AllEdges`: topology-driven, all edges in every round.
- :class:`Worklist`: Algorithm 5. Each successful relaxation appends its vertex to the queue, so a vertex may be there
  several times. ``queued`` counts all entries, ``relaxations`` the edges of all. Edges of further copies of a vertex,
  which change nothing, are counted, not walked.
- :class:`Workfront`: Workfront Sweep [Davidson, Baxter, Garland & Owens, IPDPS 2014]. The queue holds each vertex once.
- :class:`PackedWord`: H-BF [Busato & Bombieri, TPDS 2016]. A word of 64 bits holds distance and round. Its atomic
  minimum updates both, and the round says which vertices are new, so no duplicates arise. Edges have classes: a loop is
  not relaxed, the only edge to a vertex is stored without an atomic, and a vertex without out-edges is not queued.
"""

from __future__ import annotations

import math

from dgraph.algorithms.base import OnePass
from dgraph.program import ADD, ALL, INF, MIN, Field, Global, Program, where

TAG = 20
"""Bits of a packed word that hold the round."""


class RoundDistances(Program):
    """Fields of the variants that run in rounds: edges read ``dist``, the distance at the end of the last round.

    Attributes:
        source: original id.
        cutoff: largest distance to find.
        dist: distance that the edges of the vertex propose; INF before it is first expanded.
        best: smallest distance proposed so far.
        walked: edges of expanded vertices, over all rounds.
    """

    source: int = 0
    cutoff: float = math.inf
    directions = ("push",)

    dist = Field("int64")
    best = Field("int64", reduce=MIN)
    walked = Global("int64", reduce=ADD, keep=True)

    def init(self, v, g):
        """Start at the source."""
        here = v.id == self.source
        dist = where(here, 0, INF)
        return {"dist": dist, "best": dist, "active": here, "walked": where(here, v.out_degree, 0)}

    def proposal(self, u, e):
        """Return the distance through ``u``; INF beyond the cutoff."""
        dist = u.dist + e.weight
        return where(dist <= self.cutoff, dist, INF)

    def step(self, g):
        """End when no vertex is active."""
        return {"done": g.active == 0}


class AllEdges(RoundDistances):
    """Relax all edges in every round, until no distance falls.

    Attributes:
        arcs: edges of the graph, in both directions if it is undirected.
        changed: vertices whose distance fell in the round.
    """

    arcs: int = 0
    domain = ALL

    changed = Global("int64", reduce=ADD)
    walked = Global("int64")

    def init(self, v, g):
        """Start at the source."""
        dist = where(v.id == self.source, 0, INF)
        return {"dist": dist, "best": dist}

    def edge(self, u, e, v):
        """Relax the edge; unreached vertices propose nothing."""
        return {"best": where(u.dist != INF, self.proposal(u, e), INF)}

    def apply(self, v, g):
        """Take the smallest proposal."""
        return {"dist": v.best, "changed": where(v.best < v.dist, 1, 0)}

    def step(self, g):
        """End when no distance fell."""
        return {"done": g.changed == 0, "walked": g.walked + self.arcs}


class Workfront(RoundDistances):
    """Relax the edges of vertices whose distance fell in the last round.

    Attributes:
        queued: entries of the queue, over all rounds.
    """

    queued = Global("int64", init=1, reduce=ADD, keep=True)

    def edge(self, u, e, v):
        """Relax the edge."""
        return {"best": self.proposal(u, e)}

    def entries(self, v):
        """Return how often the vertex is in the next queue if its distance fell."""
        return 1

    def apply(self, v, g):
        """Queue the vertex if its distance fell."""
        fell = v.best < v.dist
        return {
            "dist": v.best,
            "active": fell,
            "queued": where(fell, self.entries(v), 0),
            "walked": where(fell, v.out_degree, 0),
        }


class Worklist(Workfront):
    """Relax as :class:`Workfront`, and count the entries of a queue that keeps duplicates.

    Attributes:
        copies: successful relaxations of the vertex in the round.
        relaxations: edges of all entries of the queue, over all rounds.
    """

    copies = Field("int64", reduce=ADD)
    relaxations = Global("int64", reduce=ADD, keep=True)

    def init(self, v, g):
        """Start at the source."""
        fields = super().init(v, g)
        return fields | {"relaxations": fields["walked"]}

    def edge(self, u, e, v):
        """Relax the edge, and count it if it is shorter than the distance of the last round."""
        dist = self.proposal(u, e)
        return {"best": dist, "copies": where(dist < v.dist, 1, 0)}

    def entries(self, v):
        """Return the number of successful relaxations."""
        return v.copies

    def apply(self, v, g):
        """Queue the vertex once for each successful relaxation."""
        edges = v.copies / 1.0 * v.out_degree
        return super().apply(v, g) | {"relaxations": where(v.best < v.dist, edges, 0.0)}


class PackedWord(RoundDistances):
    """Propose words of distance and round; vertices whose word carries this round are new.

    Attributes:
        best: distance · 2 ** TAG + round in which it was found.
        base: distance · 2 ** TAG.
        arriving: given: edges into the vertex in the whole graph, loops not counted.
        loops: given: number of loops.
        single: True if one edge leads to the vertex.
        direct, skipped: direct updates, and loops left out, over all rounds.
    """

    exclusive = "single"

    base = Field("int64")
    single = Field("bool")
    arriving = Field("int64", given=True)
    loops = Field("int64", given=True)
    direct = Global("int64", reduce=ADD, keep=True)
    skipped = Global("int64", reduce=ADD, keep=True)
    queued = Global("int64", init=1, reduce=ADD, keep=True)

    def init(self, v, g):
        """Start at the source."""
        here = v.id == self.source
        classes = {"single": v.arriving == 1, "skipped": where(here, v.loops, 0)}
        return super().init(v, g) | {"base": where(here, 0, INF)} | classes

    def edge(self, u, e, v, g):
        """Relax the edge unless it is a loop."""
        weight = e.weight
        if weight.bits + TAG < 63:
            weight = weight * (1 << TAG)
        else:  # sums saturate, where a product might overflow
            for _ in range(TAG):
                weight = weight + weight
        word = u.base + weight
        fits = (word <= self.cutoff * float(1 << TAG)) & (u.id != v.id)
        return {"best": where(fits, word + (g.round + 1), INF)}

    def apply(self, v, g):
        """Queue the vertex if its word is of this round and edges leave it."""
        dist = v.best >> TAG
        new = dist < v.dist
        base = v.best - (g.round + 1)
        leads = new & (v.out_degree > 0)
        return {
            "dist": dist,
            "base": where(new, base, v.base),
            "active": leads,
            "queued": where(leads, 1, 0),
            "direct": where(new & v.single, 1, 0),
            "skipped": where(leads, v.loops, 0),
            "walked": where(leads, v.out_degree, 0),
        }

    def step(self, g):
        """End when no vertex is new, or when the next round would not fit its bits."""
        return {"done": (g.active == 0) | (g.round >= 2**TAG - 1)}


class EdgeClasses(OnePass):
    """Count edges into each vertex.

    Attributes:
        arriving: edges from other vertices.
        loops: loops.
    """

    directions = ("push",)

    arriving = Field("int64", reduce=ADD)
    loops = Field("int64", reduce=ADD)

    def init(self, v, g):
        """Activate all vertices."""
        return {"active": True}

    def edge(self, u, e, v):
        """Count the edge."""
        return {"arriving": where(u.id != v.id, 1, 0), "loops": where(u.id == v.id, 1, 0)}
