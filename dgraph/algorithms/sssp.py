"""Single-source shortest paths for weights ≥ 0.

``buckets`` is near-far Δ-stepping [Meyer & Sanders 2003; Davidson et al., IPDPS 2014]: :class:`Distances` relaxes the
vertices of the current bucket and keeps farther ones waiting.

``gather``, for graphs with hubs on GPUs, splits the run in two [Chakaravarthy et al., IPDPS 2014]. Most edges lead out
of the few vertices near the source, hubs among them. The first programs settle those vertices along light edges only,
those that weigh no more than a bucket is wide. :class:`FarDistances` then pulls once: every other vertex scans its
in-edges for settled sources. The remaining distances follow by Δ-stepping.

Integer distances are computed in 32 bits and recomputed in 64 if they may be too large. Predecessors are found
afterwards, by programs of one round.
"""

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
from dgraph.algorithms.distances import summarize
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.engine.rounds.return_state import State
from dgraph.errors import DataError, UsageError
from dgraph.program import ALL, INF, MIN, Field, Global, Program, where
from dgraph.result.columns import UNREACHED, Column

NARROW = np.iinfo(np.int32).max
"""INF of a 32-bit distance."""

NEED = "sssp needs weights ≥ 0, since a negative one may make paths shorter without end"
"""Reason in the error for a negative weight."""


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


class Nearer(OnePass):
    """Smallest original id among strictly nearer in-neighbours on a shortest path, in one round."""

    dist = Field("int64", given=True)
    parent = Field("int64", reduce=MIN)

    def edge(self, u, e, v):
        """Propose ``u`` if the edge is tight and ``u`` is nearer."""
        tight = (u.dist + e.weight == v.dist) & (u.dist < v.dist)
        return {"parent": where(tight, u.id, INF)}


class NearerParents(Nearer):
    """Pull variant: every vertex with a distance scans its in-edges, up to the first valid parent if sorted."""

    domain = ALL
    monotone = True

    def cond(self, v, g):
        """Skip vertices without a path."""
        return v.dist != INF


class PushedNearerParents(Nearer):
    """Push variant: every vertex with a distance proposes itself to its neighbours."""

    directions = ("push",)

    def init(self, v, g):
        """Activate the vertices with a path."""
        return {"active": v.dist != INF}


class CloserNearer(Nearer):
    """Predecessors after distances fell, where all weights are above 0: see ``CloserParents`` of ``bfs.py``.

    Attributes:
        moved: given: True if the vertex proposes itself: its distance fell, or an added edge leaves it.
        parent: given: the former predecessor; INF where there is none, or the distance fell.
    """

    directions = ("push",)

    moved = Field("bool", given=True)
    parent = Field("int64", reduce=MIN, given=True)

    def init(self, v, g):
        """Activate the vertices that propose themselves."""
        return {"active": v.moved & (v.dist != INF)}


class PlateauHops(Program):
    """Hops inside a plateau from its vertices that have a parent.

    A plateau is a set of vertices with equal distance, connected by edges of weight 0 (or too small to change it).

    Attributes:
        settled: given: True if the vertex has a parent.
    """

    dist = Field("int64", given=True)
    settled = Field("bool", given=True)
    hop = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Start from the vertices with a parent."""
        return {"hop": where(v.settled, 0, INF), "active": v.settled}

    def edge(self, u, e, v):
        """Propose one hop more inside the plateau."""
        tight = (u.dist + e.weight == v.dist) & (u.dist == v.dist)
        return {"hop": where(tight, u.hop + 1, INF)}


class PlateauParents(OnePass):
    """Smallest original id among plateau neighbours one hop nearer to a vertex with a parent, which excludes cycles."""

    dist = Field("int64", given=True)
    hop = Field("int64", given=True)
    parent = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Activate the vertices with a hop count."""
        return {"active": v.hop != INF}

    def edge(self, u, e, v):
        """Propose ``u`` if it is one hop nearer."""
        tight = (u.dist + e.weight == v.dist) & (u.dist == v.dist) & (u.hop + 1 == v.hop)
        return {"parent": where(tight, u.id, INF)}


