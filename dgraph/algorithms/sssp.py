"""Single-source shortest paths: near and far buckets.   [Davidson et al., IPDPS 2014; Meyer & Sanders 2003]"""

from __future__ import annotations

from collections.abc import Sequence

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
from dgraph.algorithms.bfs import parents
from dgraph.algorithms.distances import measured
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.engine.rounds.driver import State
from dgraph.errors import DataError, UsageError
from dgraph.program import ALL, INF, MIN, Field, Global, Program, where
from dgraph.result.columns import UNREACHED, Column

NARROW = np.iinfo(np.int32).max
"""A 32-bit distance where there is no path."""

NEED = "sssp needs weights ≥ 0, since a negative one may make paths shorter without end"


class Distances(Program):
    """Relax the edges of vertices whose distance fell; vertices of a farther bucket wait until the nearer are done."""

    source: int = 0
    delta: float = 1.0

    dist = Field("int64", reduce=MIN)

    def init(self, v, g):
        here = v.id == self.source
        return {"dist": where(here, 0, INF), "active": here}

    def edge(self, u, e, v):
        return {"dist": u.dist + e.weight}

    def priority(self, v):
        return v.dist / self.delta


class LimitedDistances(Distances):
    """The same, up to a distance."""

    cutoff: float = 0.0

    def edge(self, u, e, v):
        dist = u.dist + e.weight
        return {"dist": where(dist <= self.cutoff, dist, INF)}


class Outset(Distances):
    """The same until more than ``crowd`` vertices are active at once, as they are where a hub is near."""

    crowd: int = 0

    crowded = Global("int64")

    def step(self, g):
        many = g.active > self.crowd
        return {"done": (g.active == 0) | many, "crowded": where(many, 1, 0)}


class Onward(LimitedDistances):
    """Distances up to a limit, from those of vertices nearer than ``base``, whose edges were all walked."""

    base: float = 0.0

    dist = Field("int64", reduce=MIN, given=True)

    def init(self, v, g):
        return {"active": (v.dist >= self.base) & (v.dist <= self.cutoff)}


class Beyond(Distances):
    """From the distances of all vertices up to ``near``, and what is known of others, those of all others, which look
    back for them at once: most edges lead out of the near ones, few into others.   [Chakaravarthy et al., IPDPS 2014]
    """

    near: float = 0.0

    dist = Field("int64", reduce=MIN, given=True)

    def init(self, v, g):
        return {"active": v.dist != INF}

    def cond(self, v, g):
        return v.dist > self.near


class BeyondTold(Beyond):
    """The same where mirrors look back, too: they know no distance of their own, and those of near vertices, hubs among
    them, would search their rows in vain."""

    monotone = True

    far = Field("bool")

    def init(self, v, g):
        return {"far": v.dist > self.near, "active": v.dist != INF}

    def cond(self, v, g):
        return v.far


class Nearer(OnePass):
    """The smallest original id among strictly nearer neighbours that a shortest path can come from."""

    dist = Field("int64", given=True)
    parent = Field("int64", reduce=MIN)

    def edge(self, u, e, v):
        tight = (u.dist + e.weight == v.dist) & (u.dist < v.dist)
        return {"parent": where(tight, u.id, INF)}


class NearerParents(Nearer):
    """Every vertex with a distance looks back, up to the first neighbour that will do."""

    domain = ALL
    monotone = True

    def cond(self, v, g):
        return v.dist != INF


class PushedNearerParents(Nearer):
    """Every vertex with a distance tells its neighbours."""

    directions = ("push",)

    def init(self, v, g):
        return {"active": v.dist != INF}


class PlateauHops(Program):
    """Hops inside a plateau, vertices of one distance joined by edges that add nothing, from those with a parent."""

    dist = Field("int64", given=True)
    settled = Field("bool", given=True)
    hop = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"hop": where(v.settled, 0, INF), "active": v.settled}

    def edge(self, u, e, v):
        tight = (u.dist + e.weight == v.dist) & (u.dist == v.dist)
        return {"hop": where(tight, u.hop + 1, INF)}


class PlateauParents(OnePass):
    """The smallest original id among plateau neighbours one hop nearer to a vertex with a parent: so no cycles."""

    dist = Field("int64", given=True)
    hop = Field("int64", given=True)
    parent = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"active": v.hop != INF}

    def edge(self, u, e, v):
        tight = (u.dist + e.weight == v.dist) & (u.dist == v.dist) & (u.hop + 1 == v.hop)
        return {"parent": where(tight, u.id, INF)}


class Overflowed(OnePass):
    """Edges from a reached vertex to one that is not: there are some only where a sum passed the field's range."""

    dist = Field("int64", given=True)
    beyond = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"active": v.dist != INF}

    def edge(self, u, e, v):
        return {"beyond": where(v.dist == INF, u.id, INF)}


NEAR, FAR = 0.75, 16.0
"""For ``gather``, in buckets: how far vertices are near, and the width of the other buckets if these have few edges."""

