"""Breadth-first search: hops from a source and, on request, predecessors.

Levels are found by a direction-optimising search [Beamer et al., SC 2012], or by one of the variants of
``bfs_variants.py``. On one CPU rank it finds predecessors, too (:class:`SmallestTree`), unless rows are short.
Elsewhere a second, single-round program finds each vertex's smallest valid predecessor, so that the tree does not
depend on backend or rank count. Where any valid predecessor will do, one GPU keeps the one that reached the vertex
first (:class:`FirstParents`) and needs no second pass over edges.
"""

from __future__ import annotations

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
from dgraph.algorithms.bfs_variants import FEATURES, VARIANTS, traversal
from dgraph.algorithms.distances import begin_summary, summarize, widened
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.algorithms.first_parents import LEVEL, FirstParents, first_found, tree_levels, tree_parents
from dgraph.algorithms.targets import TARGET, check_target, hops_between, target_summary, up_to_target
from dgraph.engine.rounds.context import Context
from dgraph.program import ADD, ALL, INF, MIN, Field, Global, Program, where
from dgraph.result.columns import UNREACHED

SMALLEST, ANY = "smallest", "any"

PREDECESSORS = Parameter(
    "predecessors",
    str,
    SMALLEST,
    "which predecessor, if several are valid; any costs less on GPUs, and may differ between runs",
    choices=(SMALLEST, ANY),
)
"""Parameter ``predecessors`` of searches."""


class Levels(Program):
    """Level-synchronous BFS. An edge proposes the round number, so messages carry the reached vertices and no values.

    Attributes:
        source: original id.
        limit: deepest level to visit.
    """

    source: int = 0
    limit: int = UNREACHED

    level = Field("int32", reduce=MIN)

    def init(self, v, g):
        """Put the source on level 0."""
        here = v.id == self.source
        return {"level": where(here, 0, INF), "active": here & (self.limit > 0)}

    def cond(self, v, g):
        """Accept one proposal per vertex."""
        return v.level == INF

    def edge(self, u, e, v, g):
        """Propose the level of this round."""
        return {"level": g.round + 1}

    def step(self, g):
        """End when no vertex was reached, or at the depth limit."""
        return {"done": (g.active == 0) | (g.round >= self.limit)}


class LevelsToTarget(Levels):
    """Level-synchronous BFS that ends with the level of a target.

    Attributes:
        target: original id.
        met: 1 in the round that reached the target.
    """

    target: int = 0

    met = Global("int64", reduce=ADD)

    def apply(self, v, g):
        """Activate the vertices of this round's level, and look for the target among them."""
        reached = v.level == g.round + 1
        return {"active": reached, "met": reached & (v.id == self.target)}

    def step(self, g):
        """End also when the target was reached."""
        return {"done": (g.active == 0) | (g.round >= self.limit) | (g.met > 0)}


class NearestLevels(Levels):
    """Level-synchronous BFS from several vertices: hops from the nearest of them.

    Attributes:
        start: given: True for a source.
    """

    start = Field("bool", given=True)

    def init(self, v, g):
        """Put the sources on level 0."""
        return {"level": where(v.start, 0, INF), "active": v.start & (self.limit > 0)}


class Tree(Levels):
    """Search in which a vertex keeps the original id of the vertex that reached it first, below :data:`NO_PARENT`.

    Attributes:
        parent: of the source and the unreached INF.
    """

    parent = Field("uint32", reduce=MIN)

    def edge(self, u, e, v, g):
        """Propose the level of this round with ``u`` as the parent."""
        return {"level": g.round + 1, "parent": u.id}


class SmallestTree(Tree):
    """Search in which a vertex keeps the smallest original id among those that reach it first.

    A pull over in-neighbours in ascending order stops at the first one in the frontier.
    """

    def cond(self, v, g):
        """Accept proposals of one round."""
        return (v.level == INF) | (v.level == g.round + 1)


class Hops(Program):
    """Label-correcting BFS for ranks that run local rounds between exchanges: a level may still fall.

    Attributes:
        source: original id.
        limit: deepest level to visit.
    """

    source: int = 0
    limit: int = UNREACHED
    directions = ("push",)
    local_rounds = True

    level = Field("int32", reduce=MIN)

    def init(self, v, g):
        """Put the source on level 0."""
        here = v.id == self.source
        return {"level": where(here, 0, INF), "active": here & (self.limit > 0)}

    def edge(self, u, e, v):
        """Propose the source's level plus one, up to the depth limit."""
        return {"level": where(u.level < self.limit, u.level + 1, INF)}


class CloserHops(Hops):
    """Label-correcting BFS from the levels of a graph to which edges were added.

    Attributes:
        touched: given: True if an added edge leaves the vertex.
    """

    local_rounds = False

    level = Field("int32", reduce=MIN, given=True)
    touched = Field("bool", given=True)

    def init(self, v, g):
        """Activate the reached sources of added edges."""
        return {"active": v.touched & (v.level < self.limit)}

    def priority(self, v):
        """Process vertices by level, so that few levels fall twice."""
        return v.level


