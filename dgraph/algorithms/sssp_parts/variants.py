"""Table of the variants of sssp from the papers, and :func:`solve`, which runs one for weights ≥ 0."""

from __future__ import annotations

from dataclasses import dataclass

from dgraph.algorithms.sssp_parts import bellman_ford, waiting_buckets
from dgraph.algorithms.sssp_parts.bellman_ford import TAG, EdgeClasses, PackedWord, RoundDistances
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import State
from dgraph.errors import DataError, UsageError, option
from dgraph.program.traversal import Traversal
from dgraph.result.columns import UNREACHED


@dataclass(frozen=True)
class Variant:
    """One variant.

    Attributes:
        program: its rounds.
        schedule: GPU schedule.
        signed: True if negative weights are allowed.
        limit: distances must be smaller, as integers.
    """

    program: type[RoundDistances]
    schedule: str = "auto"
    signed: bool = False
    limit: int = UNREACHED

    def traversal(self, name: str) -> Traversal:
        """Return the traversal strategy of the variant called ``name``."""
        return Traversal(f"variant {name} of sssp", schedule=self.schedule, on_cpu=True)

    @property
    def buckets(self) -> bool:
        """True if the variant has buckets, so that ``delta`` applies."""
        return issubclass(self.program, waiting_buckets.WaitingBuckets)


VARIANTS = {
    "bellman-ford": Variant(bellman_ford.Worklist, signed=True),
    "bellman-ford-topology": Variant(bellman_ford.AllEdges, signed=True),
    "delta-stepping": Variant(waiting_buckets.DeltaStepping),
    "near-far": Variant(waiting_buckets.NearFar, "merge_path"),
    "workfront": Variant(bellman_ford.Workfront, "merge_path", signed=True),
    "bucketing": Variant(waiting_buckets.Bucketing, "merge_path"),
    "h-bf": Variant(PackedWord, "dynamic_warp", limit=2 ** (63 - TAG)),
}
"""Variant by its name in paper 001."""

SIGNED = ", ".join(name for name, variant in VARIANTS.items() if variant.signed)
"""Names of the variants that take negative weights."""

WIDTH = 32
"""Default Δ of the papers in units of mean weight / mean degree: the width of a warp [Davidson et al. 2014]."""

COUNTED = ("walked", "relaxations", "queued", "direct", "skipped")
"""Globals of programs that a result's summary has."""


def solve(ctx: Context, name: str, source: int, cutoff: float | None, delta: float, dtype: str) -> State:
    """Run a variant on weights ≥ 0 and return its state, with distances in ``dist``; collective.

    Args:
        ctx: context of the algorithm.
        name: key of :data:`VARIANTS`.
        source: original id.
        cutoff: largest distance to find; None: all.
        delta: width of a bucket.
        dtype: dtype of distances; int64 for ``h-bf``.
    """
    variant = VARIANTS[name]
    settings = {"source": source} | ({} if cutoff is None else {"cutoff": float(cutoff)})
    if variant.buckets:
        settings["delta"] = delta
    if variant.program is bellman_ford.AllEdges:
        settings["arcs"] = ctx.local.arcs
    program = variant.program(**settings).with_traversal(variant.traversal(name))
    if variant.program is PackedWord:
        return _packed(ctx, program)
    return ctx.run(program.retype(dist=dtype, best=dtype))


def _packed(ctx: Context, program) -> State:
    """Find the classes of edges, then run ``h-bf``; collective."""
    kind = ctx.local.out.weight_type
    if kind is not None and kind.kind == "f":
        raise UsageError(
            f"{option('variant', 'h-bf')} packs an integer distance and a round in 64 bits, and the weights are "
            f"{kind.name}; load integers, or take another variant"
        )
    classes = ctx.run(EdgeClasses())
    state = ctx.run(program, {name: classes.raw(name) for name in ("arriving", "loops")})
    if state.rounds >= 2**TAG - 1:
        variant = option("variant", "h-bf")
        raise DataError(f"{variant} numbers up to {2**TAG - 2:,} rounds, and this graph needs more; take near-far")
    return state


def figures(state: State) -> dict[str, int]:
    """Return the summary's figures of a variant: rounds, edges walked, and what else it counts."""
    counted = {name: int(state.globals[name]) for name in COUNTED if name in state.globals}
    return {"search_rounds": state.rounds} | counted
