"""Shortest paths with negative weights, and negative cycles by name.

The programs of ``bellman_ford.py`` run in segments of doubling length and also keep ``since``, the round in which a
distance was found. After a segment, every vertex v but the source has an in-neighbour u with either d(u) + w < d(v), or
d(u) + w = d(v) and since(u) + 1 = since(v). One of them is its parent. If parents form a cycle, its weight is negative:
around the cycle, the sum of w is at most 0, and not all inequalities can be equalities, as ``since`` would grow for
ever. If they form none, every d(v) is at least the weight of a simple path, so no distance falls after round n - 1.
Hence a negative cycle in reach of the source is found after at most n rounds, usually far earlier.

At the end no edge is shorter, ``since`` is the smallest number of edges of a shortest path, and parents are a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.algorithms.base import OnePass
from dgraph.algorithms.sssp_parts.bellman_ford import AllEdges, RoundDistances, Workfront, Worklist
from dgraph.algorithms.sssp_parts.variants import VARIANTS, figures
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import State
from dgraph.errors import DataError, NegativeCycle
from dgraph.program import ADD, INF, MIN, OR, Field, Global, Program, where
from dgraph.result.columns import UNREACHED

SEGMENT = 16
"""Rounds before the first search for a cycle."""

NAMED = 20
"""Most vertices of a cycle that a message names."""


class Segment(RoundDistances):
    """Mixin: continue from given distances for ``limit`` rounds.

    Attributes:
        before: rounds of earlier segments.
        limit: rounds of this one.
        since: round in which the distance was found; -1 without one.
        open: vertices whose distance fell in the last round.
    """

    before: int = 0
    limit: int = SEGMENT

    dist = Field("int64", given=True)
    best = Field("int64", reduce=MIN, given=True)
    since = Field("int64", given=True)
    open = Global("int64", init=1)

    def init(self, v, g):
        """Activate the vertices whose distance fell last."""
        first = (v.since == 0) & (self.before == 0)
        return {"active": v.since == self.before, "walked": where(first, v.out_degree, 0)}

    def apply(self, v, g):
        """Note the round."""
        rounds = self.before + g.round + 1
        return super().apply(v, g) | {"since": where(v.best < v.dist, rounds, v.since)}

    def fell(self, g):
        """Return how many distances fell in the round."""
        return g.active

    def step(self, g):
        """End when no distance fell, or after the last round."""
        ends = (self.fell(g) == 0) | (g.round >= self.limit)
        return super().step(g) | {"open": self.fell(g), "done": ends}


class AllEdgesSegment(Segment, AllEdges):
    """Segment of ``bellman-ford-topology``."""

    def init(self, v, g):
        """Start from the given distances."""
        return {}

    def fell(self, g):
        """Return how many distances fell in the round."""
        return g.changed


class WorkfrontSegment(Segment, Workfront):
    """Segment of ``workfront``."""

    queued = Global("int64", reduce=ADD, keep=True)

    def init(self, v, g):
        """Activate the vertices whose distance fell last, and count the source in the first segment."""
        return super().init(v, g) | {"queued": where((v.since == 0) & (self.before == 0), 1, 0)}


class WorklistSegment(WorkfrontSegment, Worklist):
    """Segment of ``bellman-ford``."""

    def init(self, v, g):
        """Activate the vertices whose distance fell last."""
        fields = super().init(v, g)
        return fields | {"relaxations": fields["walked"]}


SEGMENTS: dict[type, type[Segment]] = {
    AllEdges: AllEdgesSegment,
    Workfront: WorkfrontSegment,
    Worklist: WorklistSegment,
}
"""Program of a variant → its program for negative weights."""


class PathParents(OnePass):
    """Smallest original id among a vertex's possible parents; see the module's docstring."""

    directions = ("push",)

    dist = Field("int64", given=True)
    since = Field("int64", given=True)
    parent = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Activate the reached vertices."""
        return {"active": v.dist != INF}

    def edge(self, u, e, v):
        """Propose ``u`` if the edge is shorter, or gave the distance."""
        dist = u.dist + e.weight
        gave = (dist == v.dist) & (u.since + 1 == v.since)
        return {"parent": where((dist < v.dist) | gave, u.id, INF)}


class Hanging(Program):
    """Mark the vertices that hang from the source by their parents; those below a cycle stay unmarked.

    Attributes:
        root: given: True for the source without a parent.
        parent: given: original id of the parent.
    """

    directions = ("push",)

    root = Field("bool", given=True)
    parent = Field("int64", given=True)
    hangs = Field("bool", reduce=OR)

    def init(self, v, g):
        """Start at the source."""
        return {"hangs": v.root, "active": v.root}

    def edge(self, u, e, v):
        """Mark children."""
        return {"hangs": v.parent == u.id}


