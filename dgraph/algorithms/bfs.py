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
    """Every vertex past the source's neighbours looks back; where neighbours stand in order, up to the first that will
    do."""

    source: int = 0
    domain = ALL
    monotone = True

    def init(self, v, g):
        return {"parent": where(v.level == 1, self.source, INF)}

    def cond(self, v, g):
        return (v.level > 1) & (v.level != INF)


class LaterParents(Above):
    """Every vertex past a level, up to which parents are known, looks back."""

    last: int = 1
    domain = ALL
    monotone = True

    parent = Field("int64", reduce=MIN, given=True)

    def cond(self, v, g):
        return (v.level > self.last) & (v.level != INF)


class PushedParents(Above):
    """Every vertex above a level tells its neighbours."""

    last: int = UNREACHED
    directions = ("push",)

    def init(self, v, g):
        return {"active": (v.level < self.last) & (v.level != INF)}


TELLING, SAVED, LEAST = 6, 0.4, 1 << 28
"""How many edges that a GPU's vertices look back along cost what one does along which they tell; what part of all
edges, and how many a rank, must be saved before some tell and others look."""


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
        above = Parents(source=source) if back else PushedParents()
        if self.return_predecessors:
            ctx.ahead(above)
        state = ctx.run(Hops(source=source, limit=limit) if hops else levels)
        found = measured(state, "level", ctx.local)
        columns = {"distance": found.column}
        if self.return_predecessors:
            given = {"level": state.raw("level")}
            last = _telling(ctx, state.rounds) if back and not hops else 1
            if last > 1:
                early = ctx.run(PushedParents(last=last), given)
                above, given = LaterParents(last=last), given | {"parent": early.raw("parent")}
            tree = ctx.run(above, given)
            columns["predecessor"] = lambda: parents(tree["parent"])
        reached, depth, arcs = found.of_all(ctx.comm)
        summary = {"source": source, "reached": reached, "depth": depth}
        return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)


def _telling(ctx, rounds: int) -> int:
    """The level up to which vertices hear who is above them, since few edges lead there; all others look back.

    Only on GPUs: a CPU seldom looks along many edges of a vertex.
    """
    if ctx.backend.name != "cuda" or ctx.keeper or ctx.direction != "auto":
        return 1
    edges = ctx.record.rounds.frontier_edges()
    last = ctx.largest(split(edges, max(SAVED * ctx.local.arcs, LEAST * ctx.comm.size)) if len(edges) == rounds else 1)
    return last if last > 1 and ctx.affords(PushedParents(last=last)) else 1


def split(edges: list[int], least: float) -> int:
    """The level up to which telling saves most, by edges that leave each level; 1 unless ``least`` edges are saved."""
    saved = {last: sum(edges[2 : last + 1]) - TELLING * sum(edges[1:last]) for last in range(2, len(edges))}
    best = max(saved, key=saved.__getitem__, default=1)
    return best if saved.get(best, 0) >= least else 1


def parents(found: np.ndarray) -> np.ndarray:
    """A column of predecessors: -1 where there is none."""
    return np.where(found == UNREACHED, -1, found)