HUB, MEAN = 1024, 8
"""The largest degree, and the mean one, from which "auto" may be ``gather``."""

SLACK, MARGIN = 1e-6, 0.01
"""Allowances for rounded sums: how far below its bucket the next distance may lie, as a share of it, and by how much
light edges may weigh more than the width of a bucket, as a share of it."""

CROWD = 2048
"""One in so many vertices are more than are active before a hub is."""


@algorithm(
    "sssp",
    SOURCE,
    Parameter("cutoff", float, None, "find distances up to this one (default: all)", least=0),
    Parameter(
        "delta",
        float,
        None,
        "width of a bucket, in units of the weights (default: 4 · mean weight / mean degree, more in small rounds)",
    ),
    Parameter(
        "variant",
        str,
        "auto",
        "how; gather is for graphs with hubs",
        choices=("auto", "buckets", "gather"),
    ),
    Parameter("return_predecessors", bool, True, "also give each vertex the smallest id among its possible parents"),
)
class Sssp(Algorithm):
    """Single-source shortest paths over weights that are not negative."""

    needs_source = True
    weighted = wants_weights = True

    variant: str
    cutoff: float | None
    delta: float | None

    @classmethod
    def on_gpus(cls, ranks):
        return {"variant": "gather"}

    def check(self):
        if self.variant == "gather" and (self.cutoff is not None or self.delta is not None):
            raise UsageError(
                "--variant gather goes to the end, in buckets of its own widths; leave delta and cutoff out"
            )

    def run(self, ctx):
        source = check_source(ctx, self.source, "sssp")
        most, mean = largest_and_mean(ctx, NEED)
        delta = self.delta if self.delta is not None else _delta(ctx, mean)
        if not delta > 0:
            raise UsageError(f"delta = {delta} is no width of a bucket; give a number above 0")
        settings = {"source": source, "delta": float(delta)}
        if self.cutoff is None:
            program = Distances(**settings)
        else:
            program = LimitedDistances(cutoff=float(self.cutoff), **settings).with_light_edges(float(self.cutoff))
        program.widens = self.delta is None
        gathers = self._chosen(ctx) == "gather"
        nearer = _nearer(ctx) if self.return_predecessors else None
        for dtype in _dtypes(ctx, most):
            following = [nearer.retype(dist=dtype)] if nearer else []
            if gathers:
                state = _gathered(ctx, source, delta, dtype, following)
            else:
                ctx.ahead(*following)
                state = ctx.run(program.retype(dist=dtype))
            found = measured(state, "dist", ctx.local)
            reached, farthest, arcs = found.of_all(ctx.comm)
            if dtype != "int32" or farthest + most < NARROW:
                break
            ctx.record.choose("distances", "64 bits", "some may pass 32: they were found again")
        dist = state.raw("dist")
        if dtype == "int64" and self.cutoff is None and most * max(ctx.local.n - 1, 1) >= UNREACHED:
            _refuse_overflow(ctx, dist)
        columns = {"distance": found.column}
        if nearer:
            columns["predecessor"] = _parents(ctx, nearer.retype(dist=dtype), source, state, dtype, found.reached)
        summary = {"source": source, "reached": reached, "delta": delta}
        return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)

    def _chosen(self, ctx) -> str:
        """What "auto" comes to."""
        if self.variant != "auto":
            return self.variant
        asked = self.cutoff is not None or self.delta is not None or ctx.local.out.weight_type is None
        free = ctx.backend.name == "cuda" and ctx.direction == "auto" and not (asked or ctx.keeper)
        if not (free and has_hubs(ctx.local.n, ctx.local.arcs, ctx.largest(ctx.local.largest_degree))):
            return "buckets"
        ctx.record.choose("variant", "gather", "a GPU, and vertices of many edges")
        return "gather"


def has_hubs(n: int, arcs: int, largest: int) -> bool:
    """Whether vertices near by may have most edges: by the largest degree and the mean one."""
    return largest >= HUB and arcs >= MEAN * n


