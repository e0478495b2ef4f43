"""One search from several sources: distances from the nearest, which source that is, and predecessors.

Distances and predecessors are those of bfs and sssp. The predecessors of a vertex lead to its nearest source; where
several are equally near, the smallest predecessors decide. Entries: :func:`nearest_by_hops` and
:func:`nearest_by_weights`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.base import Answer, limited
from dgraph.algorithms.bfs_programs import DEEPEST, NearestLevels, ParentsBelowSources, PushedParents, parents
from dgraph.algorithms.delta_stepping import NearestDistances, NearestLimitedDistances
from dgraph.algorithms.distances import DistanceColumn, summarize
from dgraph.algorithms.sssp import default_delta, dtypes_of, fits, followed_width, refuse_overflow
from dgraph.algorithms.sssp_parts.sssp_predecessors import nearer_program, predecessors
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import State
from dgraph.program import INF, MIN, Field, Program, where
from dgraph.result.columns import UNREACHED, Column


class NearestSource(Program):
    """Source at the root of each vertex's tree of predecessors, sent down the tree.

    Attributes:
        start: given: True for a source.
        parent: given: original id of the predecessor; -1 if there is none.
        nearest: original id of the source; INF if unreached.
    """

    directions = ("push",)

    start = Field("bool", given=True)
    parent = Field("int64", given=True)
    nearest = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Begin at the sources."""
        return {"nearest": where(v.start, v.id, INF), "active": v.start}

    def edge(self, u, e, v):
        """Propose the source of ``u`` to the vertices whose predecessor it is."""
        return {"nearest": where(v.parent == u.id, u.nearest, INF)}


def nearest_by_hops(ctx: Context, sources: np.ndarray, work: Any) -> Answer:
    """Search level by level, up to ``work.limit`` hops; collective."""
    starts = _starts(ctx, sources)
    state = ctx.run(NearestLevels(limit=UNREACHED if work.limit is None else work.limit), {"start": starts})
    paths = summarize(state, "level", ctx.local)
    pulls = not ctx.local.directed or ctx.direction != "push"
    above = ParentsBelowSources() if pulls else PushedParents()
    tree = ctx.run(above if state.rounds <= DEEPEST else above.deep(), {"level": state.raw("level")})
    column = tree.column("parent", parents)
    return _answer(ctx, starts, len(sources), state, paths, column, {"depth": paths.over_ranks(ctx.comm)[1]})


def nearest_by_weights(ctx: Context, sources: np.ndarray, work: Any) -> Answer:
    """Search by Δ-stepping, up to the distance ``work.limit``; collective.

    Raises:
        DataError: a weight below 0, or a distance that exceeds 64 bits.
    """
    starts, cutoff = _starts(ctx, sources), work.limit
    most, mean = largest_and_mean(ctx, f"{work.name} needs weights ≥ 0")
    delta = followed_width(ctx, default_delta(ctx, mean))
    program: Program = NearestDistances(delta=delta)
    if cutoff is not None:
        program = NearestLimitedDistances(delta=delta, cutoff=cutoff).with_light_edges(cutoff)
    program.widens, program.local_rounds, program.follows = True, ctx.local_rounds, ctx.follows_buckets
    nearer = nearer_program(ctx)
    for dtype in dtypes_of(ctx, most):
        state = ctx.run(program.retype(dist=dtype), {"start": starts})
        paths = summarize(state, "dist", ctx.local)
        reached, farthest, _ = paths.over_ranks(ctx.comm)
        if fits(ctx, farthest + most, dtype):
            break
    if cutoff is None:
        refuse_overflow(ctx, state, dtype, most)
    column = predecessors(ctx, nearer.retype(dist=dtype), sources.tolist(), state, dtype, reached)
    return _answer(ctx, starts, len(sources), state, paths, column, {})


def _starts(ctx: Context, sources: np.ndarray) -> np.ndarray:
    """Return True for each master that is a source, bool as uint8 (masters,)."""
    return np.isin(ctx.local.original[: ctx.local.masters], sources).astype(np.uint8)


def _answer(
    ctx: Context, starts: np.ndarray, count: int, state: State, paths: DistanceColumn, column: Column, more: dict
) -> Answer:
    """Return the answer with the nearest sources; collective."""
    before = np.asarray(column() if callable(column) else column)
    tree = ctx.run(NearestSource(), {"start": starts, "parent": before})
    reached, _, arcs = paths.over_ranks(ctx.comm)
    columns = {"distance": paths.column, "source": tree.column("nearest", parents), "predecessor": before}
    finished, rounds = state.finished and tree.finished, state.rounds if not state.finished else tree.rounds
    summary = {"sources": count, "reached": reached, **more}
    return Answer(columns, summary, finished, limited(finished, rounds), arcs)
