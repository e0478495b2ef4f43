"""Single-source shortest paths.

``buckets`` is near-far Δ-stepping (``delta_stepping.py``); ``gather``, for graphs with hubs on GPUs, is in
``gather_near_hubs.py``; the variants of the papers, some of which take negative weights, are in ``sssp_parts/``.
Integer distances are computed in 32 bits and recomputed in 64 if they may be too large. Predecessors are found
afterwards (``sssp_predecessors.py``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.base import (
    PREDECESSOR,
    SOURCE,
    Algorithm,
    Answer,
    OnePass,
    Parameter,
    ResultColumn,
    algorithm,
    check_source,
    limited,
)
from dgraph.algorithms.bfs import ANY, PREDECESSORS
from dgraph.algorithms.bfs_programs import parents
from dgraph.algorithms.delta_stepping import (
    CloserDistances,
    CloserLimitedDistances,
    DataDriven,
    Distances,
    DistancesToTarget,
    LimitedDistances,
    LimitedDistancesToTarget,
)
from dgraph.algorithms.distances import summarize
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.algorithms.sssp_parts.gather_near_hubs import gather, has_hubs
from dgraph.algorithms.sssp_parts.negative_weights import solve_signed
from dgraph.algorithms.sssp_parts.sssp_predecessors import CloserNearer, nearer_program, predecessors
from dgraph.algorithms.sssp_parts.variants import SIGNED, VARIANTS, WIDTH, figures, solve
from dgraph.algorithms.targets import TARGET, check_target, target_summary, up_to_target
from dgraph.algorithms.weight_checks import any_negative, largest_and_mean, largest_magnitude, refuse_through
from dgraph.engine.rounds.context import FEW_ARCS, Context
from dgraph.errors import DataError, UsageError, option
from dgraph.program import INF, MIN, Field, Program, where
from dgraph.result.columns import UNREACHED

NARROW = np.iinfo(np.int32).max
"""INF of a 32-bit distance."""

FINER = 4
"""Buckets in the default Δ where threads follow vertices."""

DATA_DRIVEN = "data-driven"
"""Variant of paper 000: a worklist without buckets, whose vertices relax in place."""

NEED = f"sssp needs weights ≥ 0 unless its variant is one of {SIGNED}"
"""Reason in the error for a negative weight."""


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


@algorithm(
    "sssp",
    SOURCE,
    Parameter("cutoff", float, None, "largest distance to find (default: all)", least=0),
    Parameter(
        "delta",
        float,
        None,
        "bucket width in units of the weights (default: 4 · mean weight / mean degree, wider while rounds are small, "
        "on one CPU rank a quarter of it while they are large; "
        "32 · mean weight / mean degree for variants of the papers)",
    ),
    Parameter(
        "variant",
        str,
        "auto",
        "method; gather is for graphs with hubs; the bellman-ford ones and workfront take negative weights",
        choices=("auto", "buckets", "gather", DATA_DRIVEN, *VARIANTS),
    ),
    Parameter("return_predecessors", bool, True, "also return each vertex's predecessor: the smallest valid id"),
    PREDECESSORS,
    TARGET,
    columns={
        "distance": ResultColumn("sum of weights from the source; null: unreached", "number", nullable=True),
        "predecessor": PREDECESSOR,
    },
)
class Sssp(Algorithm):
    """Single-source shortest paths; some variants take negative weights.

    Columns: ``distance`` (int64 or the dtype of float weights; ``UNREACHED`` or infinity without a path) and
    ``predecessor`` (-1 if there is none).

    With a ``target`` the variant buckets stops once its distance is final, and others run to their end. In either case
    the columns are those of a search with the target's distance as ``cutoff``: vertices farther than the target have
    neither distance nor predecessor. An unreached target changes nothing, and neither does any if weights are negative.
    The summary has ``target_distance``.
    """

    needs_source = continues = True
    weighted = wants_weights = True
    edge_rule = AS_SIMPLE

    source: int
    variant: str
    cutoff: float | None
    delta: float | None
    predecessors: str
    return_predecessors: bool
    target: int | None

    @classmethod
    def on_gpus(cls, ranks):
        """Return the variant that "auto" may choose on GPUs."""
        return {"variant": "gather"}

    def may_continue(self):
        """Return True unless the variant starts from scratch."""
        return self.variant != DATA_DRIVEN and self.variant not in VARIANTS

    def check(self):
        """Refuse parameters that a variant does not have."""
        variant = option("variant", self.variant)
        if self.variant in ("gather", DATA_DRIVEN) and (self.cutoff is not None or self.delta is not None):
            widths = "with bucket widths of its own" if self.variant == "gather" else "without buckets"
            raise UsageError(f"{variant} finds all distances {widths}; leave delta and cutoff out")
        if self.variant in VARIANTS and self.delta is not None and not VARIANTS[self.variant].buckets:
            raise UsageError(f"{variant} has no buckets; leave delta out")

    def run(self, ctx: Context) -> Answer:
        """Find the distances, then the predecessors; collective."""
        source, target = check_source(ctx, self.source, "sssp"), check_target(ctx, self.target)
        published = VARIANTS.get(self.variant)
        if ctx.previous is not None and not self.may_continue():
            variant = option("variant", self.variant)
            raise UsageError(f"{variant} starts from scratch; leave previous out, or take variant auto")
        if published and published.signed and any_negative(ctx):
            return self._signed(ctx, source, target)
        most, mean = largest_and_mean(ctx, NEED)
        delta = self.delta if self.delta is not None else default_delta(ctx, mean, WIDTH if published else 4)
        if not delta > 0:
            raise UsageError(f"delta = {delta} is not a bucket width; give a number above 0")
        if published:
            return self._published(ctx, source, target, float(delta), most)
        previous = ctx.previous
        if previous is not None and (previous.removed or previous.raised):
            previous = None
        cutoff, stops = 0.0 if target == source else self.cutoff, target is not None and previous is None
        width = delta if stops or self.delta is not None else followed_width(ctx, delta)
        settings = {"source": source, "delta": float(width)}
        program: Program
        if self.variant == DATA_DRIVEN:
            program = DataDriven(source=source)
        elif stops:
            program = _to_target(target, cutoff, settings)
        elif cutoff is None:
            program = (Distances if previous is None else CloserDistances)(**settings)
        else:
            kind = LimitedDistances if previous is None else CloserLimitedDistances
            program = kind(cutoff=float(cutoff), **settings).with_light_edges(float(cutoff))
        program.widens = self.delta is None and self.variant != DATA_DRIVEN
        gathers = previous is None and self._chosen(ctx) == "gather"
        ahead = not (gathers or stops)
        program.local_rounds, program.follows = ahead and ctx.local_rounds, ahead and ctx.follows_buckets
        nearer = self._nearer(ctx)
        for dtype in dtypes_of(ctx, most):
            following = [nearer.retype(dist=dtype)] if nearer else []
            if previous is not None:
                before = _before(previous, dtype)
                if dtype == "int32" and ctx.largest(int(before.max(initial=0, where=before < NARROW))) + most >= NARROW:
                    continue
                state = ctx.run(program.retype(dist=dtype), {"dist": before, "touched": previous.sources})
            elif gathers:
                state = gather(ctx, source, delta, dtype, following)
            else:
                ctx.ahead(*following)
                state = ctx.run(program.retype(dist=dtype))
            state, length = up_to_target(ctx, state, "dist", target)
            paths = summarize(state, "dist", ctx.local)
            reached, farthest, arcs = paths.over_ranks(ctx.comm)
            if fits(ctx, farthest + most, dtype):
                break
        if self.cutoff is None and length is None:
            refuse_overflow(ctx, state, dtype, most)
        columns = {"distance": paths.column}
        keeps = previous is not None and previous.has("predecessor") and target is None
        if nearer and previous is not None and keeps and _rises(ctx, farthest, dtype):
            fell = state["dist"] < before
            fields = {"dist": state.raw("dist"), "moved": previous.sources | fell, "parent": previous.parents(fell)}
            columns["predecessor"] = ctx.run(CloserNearer().retype(dist=dtype), fields).column("parent", parents)
        elif nearer:
            columns["predecessor"] = predecessors(ctx, nearer.retype(dist=dtype), [source], state, dtype, reached)
        summary = {"source": source, "reached": reached, **target_summary(target, length)}
        summary |= {} if self.variant == DATA_DRIVEN else {"delta": delta}
        return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)

    def _nearer(self, ctx: Context):
        """Return the program that finds predecessors; None if none are wanted."""
        if not self.return_predecessors:
            return None
        nearer = nearer_program(ctx)
        nearer.first_hit = self.predecessors == ANY
        return nearer

    def _published(self, ctx: Context, source: int, target: int | None, delta: float, most: float) -> Answer:
        """Run a variant of the papers on weights ≥ 0; collective."""
        published = VARIANTS[self.variant]
        nearer = self._nearer(ctx)
        for dtype in dtypes_of(ctx, most) if self.variant != "h-bf" else ("int64",):
            state = solve(ctx, self.variant, source, self.cutoff, delta, dtype)
            paths = summarize(state, "dist", ctx.local)
            reached, farthest, arcs = paths.over_ranks(ctx.comm)
            if fits(ctx, farthest + most, dtype):
                break
        limit = published.limit
        if limit < UNREACHED and farthest + most >= limit:
            raise DataError(
                f"{option('variant', self.variant)} holds distances below 2**{limit.bit_length() - 1}, and some may be "
                "larger; take another variant"
            )
        if self.cutoff is None:
            refuse_overflow(ctx, state, dtype, most)
        near, length = up_to_target(ctx, state, "dist", target)
        if length is not None:
            paths = summarize(near, "dist", ctx.local)
            reached, _, arcs = paths.over_ranks(ctx.comm)
        columns = {"distance": paths.column}
        if nearer:
            columns["predecessor"] = predecessors(ctx, nearer.retype(dist=dtype), [source], near, dtype, reached)
        width = {"delta": delta} if published.buckets else {}
        summary = {"source": source, "reached": reached, **target_summary(target, length), **width, **figures(state)}
        return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)

    def _signed(self, ctx: Context, source: int, target: int | None) -> Answer:
        """Run a variant of the papers on weights of which some are negative; collective."""
        if self.cutoff is not None:
            raise UsageError("a path beyond the cutoff may come back below it over negative weights; leave cutoff out")
        kind = ctx.local.out.weight_type
        dtype = kind.name if kind is not None and kind.kind == "f" else "int64"
        most = largest_magnitude(ctx)
        signed = solve_signed(ctx, self.variant, source, dtype, most)
        refuse_overflow(ctx, signed.state, dtype, most)
        paths = summarize(signed.state, "dist", ctx.local)
        reached, _, arcs = paths.over_ranks(ctx.comm)
        columns = {"distance": paths.column}
        if self.return_predecessors:
            columns["predecessor"] = parents(signed.parent)
        _, length = up_to_target(ctx, signed.state, "dist", target)  # a path to it may lead through farther vertices
        summary = {"source": source, "reached": reached, **target_summary(target, length), **signed.figures}
        limit = limited(signed.finished, signed.figures["search_rounds"])
        return Answer(columns, summary, signed.finished, limit, arcs)

    def same_search(self, earlier):
        """Return True if source, cutoff and target are the same."""
        return all(earlier.get(name) == getattr(self, name) for name in ("source", "cutoff", "target"))

    def _chosen(self, ctx: Context) -> str:
        """Return the variant that "auto" stands for."""
        if self.variant != "auto":
            return self.variant
        asked = self.cutoff is not None or self.delta is not None or ctx.local.out.weight_type is None
        free = ctx.few_rounds and ctx.direction == "auto" and not (asked or ctx.checkpoints)
        if not (free and has_hubs(ctx.local.n, ctx.local.arcs, ctx.largest_degree)):
            return "buckets"
        ctx.record.choose("variant", "gather", "a GPU, and vertices of many edges")
        return "gather"


def _to_target(target: int | None, cutoff: float | None, settings: dict[str, Any]) -> Program:
    """Return the program that stops at a target."""
    if cutoff is None:
        return DistancesToTarget(target=target, **settings)
    return LimitedDistancesToTarget(target=target, cutoff=float(cutoff), **settings).with_light_edges(float(cutoff))


def _before(previous, dtype: str) -> np.ndarray:
    """Return earlier distances in ``dtype``; integers that do not fit become INF."""
    if dtype[0] == "f":
        return previous.taken("distance", np.inf).astype(dtype, copy=False)
    return np.minimum(previous.taken("distance", UNREACHED), np.iinfo(dtype).max).astype(dtype)


def _rises(ctx: Context, farthest: float, dtype: str) -> bool:
    """Return True if every edge makes distances longer, rounded sums included: there are no plateaus; collective."""
    if ctx.local.out.weight_type is None:
        return True
    least = farthest * np.finfo(dtype).eps if dtype[0] == "f" else 0
    low, *_ = ctx.local.out.weight_range
    return not ctx.total(bool(ctx.local.out.arcs) and not low > least)


def default_delta(ctx: Context, mean: float, width: int = 4) -> float:
    """Return the default Δ = ``width`` · mean weight / mean degree, above 0.

    Wide buckets relax edges repeatedly; narrow ones make small rounds, which then open several buckets at once.
    """
    degree = max(ctx.local.arcs / max(ctx.local.n, 1), 1.0)
    return max(width * mean / degree, 1e-300)


def followed_width(ctx: Context, delta: float) -> float:
    """Return the width of buckets whose vertices threads follow: less than the default Δ, but on graphs like roads.

    In wide buckets hubs relax their many edges repeatedly; of narrow ones as many are opened at once as rounds need.
    """
    return delta / FINER if ctx.follows_buckets and ctx.local.arcs >= FEW_ARCS * ctx.local.n else delta


def dtypes_of(ctx: Context, most: float) -> tuple[str, ...]:
    """Return the dtypes to compute distances in, one after the other until the distances fit.

    Integer sums are tried in 32 bits first. A sum that exceeds the dtype saturates and counts as no path, so its
    predecessor on a shortest path lies within one weight of the end: the largest distance shows the overflow.
    """
    kind = ctx.local.out.weight_type
    if kind is not None and kind.kind == "f":
        return (kind.name,)
    return ("int64",) if most >= NARROW else ("int32", "int64")


def fits(ctx: Context, largest: float, dtype: str) -> bool:
    """Return True if distances up to ``largest`` are right in ``dtype``; else the report says that 64 bits follow."""
    if dtype != "int32" or largest < NARROW:
        return True
    ctx.record.choose("distances", "64 bits", "some may pass 32: they were found again")
    return False


def refuse_overflow(ctx: Context, state, dtype: str, most: float) -> None:
    """Raise a :class:`DataError` if a distance exceeds int64 or the largest float; collective.

    ``most``: the largest absolute weight.
    """
    end = float(np.finfo(dtype).max) if dtype[0] == "f" else UNREACHED
    if dtype == "int32" or most * max(ctx.local.n - 1, 1) < end:
        return
    via = ctx.run(Overflowed().retype(dist=dtype), {"dist": state.raw("dist")})["via"]
    below = ctx.local.original[: ctx.local.masters][state["dist"] == -np.inf]
    refuse_through(ctx, np.concatenate([via, below]), end)