def _gathered(ctx, source: int, delta: float, dtype: str, following: Sequence[Program]) -> State:
    """Vertices near hubs by edges that are light enough; all others look back for those. ``following``: what is run
    behind that.

    Vertices up to the bucket in which hubs are relax all their edges first: from there on a shortest path to a vertex
    less than a bucket farther has light edges alone. Not on a CPU, where that saves little, nor with checkpoints.
    """
    width = NEAR * delta if dtype[0] == "f" else max(np.floor(NEAR * delta), 1.0)
    at, plain = ctx.local.lid(source), ctx.keeper is not None or ctx.backend.name != "cuda"
    light = width * (1 + MARGIN)
    kind = BeyondTold if ctx.largest(int(ctx.local.mirrors_pull)) else Beyond

    def beyond(near: float, bucket: float, gathers: bool) -> Program:
        outer = kind(source=source, near=_limit(near, dtype), delta=bucket).retype(dist=dtype)
        outer.gathers = gathers
        return outer

    following = (beyond(0.0, delta, not ctx.local.directed), *following)
    if plain or ctx.total(ctx.local.degree_of(at) if at is not None else 0) >= HUB:
        near, given = width, {}
        inner: Program = LimitedDistances(source=source, cutoff=_limit(near, dtype), delta=2 * near)
        ctx.ahead(*following)
    else:
        eps = np.finfo(dtype if dtype[0] == "f" else "float64").eps
        outset = Outset(source=source, delta=width, crowd=ctx.local.n // CROWD).retype(dist=dtype)
        outset.widens = False
        onward = Onward(source=source, base=0.0, cutoff=_limit(0.0, dtype), delta=1.0).retype(dist=dtype)
        ctx.ahead(onward.with_light_edges(light), *following)
        state = ctx.run(outset)
        if not (state.finished and state.globals["crowded"]):
            return state
        if state.bucket * eps > MARGIN / 10:  # an edge that is no light one could lead to a distance that is near
            return ctx.run(Distances(source=source, delta=delta).retype(dist=dtype))
        base = state.bucket * width * (1 - SLACK)
        near, given = base + width, {"dist": state.raw("dist")}
        inner = Onward(source=source, base=base, cutoff=_limit(near, dtype), delta=2 * near)
    inner.widens = False
    state = ctx.run(inner.retype(dist=dtype).with_light_edges(light), given)
    if not state.finished:
        return state
    _, _, arcs = measured(state, "dist", ctx.local).of_all(ctx.comm)
    most = 2 * arcs > ctx.local.arcs
    wide = (FAR if most else 1.0) * delta
    gathers = not ctx.local.directed or ctx.affords(beyond(near, wide, True))
    return ctx.run(beyond(near, wide, gathers), {"dist": state.raw("dist")})


def _limit(distance: float, dtype: str) -> float | int:
    """What distances of a dtype are compared with, to lie no farther than ``distance``: integers with an integer."""
    return distance if dtype[0] == "f" else int(np.floor(distance))


def _delta(ctx, mean: float) -> float:
    """Δ = 4 · mean weight / mean degree, and at least what keeps buckets apart. Wide buckets relax edges in vain; where
    narrow ones make small rounds, the rounds open several."""
    degree = max(ctx.local.arcs / max(ctx.local.n, 1), 1.0)
    return max(4 * mean / degree, 1e-300)


def _dtypes(ctx, most: float) -> tuple[str, ...]:
    """What distances are kept in: sums of integers in 32 bits, and once more in 64 where they turn out too large for
    that. A sum that passes the end of a dtype stays there, as no path at all: so the last vertex before the first on a
    shortest path that was lost has a distance within one weight of the end."""
    kind = ctx.local.out.weight_type
    if kind is not None and kind.kind == "f":
        return (kind.name,)
    return ("int64",) if most >= NARROW else ("int32", "int64")


def _refuse_overflow(ctx, dist: np.ndarray) -> None:
    beyond = ctx.run(Overflowed(), {"dist": dist})["beyond"]
    at = int(ctx.comm.allreduce(np.array([beyond.min(initial=UNREACHED)]), "min")[0])
    if at != UNREACHED:
        raise DataError(f"a distance through vertex {at} passes 2**63 - 1; store the weights as floats")


def _nearer(ctx) -> Nearer:
    """Looking back pays: the first neighbour that will do may be the end, and nobody writes but to itself."""
    back = NearerParents()
    pulls = not ctx.local.directed or ctx.direction in ("pull", "flip") or ctx.affords(back)
    return back if pulls else PushedNearerParents()


def _parents(ctx, program: Program, source: int, state: State, dtype: str, reached: int) -> Column:
    """Predecessors: strictly nearer where there are some, else through the plateau of equal distances.

    Args:
        program: who finds those that are nearer.
        reached: vertices of this rank with a distance. Of all of them the source alone has nobody nearer.
    """
    nearer = ctx.run(program, {"dist": state.raw("dist")})
    counted = nearer.counted("reached", "parent")
    settled = counted[0] if counted else int(np.count_nonzero(nearer["parent"] != UNREACHED))
    if ctx.total(reached - settled) == 1:
        return lambda: parents(nearer["parent"])
    found, dist = nearer["parent"].copy(), state["dist"]
    end = np.inf if dtype[0] == "f" else np.iinfo(dtype).max
    done = (found != UNREACHED) | (ctx.local.original[: ctx.local.masters] == source)
    given = {"dist": dist, "settled": done.astype(np.uint8)}
    hop = ctx.run(PlateauHops().retype(dist=dtype), given)["hop"]
    plateau = ctx.run(PlateauParents().retype(dist=dtype), {"dist": dist, "hop": hop})["parent"]
    lost = (dist != end) & ~done
    found[lost] = plateau[lost]
    return parents(found)
