"""Strongly connected components: one component by two searches, then the others by smallest ids.

The component of the vertex with the largest in-degree · out-degree, mostly the giant one, is what a search along edges
and one against them both reach [Fleischer, Hendrickson & Pınar 2000]. No other component has vertices of two of the
remaining parts: reached by one search, by the other, or by none.

All parts are then split at once, until every vertex is decided. A vertex takes the smallest id that reaches it within
its part, which splits the part [Orzan 2004]; then the smallest id that it reaches within its new part. If both are
equal, they are the smallest id of its component; otherwise the second one names its next part. As in ECL-SCC [Alabandi,
Sands, Biros & Burtscher 2023] both directions split in each pass: chains of ascending or descending ids take two.
One GPU does the same over lists of arcs, ``kernels/strong/strong.cuh``. Small graphs, and what is little or left on one
rank, are decided by a depth-first search, ``kernels/strong/strong_search.py``.
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, ResultColumn, algorithm
from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.engine.rounds.context import Context
from dgraph.errors import OutOfMemory
from dgraph.program import INF, MIN, Field, Program, where
from dgraph.result.columns import UNREACHED


class LevelsBack(Levels):
    """Breadth-first search against the edges."""

    reverse = True


class Reaching(Program):
    """Smallest id that reaches a vertex within its part.

    Attributes:
        part: given: the component's label of a decided vertex; a negative number of an undecided one.
    """

    monotone = True
    part = Field("int64", given=True)
    label = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Label every vertex with its own id, and activate the undecided ones."""
        return {"label": v.id, "active": (v.part < 0) & (v.out_degree > 0)}

    def cond(self, v, g):
        """Skip decided vertices."""
        return v.part < 0

    def edge(self, u, e, v):
        """Propose the source's label within its part."""
        return {"label": where(u.part == v.part, u.label, INF)}


class Reached(Reaching):
    """Smallest id that a vertex reaches within its part."""

    reverse = True


@algorithm(
    "scc",
    columns={"labels": ResultColumn("smallest id of the component; null: undecided", "vertex", nullable=True)},
    aliases=("strongly_connected_components",),
)
class Scc(Algorithm):
    """Strongly connected components: the smallest id of each vertex's component.

    Column: ``labels`` (int64, an original id; -1 undecided, after a round limit). The summary has the number of
    components and the size of the largest.
    """

    one_gpu = "strong"
    edge_rule = AS_SIMPLE

    def run(self, ctx: Context) -> Answer:
        """Find the labels, count the components, and the vertices of the largest; collective."""
        solver = ctx.solver("strong")
        if solver is None:
            return self._by_programs(ctx)
        try:
            labels, components, largest = solver.solve(ctx, Levels(), LevelsBack())
        except OutOfMemory as lacking:
            ctx.record.choose("components", "programs", str(lacking))
            return self._by_programs(ctx)
        return Answer({"labels": labels}, {"components": components, "largest": largest})

    def _by_programs(self, ctx: Context) -> Answer:
        """Split parts by programs until every vertex is decided; collective."""
        original, search = ctx.local.original[: ctx.local.masters], ctx.solver("strong search")
        alone = search is not None and search.alone(ctx)
        if alone and (decided := search.solve(ctx, np.full(original.size, -1), ctx.local.n)) is not None:
            labels, components, largest = decided
            return Answer({"labels": labels}, {"components": components, "largest": largest})
        pivot = _pivot(ctx, original)
        part, giant, finished = (original.copy(), -1, True) if pivot is None else _around(ctx, pivot, original)
        while finished and (undecided := ctx.total(int(np.count_nonzero(part < 0)))):
            decided = search and search.solve(ctx, part, undecided)
            part, finished = _split(ctx, part) if decided is None else (decided[0], True)
        labels = part if finished else np.maximum(part, -1)
        components = ctx.total(int(np.count_nonzero(labels == original)))
        largest = _largest(labels, original, giant, ctx) if components else 0
        summary = {"components": components, "largest": largest}
        return Answer({"labels": labels}, summary, finished, None if finished else f"{ctx.rounds} rounds")


def _pivot(ctx: Context, original: np.ndarray) -> int | None:
    """Return a vertex of largest in-degree · out-degree; None if no vertex has arcs of both kinds; collective."""
    degrees = ctx.local.out_degree[: original.size] * ctx.reversed.out_degree[: original.size]
    most = ctx.largest(int(degrees.max(initial=0)))
    return _smallest(original, degrees == most, ctx.comm) if most else None


def _around(ctx: Context, pivot: int, original: np.ndarray) -> tuple[np.ndarray, int, bool]:
    """Return the component of one vertex and the three parts around it; collective.

    Returns:
        part of each master as of :class:`Reaching`; the component's label; and False if a round limit ended a search.
    """
    ctx.ahead(LevelsBack(), Reaching(), Reached())
    ahead, behind = ctx.run(Levels(source=pivot)), ctx.run(LevelsBack(source=pivot))
    below, above = (state["level"] != np.iinfo(np.int32).max for state in (ahead, behind))
    label, finished = _smallest(original, below & above, ctx.comm), ahead.finished and behind.finished
    part = np.full(original.size, -3)
    for value, mask in ((-2, above), (-1, below), (label if finished else -3, below & above)):
        np.copyto(part, value, where=mask)
    return part, label, finished


def _split(ctx: Context, part: np.ndarray) -> tuple[np.ndarray, bool]:
    """Split every part by the smallest ids that reach its vertices and that they reach; collective.

    Returns:
        the next parts; and False, with the parts as they were, if a round limit ended a program.
    """
    into = ctx.run(Reaching(), {"part": part})
    label, decided = into["label"], part >= 0
    halved = ~label
    np.copyto(halved, part, where=decided)
    back = ctx.run(Reached(), {"part": halved})
    if not (into.finished and back.finished):
        return part, False
    low = back["label"]
    after = ~low
    np.copyto(after, label, where=low == label)
    np.copyto(after, part, where=decided)
    return after, True


def _smallest(ids: np.ndarray, mask: np.ndarray, comm) -> int:
    """Return the smallest id where the mask is True on any rank; collective."""
    return int(comm.allreduce(np.array([ids.min(where=mask, initial=UNREACHED)]), "min")[0])


def _largest(labels: np.ndarray, original: np.ndarray, label: int, ctx: Context) -> int:
    """Return the size of the largest component, if there is one; collective.

    Args:
        labels: of each master; -1: undecided.
        original: id of each master.
        label: label that is counted apart, since it may have most vertices; -1: that of a vertex with most out-arcs.
        ctx: context of the run.
    """
    if label < 0:
        label = ctx.largest(int(labels[ctx.local.out_degree[: labels.size].argmax()]) if labels.size else -1)
    most = ctx.total(int(np.count_nonzero(labels == label))) if label >= 0 else 0
    others = labels[(labels != original) & (labels >= 0) & (labels != label)]  # all but one of each component
    _, counts = ctx.contract(others, np.ones(others.size, np.int64))
    return max(most, ctx.largest(int(counts.max(initial=0))) + 1)
