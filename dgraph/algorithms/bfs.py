"""Breadth-first search.   [Beamer et al., SC 2012: direction-optimising]"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import (
    SOURCE,
    Algorithm,
    Answer,
    OnePass,
    Parameter,
    algorithm,
    check_source,
    limited,
)
from dgraph.algorithms.bfs_variants import FEATURES, VARIANTS, traversal
from dgraph.algorithms.distances import measured
from dgraph.program import ALL, INF, MIN, Field, Program, where
from dgraph.result.columns import UNREACHED


class Levels(Program):
    """Hops from the source. What an edge proposes is the round's number, so no value travels, only who is new."""

    source: int = 0
    limit: int = UNREACHED

    level = Field("int32", reduce=MIN)

    def init(self, v, g):
        here = v.id == self.source
        return {"level": where(here, 0, INF), "active": here & (self.limit > 0)}

    def cond(self, v, g):
        return v.level == INF

    def edge(self, u, e, v, g):
        return {"level": g.round + 1}

    def step(self, g):
        return {"done": (g.active == 0) | (g.round >= self.limit)}


class Hops(Program):
    """The same where ranks run ahead of each other: a level that was set may still fall."""

    source: int = 0
    limit: int = UNREACHED
    directions = ("push",)

    level = Field("int32", reduce=MIN)

    def init(self, v, g):
        here = v.id == self.source
        return {"level": where(here, 0, INF), "active": here & (self.limit > 0)}

    def edge(self, u, e, v):
        return {"level": where(u.level < self.limit, u.level + 1, INF)}


class Above(OnePass):
    """The smallest original id among the neighbours one level up.

    At neighbours levels are read in 8 bits, so that more of them are at hand; deep ones want ``retype(hops="int32")``.
    """

    level = Field("int32", given=True)
    hops = Field("uint8")
    parent = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"hops": where(v.level == INF, INF, v.level)}

    def edge(self, u, e, v):
        return {"parent": where(u.hops + 1 == v.hops, u.id, INF)}


class Parents(Above):
    """Every vertex past the source's neighbours looks back; where neighbours stand in order, up to the first that will
    do."""

    source: int = 0
    domain = ALL
    monotone = True

    def init(self, v, g):
        return super().init(v, g) | {"parent": where(v.level == 1, self.source, INF)}

    def cond(self, v, g):
        return (v.hops > 1) & (v.hops != INF)


class PushedParents(Above):
    """Every vertex with a level tells its neighbours, where there are no edges by target."""

    directions = ("push",)

    def init(self, v, g):
        return super().init(v, g) | {"active": v.level != INF}


DEEPEST, MEAN = 253, 8
"""The deepest level that is read in 8 bits: 255 means none, so no level's next may be that; edges a vertex from which
on searches are likely to be no deeper."""


@algorithm(
    "bfs",
    SOURCE,
    Parameter(
        "depth_limit", int, None, "visit vertices up to this many hops (default: all)", aliases=("cutoff",), least=0
    ),
    Parameter("return_predecessors", bool, True, "also give each vertex the smallest id among its possible parents"),
    Parameter("variant", str, "direction-optimizing", "how it walks; most are about GPUs", choices=tuple(VARIANTS)),
    Parameter("without", str, None, f"features of bfs-4k left out, comma-separated: {', '.join(FEATURES)}"),
)
class Bfs(Algorithm):
    """Breadth-first search: hops from a source, and parents."""

    needs_source = True

    @property
    def traversal(self):
        return traversal(self.variant, self.without)

    def check(self):
        traversal(self.variant, self.without)

    def run(self, ctx):
        source = check_source(ctx, self.source, "bfs")
        limit = UNREACHED if self.depth_limit is None else self.depth_limit
        levels = Levels(source=source, limit=limit).with_traversal(self.traversal)
        apart = ctx.local_rounds and self.variant == "direction-optimizing"
        back = not ctx.local.directed or not (apart or "push" in (ctx.direction, self.traversal.direction))
        above = Parents(source=source) if back else PushedParents()
        if ctx.local.arcs < MEAN * ctx.local.n:
            above = above.retype(hops="int32")
        if self.return_predecessors:
            ctx.ahead(above)
        state = ctx.run(Hops(source=source, limit=limit) if apart else levels)
        found = measured(state, "level", ctx.local)
        reached, depth, arcs = found.of_all(ctx.comm)
        columns = {"distance": found.column}
        if self.return_predecessors:
            tree = ctx.run(above if depth <= DEEPEST else above.retype(hops="int32"), {"level": state.raw("level")})
            columns["predecessor"] = lambda: parents(tree["parent"])
        summary = {"source": source, "reached": reached, "depth": depth}
        return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)


def parents(found: np.ndarray) -> np.ndarray:
    """A column of predecessors: -1 where there is none."""
    return np.where(found == UNREACHED, -1, found)