class Overflowed(OnePass):
    """Detection of overflow: an edge from a reached vertex to an unreached one exists only if a sum saturated.

    Attributes:
        via: smallest reached in-neighbour of an unreached vertex.
    """

    dist = Field("int64", given=True)
    via = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Activate the reached vertices."""
        return {"active": v.dist != INF}

    def edge(self, u, e, v):
        """Propose ``u`` to an unreached neighbour."""
        return {"via": where(v.dist == INF, u.id, INF)}


NEAR, FAR = 0.75, 16.0
"""Parameters of ``gather`` in units of Δ: the near distance, and the bucket width beyond it if few edges remain."""

HUB, MEAN = 1024, 8
"""Largest degree and mean degree from which "auto" may choose ``gather``."""

SLACK, MARGIN = 1e-6, 0.01
"""Relative allowances for rounded sums: the distance by which the next vertex may lie below its bucket, and the excess
of a light edge over the bucket width."""

CROWD = 2048
"""A frontier of more than one vertex in this many shows that a hub was reached."""


@algorithm(
    "sssp",
    SOURCE,
    Parameter("cutoff", float, None, "largest distance to find (default: all)", least=0),
    Parameter(
        "delta",
        float,
        None,
        "bucket width in units of the weights (default: 4 · mean weight / mean degree, wider while rounds are small)",
    ),
    Parameter(
        "variant",
        str,
        "auto",
        "method; gather is for graphs with hubs",
        choices=("auto", "buckets", "gather"),
    ),
    Parameter("return_predecessors", bool, True, "also return each vertex's predecessor: the smallest valid id"),
)
class Sssp(Algorithm):
    """Single-source shortest paths for weights ≥ 0.

    Columns: ``distance`` (int64 or the dtype of float weights; ``UNREACHED`` or infinity without a path) and
    ``predecessor`` (-1 if there is none).
    """

    needs_source = continues = True
    weighted = wants_weights = True

    variant: str
    cutoff: float | None
    delta: float | None

    @classmethod
    def on_gpus(cls, ranks):
        """Return the variant that "auto" may choose on GPUs."""
        return {"variant": "gather"}

    def check(self):
        """Refuse parameters of Δ-stepping with ``gather``."""
        if self.variant == "gather" and (self.cutoff is not None or self.delta is not None):
            raise UsageError(
                "--variant gather finds all distances with bucket widths of its own; leave delta and cutoff out"
            )

    def run(self, ctx):
        """Find the distances, then the predecessors; collective."""
        source = check_source(ctx, self.source, "sssp")
        most, mean = largest_and_mean(ctx, NEED)
        delta = self.delta if self.delta is not None else _delta(ctx, mean)
        if not delta > 0:
            raise UsageError(f"delta = {delta} is not a bucket width; give a number above 0")
        settings = {"source": source, "delta": float(delta)}
        known = ctx.previous
        if known is not None and (known.removed or known.raised):
            known = None
        program: Distances
        if self.cutoff is None:
            program = (Distances if known is None else CloserDistances)(**settings)
        else:
            kind = LimitedDistances if known is None else CloserLimitedDistances
            program = kind(cutoff=float(self.cutoff), **settings).with_light_edges(float(self.cutoff))
        program.widens = self.delta is None
        gathers = known is None and self._chosen(ctx) == "gather"
        nearer = _nearer(ctx) if self.return_predecessors else None
        for dtype in _dtypes(ctx, most):
            following = [nearer.retype(dist=dtype)] if nearer else []
            if known is not None:
                before = _before(known, dtype)
                if dtype == "int32" and ctx.largest(int(before.max(initial=0, where=before < NARROW))) + most >= NARROW:
                    continue
                state = ctx.run(program.retype(dist=dtype), {"dist": before, "touched": known.sources})
            elif gathers:
                state = _gather(ctx, source, delta, dtype, following)
            else:
                ctx.ahead(*following)
                state = ctx.run(program.retype(dist=dtype))
            found = summarize(state, "dist", ctx.local)
            reached, farthest, arcs = found.over_ranks(ctx.comm)
            if dtype != "int32" or farthest + most < NARROW:
                break
            ctx.record.choose("distances", "64 bits", "some may pass 32: they were found again")
        dist = state.raw("dist")
        if dtype == "int64" and self.cutoff is None and most * max(ctx.local.n - 1, 1) >= UNREACHED:
            _refuse_overflow(ctx, dist)
        columns = {"distance": found.column}
        if nearer and known is not None and known.has("predecessor") and _rises(ctx, farthest, dtype):
            fell = state["dist"] < before
            given = {"dist": state.raw("dist"), "moved": known.sources | fell, "parent": known.parents(fell)}
            columns["predecessor"] = ctx.run(CloserNearer().retype(dist=dtype), given).column("parent", parents)
        elif nearer:
            columns["predecessor"] = _parents(ctx, nearer.retype(dist=dtype), source, state, dtype, found.reached)
        summary = {"source": source, "reached": reached, "delta": delta}
        return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)

    def same_search(self, earlier):
        """Return True if source and cutoff are the same."""
        return all(earlier.get(name) == getattr(self, name) for name in ("source", "cutoff"))

    def _chosen(self, ctx) -> str:
        """Return the variant that "auto" stands for."""
        if self.variant != "auto":
            return self.variant
        asked = self.cutoff is not None or self.delta is not None or ctx.local.out.weight_type is None
        free = ctx.backend.name == "cuda" and ctx.direction == "auto" and not (asked or ctx.checkpoints)
        if not (free and has_hubs(ctx.local.n, ctx.local.arcs, ctx.largest(ctx.local.largest_degree))):
            return "buckets"
        ctx.record.choose("variant", "gather", "a GPU, and vertices of many edges")
        return "gather"


def _before(known, dtype: str) -> np.ndarray:
    """Return earlier distances in ``dtype``; integers that do not fit become INF."""
    if dtype[0] == "f":
        return known.taken("distance", np.inf).astype(dtype, copy=False)
    return np.minimum(known.taken("distance", UNREACHED), np.iinfo(dtype).max).astype(dtype)


def _rises(ctx, farthest: float, dtype: str) -> bool:
    """Return True if every edge makes distances longer, rounded sums included: there are no plateaus; collective."""
    if ctx.local.out.weight_type is None:
        return True
    least = farthest * np.finfo(dtype).eps if dtype[0] == "f" else 0
    low, *_ = ctx.local.out.weight_range
    return not ctx.total(bool(ctx.local.out.arcs) and not low > least)


def has_hubs(n: int, arcs: int, largest: int) -> bool:
    """Return True if degrees are skewed enough for ``gather``."""
    return largest >= HUB and arcs >= MEAN * n


def _gather(ctx, source: int, delta: float, dtype: str, following: Sequence[Program]) -> State:
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
    at, plain = ctx.local.lid(source), ctx.checkpoints is not None or ctx.backend.name != "cuda"
    light = width * (1 + MARGIN)
    kind = FarDistancesFlagged if ctx.largest(int(ctx.local.mirrors_pull)) else FarDistances

    def far_program(near: float, bucket: float, gathers: bool) -> Program:
        outer = kind(source=source, near=_limit(near, dtype), delta=bucket).retype(dist=dtype)
        outer.gathers = gathers
        return outer

    following = (far_program(0.0, delta, not ctx.local.directed), *following)
    if plain or ctx.total(ctx.local.degree_of(at) if at is not None else 0) >= HUB:
        near, given = width, {}
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
        near, given = base + width, {"dist": state.raw("dist")}
        inner = ContinuedDistances(source=source, base=base, cutoff=_limit(near, dtype), delta=2 * near)
    inner.widens = False
    state = ctx.run(inner.retype(dist=dtype).with_light_edges(light), given)
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


def _delta(ctx, mean: float) -> float:
    """Return the default Δ = 4 · mean weight / mean degree, above 0.

    Wide buckets relax edges repeatedly; narrow ones make small rounds, which then open several buckets at once.
    """
    degree = max(ctx.local.arcs / max(ctx.local.n, 1), 1.0)
    return max(4 * mean / degree, 1e-300)


def _dtypes(ctx, most: float) -> tuple[str, ...]:
    """Return the dtypes to compute distances in, one after the other until the distances fit.

    Integer sums are tried in 32 bits first. A sum that exceeds the dtype saturates and counts as no path, so its
    predecessor on a shortest path lies within one weight of the end: the largest distance shows the overflow.
    """
    kind = ctx.local.out.weight_type
    if kind is not None and kind.kind == "f":
        return (kind.name,)
    return ("int64",) if most >= NARROW else ("int32", "int64")


def _refuse_overflow(ctx, dist: np.ndarray) -> None:
    """Raise a :class:`DataError` if a distance exceeds int64; collective."""
    via = ctx.run(Overflowed(), {"dist": dist})["via"]
    at = int(ctx.comm.allreduce(np.array([via.min(initial=UNREACHED)]), "min")[0])
    if at != UNREACHED:
        raise DataError(f"a distance through vertex {ctx.called(at)} passes 2**63 - 1; store the weights as floats")


def _nearer(ctx) -> Nearer:
    """Return the predecessor program. Pull is preferred: it can stop at the first valid parent and needs no atomics."""
    pull = NearerParents()
    pulls = not ctx.local.directed or ctx.direction in ("pull", "flip") or ctx.affords(pull)
    return pull if pulls else PushedNearerParents()


def _parents(ctx, program: Program, source: int, state: State, dtype: str, reached: int) -> Column:
    """Return the predecessor column: a strictly nearer vertex if there is one, else one of the same plateau.

    Args:
        ctx: context of the algorithm.
        program: program that finds strictly nearer predecessors.
        source: original id.
        state: final state of the distances.
        dtype: dtype of distances.
        reached: vertices of this rank with a distance. If all but the source have a nearer predecessor, no plateau is
            searched.
    """
    nearer = ctx.run(program, {"dist": state.raw("dist")})
    counted = nearer.counted("reached", "parent")
    settled = counted[0] if counted else int(np.count_nonzero(nearer["parent"] != UNREACHED))
    if ctx.total(reached - settled) == 1:
        return nearer.column("parent", parents)
    found, dist = nearer["parent"].copy(), state["dist"]
    end = np.inf if dtype[0] == "f" else np.iinfo(dtype).max
    done = (found != UNREACHED) | (ctx.local.original[: ctx.local.masters] == source)
    given = {"dist": dist, "settled": done.astype(np.uint8)}
    hop = ctx.run(PlateauHops().retype(dist=dtype), given)["hop"]
    plateau = ctx.run(PlateauParents().retype(dist=dtype), {"dist": dist, "hop": hop})["parent"]
    lost = (dist != end) & ~done
    found[lost] = plateau[lost]
    return parents(found)