@dataclass(frozen=True)
class Signed:
    """Shortest paths with negative weights.

    Attributes:
        state: state of the last segment.
        finished: False if the run's round limit ended it.
        figures: of the summary: rounds and counts of all segments.
        parent: original ids of predecessors; ``UNREACHED`` without one.
    """

    state: State
    finished: bool
    figures: dict[str, int]
    parent: np.ndarray


def solve_signed(ctx: Context, name: str, source: int, dtype: str, largest: float) -> Signed:
    """Run a variant on weights that may be negative; collective.

    Args:
        ctx: context of the algorithm.
        name: key of :data:`VARIANTS`.
        source: original id.
        dtype: int64, or the dtype of float weights.
        largest: largest absolute value of a weight.

    Raises:
        NegativeCycle: on every rank, for a negative cycle in reach of the source.
        DataError: on every rank, for sums that may not fit 64 bits.
    """
    variant = VARIANTS[name]
    kind = SEGMENTS[variant.program]
    here = ctx.local.original[: ctx.local.masters] == source
    infinity = np.inf if dtype[0] == "f" else np.iinfo(dtype).max
    dist = np.where(here, 0, infinity).astype(dtype)
    fields: dict[str, Any] = {"dist": dist, "best": dist.copy(), "since": np.where(here, 0, -1)}
    before, segment = 0, SEGMENT
    total: dict[str, int] = {}
    settings = {"arcs": ctx.local.arcs} if variant.program is AllEdges else {}
    while True:
        limit = segment if ctx.max_rounds is None else min(segment, ctx.max_rounds - before)
        if dtype == "int64" and (before + limit) * largest >= 2**62:
            raise DataError(f"paths of {before + limit} edges may be longer than 2**62; store the weights as floats")
        program = kind(source=source, before=before, limit=limit, **settings).with_traversal(variant.traversal(name))
        state = ctx.run(program.retype(dist=dtype, best=dtype), fields)
        before += state.rounds
        total = {name: total.get(name, 0) + count for name, count in figures(state).items()}
        fields = {field: state.raw(field) for field in ("dist", "best", "since")}
        parent = _parents(ctx, source, dtype, fields)
        over = state.globals["open"] == 0
        if over or before == ctx.max_rounds:
            return Signed(state, over, total, parent)
        segment *= 2


def _parents(ctx: Context, source: int, dtype: str, fields: dict[str, Any]) -> np.ndarray:
    """Return the parents after a segment, and refuse a cycle among them; collective."""
    state = ctx.run(PathParents().retype(dist=dtype), {"dist": fields["dist"], "since": fields["since"]})
    parent = state["parent"]
    here = ctx.local.original[: ctx.local.masters] == source
    root = here & (parent == UNREACHED)
    hanging = ctx.run(Hanging(), {"root": root.astype(np.uint8), "parent": state.raw("parent")})
    if not hanging.finished:  # the run's round limit
        return parent
    lost = (parent != UNREACHED) & (hanging["hangs"] == 0)
    ids = ctx.local.original[: ctx.local.masters][lost]
    first = int(ctx.comm.allreduce(np.array([ids.min(initial=UNREACHED)]), "min")[0])
    if first != UNREACHED:
        _refuse(ctx, _cycle(ctx, first, parent))
    return parent


def _cycle(ctx: Context, first: int, parent: np.ndarray) -> list[int]:
    """Follow parents from a vertex into a cycle; return its original ids in the direction of its edges."""
    place: dict[int, int] = {}
    vertex = first
    while vertex not in place:
        place[vertex] = len(place)
        lid = ctx.local.lid(vertex)
        mine = -1 if lid is None or lid >= ctx.local.masters else int(parent[lid])
        vertex = ctx.largest(mine)
    return list(place)[place[vertex] :][::-1]


def _refuse(ctx: Context, cycle: list[int]) -> None:
    """Raise the error that names a negative cycle, from its smallest id on."""
    begin = cycle.index(min(cycle))
    cycle = cycle[begin:] + cycle[:begin]
    names = [str(ctx.called(vertex)) for vertex in (*cycle[:NAMED], cycle[0])]
    if len(cycle) > NAMED:
        names.insert(NAMED, f"… ({len(cycle) - NAMED} more)")
    graph = ctx.record.facts["graph"].get("name", "graph")
    raise NegativeCycle(
        f"{graph}: the weights of the cycle {' → '.join(names)} add up to less than 0, so paths through this negative "
        "cycle get shorter without end; correct the data, or start from a vertex that does not reach it"
    )
