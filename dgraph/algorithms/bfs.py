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
from dgraph.algorithms.bfs_variants import FEATURES, VARIANTS, way
from dgraph.algorithms.distances import UNREACHED, measured
from dgraph.program import ALL, INF, MIN, Field, Program, where


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
    """The smallest original id among the neighbours one level up."""

    level = Field("int32", given=True)
    parent = Field("int64", reduce=MIN)

    def edge(self, u, e, v):
        return {"parent": where(u.level + 1 == v.level, u.id, INF)}


class Parents(Above):
    """Every vertex with a level looks back; where neighbours stand in order, up to the first that will do."""

    domain = ALL
    monotone = True

    def cond(self, v, g):
        return v.level != INF


class PushedParents(Above):
    """Every vertex with a level tells its neighbours, where there are no edges by target."""

    directions = ("push",)

    def init(self, v, g):
        return {"active": v.level != INF}


@algorithm(
    "bfs",
    SOURCE,
    Parameter("depth_limit", int, None, "visit vertices up to this many hops (default: all)", aliases=("cutoff",)),
    Parameter("return_predecessors", bool, True, "also give each vertex the smallest id among its possible parents"),
    Parameter("variant", str, "direction-optimizing", "how it walks; most are about GPUs", choices=tuple(VARIANTS)),
    Parameter("without", str, None, f"features of bfs-4k left out, comma-separated: {', '.join(FEATURES)}"),
)
class Bfs(Algorithm):
    """Breadth-first search: hops from a source, and parents."""

    needs_source = True

    @property
    def way(self):
        return way(self.variant, self.without)

    def check(self):
        way(self.variant, self.without)

    def run(self, ctx):
        source = check_source(ctx, self.source, "bfs")
        limit = UNREACHED if self.depth_limit is None else self.depth_limit
        levels = Levels(source=source, limit=limit).walked(self.way)
        hops = ctx.local_rounds and self.variant == "direction-optimizing"
        back = not ctx.local.directed or not (hops or "push" in (ctx.direction, self.way.direction))
        above = Parents() if back else PushedParents()
        if self.return_predecessors:
            ctx.ahead(above)
        state = ctx.run(Hops(source=source, limit=limit) if hops else levels)
        found = measured(state, "level", ctx.local)
        columns = {"distance": found.column}
        if self.return_predecessors:
            tree = ctx.run(above, {"level": state.raw("level")})
            columns["predecessor"] = lambda: parents(tree["parent"])
        reached, depth, arcs = found.of_all(ctx.comm)
        summary = {"source": source, "reached": reached, "depth": depth}
        return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)


def parents(found: np.ndarray) -> np.ndarray:
    """A column of predecessors: -1 where there is none."""
    return np.where(found == UNREACHED, -1, found)
