"""The variant ``gather`` of sssp, for graphs with hubs on GPUs, splits the run [Chakaravarthy et al., IPDPS 2014].

Most edges lead out of the few vertices near the source, hubs among them. The first programs settle those vertices along
light edges only, those that weigh no more than a bucket is wide. :class:`FarDistances` then pulls once: every other
vertex scans its in-edges for settled sources. The remaining distances follow by Δ-stepping. Entry: :func:`gather`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgraph.algorithms.delta_stepping import Distances, LimitedDistances
from dgraph.algorithms.distances import summarize
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import State
from dgraph.program import INF, MIN, Field, Global, Program, where

NEAR, FAR = 0.75, 16.0
"""Parameters of ``gather`` in units of Δ: the near distance, and the bucket width beyond it if few edges remain."""

HUB, MEAN, FEW = 1024, 8, 1 << 20
"""Largest degree, mean degree and edges from which "auto" may choose ``gather``.

On a graph of fewer edges its four programs cost more than their rounds."""

SLACK, MARGIN = 1e-6, 0.01
"""Relative allowances for rounded sums: the distance by which the next vertex may lie below its bucket, and the excess
of a light edge over the bucket width."""

CROWD = 2048
"""A frontier of more than one vertex in this many shows that a hub was reached."""


class UntilHub(Distances):
    """Δ-stepping until more than ``most`` vertices are active at once, the sign that a hub was reached.

    Attributes:
        most: frontier size after which to stop.
        stopped: 1 if the run stopped there.
    """

    most: int = 0

    stopped = Global("int64")

    def step(self, g):
        """End when the frontier is empty, or too large."""
        many = g.active > self.most
        return {"done": (g.active == 0) | many, "stopped": where(many, 1, 0)}


class ContinuedDistances(LimitedDistances):
    """Δ-stepping up to a cutoff that continues from given distances.

    Attributes:
        base: all edges of vertices nearer than this are relaxed already.
    """

    base: float = 0.0

    dist = Field("int64", reduce=MIN, given=True)

    def init(self, v, g):
        """Activate the vertices between ``base`` and the cutoff."""
        return {"active": (v.dist >= self.base) & (v.dist <= self.cutoff)}


class FarDistances(Distances):
    """Compute the distances beyond ``near``, given final ones up to ``near`` and upper bounds of the others.

    The first round pulls: vertices that are not settled scan their in-edges [Chakaravarthy et al., IPDPS 2014].

    Attributes:
        near: distances up to this one are final.
    """

    near: float = 0.0

    dist = Field("int64", reduce=MIN, given=True)

    def init(self, v, g):
        """Activate all vertices with a distance."""
        return {"active": v.dist != INF}

    def cond(self, v, g):
        """Skip settled vertices."""
        return v.dist > self.near


class FarDistancesFlagged(FarDistances):
    """:class:`FarDistances` for partitions in which mirrors pull.

    A mirror has no current distance, so ``far`` says if its master is settled. Without it, mirrors of settled hubs
    would scan their long rows in vain.

    Attributes:
        far: True if the vertex was beyond ``near`` at the start.
    """

    monotone = True

    far = Field("bool")

    def init(self, v, g):
        """Flag unsettled vertices and activate all with a distance."""
        return {"far": v.dist > self.near, "active": v.dist != INF}

    def cond(self, v, g):
        """Skip settled vertices."""
        return v.far


def has_hubs(n: int, arcs: int, largest: int) -> bool:
    """Return True if degrees are skewed enough for ``gather``."""
    return largest >= HUB and arcs >= max(MEAN * n, FEW)


def gather(ctx: Context, source: int, delta: float, dtype: str, following: Sequence[Program]) -> State:
    """Run the variant ``gather`` and return the final state; collective.

    Δ-stepping runs up to the bucket that holds the first hub. From there, a shortest path to a vertex less than one
    bucket farther has light edges only, so the next program skips heavy ones. A last program pulls the rest. The first
    step is left out on a CPU, where it saves little, with checkpoints, and if the source is a hub.

    Args:
        ctx: context of the algorithm.
        source: original id.
        delta: bucket width.
        dtype: dtype of distances.
        following: programs that run afterwards, to be compiled ahead.
    """
    width = NEAR * delta if dtype[0] == "f" else max(np.floor(NEAR * delta), 1.0)
    plain = ctx.checkpoints is not None or not ctx.few_rounds
    light = width * (1 + MARGIN)
    kind = FarDistancesFlagged if ctx.mirrors_pull(ctx.local) else FarDistances

    def far_program(near: float, bucket: float, gathers: bool) -> Program:
        outer = kind(source=source, near=_limit(near, dtype), delta=bucket).retype(dist=dtype)
        outer.gathers = gathers
        return outer

    following = (far_program(0.0, delta, not ctx.local.directed), *following)
    if plain or ctx.degree_of(source) >= HUB:
        near, fields = width, {}
        inner: Program = LimitedDistances(source=source, cutoff=_limit(near, dtype), delta=2 * near)
        ctx.ahead(*following)
    else:
        eps = np.finfo(dtype if dtype[0] == "f" else "float64").eps
        first = UntilHub(source=source, delta=width, most=ctx.local.n // CROWD).retype(dist=dtype)
        first.widens = False
        second = ContinuedDistances(source=source, base=0.0, cutoff=_limit(0.0, dtype), delta=1.0).retype(dist=dtype)
        ctx.ahead(second.with_light_edges(light), *following)
        state = ctx.run(first)
        if not (state.finished and state.globals["stopped"]):
            return state
        if state.bucket * eps > MARGIN / 10:  # rounding: a heavy edge could lead to a near distance
            return ctx.run(Distances(source=source, delta=delta).retype(dist=dtype))
        base = state.bucket * width * (1 - SLACK)
        near, fields = base + width, {"dist": state.raw("dist")}
        inner = ContinuedDistances(source=source, base=base, cutoff=_limit(near, dtype), delta=2 * near)
    inner.widens = False
    state = ctx.run(inner.retype(dist=dtype).with_light_edges(light), fields)
    if not state.finished:
        return state
    _, _, arcs = summarize(state, "dist", ctx.local).over_ranks(ctx.comm)
    most = 2 * arcs > ctx.local.arcs
    wide = (FAR if most else 1.0) * delta
    gathers = not ctx.local.directed or ctx.affords(far_program(near, wide, True))
    return ctx.run(far_program(near, wide, gathers), {"dist": state.raw("dist")})


def _limit(distance: float, dtype: str) -> float | int:
    """Return ``distance`` as a bound for distances of this dtype: integers are compared with an integer."""
    return distance if dtype[0] == "f" else int(np.floor(distance))