class ParentSearch(OnePass):
    """Smallest original id among the in-neighbours one level up, in one round.

    Levels are read from ``hops``, an 8-bit copy, so that more of them fit the cache; levels above :data:`DEEPEST` need
    ``retype(hops="int32")``.
    """

    level = Field("int32", given=True)
    hops = Field("uint8")
    parent = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Copy the level into ``hops``."""
        return {"hops": where(v.level == INF, INF, v.level)}

    def edge(self, u, e, v):
        """Propose ``u`` if it is one level up."""
        return {"parent": where(u.hops + 1 == v.hops, u.id, INF)}


class Parents(ParentSearch):
    """Pull variant: every vertex below level 1 scans its in-edges, up to the first valid parent if they are sorted.

    Attributes:
        source: original id, the parent of all vertices on level 1.
    """

    source: int = 0
    domain = ALL
    monotone = True

    def init(self, v, g):
        """Set the parent of vertices on level 1."""
        return super().init(v, g) | {"parent": where(v.level == 1, self.source, INF)}

    def cond(self, v, g):
        """Skip unreached vertices and those with a known parent."""
        return (v.hops > 1) & (v.hops != INF)


class ParentsBelowSources(Parents):
    """Pull variant after a search from several vertices: those on level 1 scan their in-edges, too."""

    def init(self, v, g):
        """Copy the level into ``hops``."""
        return ParentSearch.init(self, v, g)

    def cond(self, v, g):
        """Skip the sources and unreached vertices."""
        return (v.hops > 0) & (v.hops != INF)


class PushedParents(ParentSearch):
    """Push variant, for ranks without in-edges (CSC): every reached vertex proposes itself to its neighbours."""

    directions = ("push",)

    def init(self, v, g):
        """Activate the reached vertices."""
        return super().init(v, g) | {"active": v.level != INF}


class CloserParents(OnePass):
    """Parents after levels fell: a vertex whose level fell, or from which an added edge leads, proposes itself.

    A vertex with its former level keeps its parent unless a smaller id proposes itself. One whose level fell has only
    new valid parents: along a former edge from a vertex with its former level it would have had that level before.

    Attributes:
        moved: given: True if the vertex proposes itself.
        parent: given: the former parent; INF where there is none, or the level fell.
    """

    directions = ("push",)

    level = Field("int32", given=True)
    moved = Field("bool", given=True)
    parent = Field("int64", reduce=MIN, given=True)

    def init(self, v, g):
        """Activate the vertices that propose themselves."""
        return {"active": v.moved & (v.level != INF)}

    def edge(self, u, e, v):
        """Propose ``u`` if it is one level up."""
        return {"parent": where(u.level + 1 == v.level, u.id, INF)}


NO_PARENT = np.iinfo(np.uint32).max
"""Parent in :class:`Tree` where there is none."""

DEEPEST, MEAN = 253, 8
"""Deepest level that fits ``hops`` in 8 bits (255 is INF, so a level plus one must stay below), and the mean degree
from which a search is expected not to exceed it."""


@algorithm(
    "bfs",
    SOURCE,
    Parameter(
        "depth_limit", int, None, "visit vertices up to this many hops (default: all)", aliases=("cutoff",), least=0
    ),
    Parameter("return_predecessors", bool, True, "also return each vertex's predecessor: the smallest valid id"),
    PREDECESSORS,
    TARGET,
    Parameter("variant", str, "direction-optimizing", "traversal strategy; most need GPUs", choices=tuple(VARIANTS)),
    Parameter("without", str, None, f"features of bfs-4k to switch off, comma-separated: {', '.join(FEATURES)}"),
    columns={
        "distance": ResultColumn("hops from the source; null: unreached", nullable=True),
        "predecessor": PREDECESSOR,
    },
)
class Bfs(Algorithm):
    """Breadth-first search: hops from a source, and predecessors.

    Columns: ``distance`` (int64, ``UNREACHED`` without a path) and ``predecessor`` (-1 if there is none).

    With a ``target`` the variant direction-optimizing stops at its level, and others run to their end. In either case
    the columns are those of a search with the target's distance as ``depth_limit``: vertices farther than the target
    have neither distance nor predecessor. An unreached target changes nothing. The summary has ``target_distance``.
    """

    source: int
    depth_limit: int | None
    return_predecessors: bool
    predecessors: str
    target: int | None
    variant: str
    without: str | None
    needs_source = continues = True
    edge_rule = AS_SIMPLE

    @property
    def traversal(self):
        """Traversal strategy of the variant."""
        return traversal(self.variant, self.without)

    def check(self):
        """Refuse unknown variants and features."""
        traversal(self.variant, self.without)

    def run(self, ctx: Context) -> Answer:
        """Find the levels, then the predecessors; collective."""
        source = check_source(ctx, self.source, "bfs")
        target = check_target(ctx, self.target)
        limit = UNREACHED if self.depth_limit is None else self.depth_limit
        alone = ctx.comm.size == 1 and ctx.checkpoints is None  # several ranks may go on from a checkpoint
        simple = self.variant == "direction-optimizing" and ctx.previous is None
        length: float | None = None  # distance of the target where it is known before the search
        if source == target:
            length = 0
        elif target is not None and simple and alone and not ctx.few_rounds:
            length = hops_between(ctx, source, target, limit)
        limit = limit if length is None else int(length)
        stops = target is not None and length is None
        plain = simple and not stops and self.return_predecessors
        if plain and target is None and self.predecessors == ANY and first_found(ctx):
            return _first(ctx, source, limit)
        dense = ctx.local.arcs >= MEAN * ctx.local.n  # rounds of few edges take longer with a second field
        if plain and dense and alone and not ctx.few_rounds and ctx.local.largest_id < NO_PARENT:
            kind = Tree if self.predecessors == ANY else SmallestTree
            return _tree(ctx, kind(source=source, limit=limit), source, target, length)
        previous = ctx.previous if ctx.previous is not None and not ctx.previous.removed else None
        levels = Levels(source=source, limit=limit).with_traversal(self.traversal)
        if stops and self.variant == "direction-optimizing":
            levels = LevelsToTarget(source=source, limit=limit, target=target)
        apart = target is None and self.variant == "direction-optimizing" and ctx.local_rounds
        above = self._above(ctx, apart, source)
        if self.return_predecessors and previous is None:
            ctx.ahead(above)
        if previous is not None:
            state, fell = _closer(ctx, previous, source, limit)
        else:
            state = ctx.run(Hops(source=source, limit=limit) if apart else levels)
        if stops:
            state, length = up_to_target(ctx, state, "level", target)
        elif not state.finished:
            length = None
        summarized = begin_summary(state, "level", ctx.local, counted=not stops and previous is None)
        columns = {"distance": state.column("level", widened)}
        if self.return_predecessors and previous is not None and previous.has("predecessor") and target is None:
            fields = {"level": state.raw("level"), "moved": previous.sources | fell, "parent": previous.parents(fell)}
            columns["predecessor"] = ctx.run(CloserParents(), fields).column("parent", parents)
        elif self.return_predecessors:
            above = self._above(ctx, apart, source)  # the search may have found that in-edges do not fit
            depth = (
                summarized().over_ranks(ctx.comm)[1] if apart or previous is not None else state.rounds
            )  # at least that
            tree = ctx.run(above if depth <= DEEPEST else above.retype(hops="int32"), {"level": state.raw("level")})
            columns["predecessor"] = tree.column("parent", parents)
        reached, depth, arcs = summarized().over_ranks(ctx.comm)
        summary = {"source": source, "reached": reached, "depth": depth, **target_summary(target, length)}
        return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)

    def _above(self, ctx: Context, apart, source):
        """Return the program that finds predecessors."""
        back = not ctx.local.directed or not (apart or "push" in (ctx.direction, self.traversal.direction))
        above = Parents(source=source) if back else PushedParents()
        above.first_hit = self.predecessors == ANY
        return above.retype(hops="int32") if ctx.local.arcs < MEAN * ctx.local.n else above

    def same_search(self, earlier):
        """Return True if source, depth limit and target are the same."""
        return all(earlier.get(name) == getattr(self, name) for name in ("source", "depth_limit", "target"))


def _closer(ctx: Context, previous, source: int, limit: int) -> tuple:
    """Return the levels after edges were added to the graph of a previous answer, and which fell; collective."""
    none = np.iinfo(np.int32).max
    before = np.minimum(previous.taken("distance", UNREACHED), none).astype(np.int32)
    program = CloserHops(source=source, limit=min(limit, none))
    state = ctx.run(program, {"level": before, "touched": previous.sources})
    return state, state["level"] < before


def _first(ctx: Context, source: int, limit: int) -> Answer:
    """Find levels and predecessors in one program."""
    state = ctx.run(FirstParents(source=source, limit=limit))
    reached, farthest, arcs = summarize(state, "tree", ctx.local).over_ranks(ctx.comm)
    columns = {"distance": state.column("tree", tree_levels), "predecessor": state.column("tree", tree_parents)}
    summary = {"source": source, "reached": reached, "depth": farthest // LEVEL}
    return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)


def _tree(ctx: Context, search: Tree, source: int, target: int | None, length: float | None) -> Answer:
    """Find levels and predecessors in one program on the threads of one rank."""
    state = ctx.run(search)
    reached, depth, arcs = begin_summary(state, "level", ctx.local, counted=True)().over_ranks(ctx.comm)
    columns = {"distance": state.column("level", widened), "predecessor": state.column("parent", signed)}
    figures = target_summary(target, length if state.finished else None)
    summary = {"source": source, "reached": reached, "depth": depth, **figures}
    return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)


def signed(column: np.ndarray) -> np.ndarray:
    """Return the column of predecessors of :class:`Tree`, with -1 for ``NO_PARENT``."""
    return np.where(column == NO_PARENT, -1, column.astype(np.int64))


def parents(ids: np.ndarray) -> np.ndarray:
    """Return a column of predecessors, with -1 for ``UNREACHED``."""
    column = np.multiply(ids == UNREACHED, -1 - UNREACHED, dtype=np.int64)  # faster than np.where, as in ``widened``
    column += ids
    return column
