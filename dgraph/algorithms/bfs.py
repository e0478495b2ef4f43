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
    Parameter,
    ResultColumn,
    algorithm,
    check_source,
    limited,
)
from dgraph.algorithms.bfs_programs import (
    DEEPEST,
    MEAN,
    NO_PARENT,
    CloserHops,
    CloserParents,
    Hops,
    Levels,
    LevelsToTarget,
    Parents,
    PushedParents,
    SmallestTree,
    Tree,
    parents,
    signed,
)
from dgraph.algorithms.bfs_variants import FEATURES, VARIANTS, traversal
from dgraph.algorithms.distances import begin_summary, summarize, widened
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.algorithms.first_parents import LEVEL, FirstParents, first_found, tree_levels, tree_parents
from dgraph.algorithms.targets import TARGET, check_target, hops_between, target_summary, up_to_target
from dgraph.engine.rounds.context import Context
from dgraph.result.columns import UNREACHED

SMALLEST, ANY = "smallest", "any"

PREDECESSORS = Parameter(
    "predecessors", str, SMALLEST,
    "which predecessor, if several are valid; any costs less on GPUs, and may differ between runs",
    choices=(SMALLEST, ANY),
)  # fmt: skip
"""Parameter ``predecessors`` of searches."""


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
        if self.return_predecessors and previous is None:
            ctx.ahead(self._above(ctx, apart, source))
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
            # at least the depth
            depth = summarized().over_ranks(ctx.comm)[1] if apart or previous is not None else state.rounds
            tree = ctx.run(above if depth <= DEEPEST else above.deep(), {"level": state.raw("level")})
            columns["predecessor"] = tree.column("parent", parents)
        reached, depth, arcs = summarized().over_ranks(ctx.comm)
        summary = {"source": source, "reached": reached, "depth": depth, **target_summary(target, length)}
        return Answer(columns, summary, state.finished, limited(state.finished, state.rounds), arcs)

    def _above(self, ctx: Context, apart, source):
        """Return the program that finds predecessors."""
        back = not ctx.local.directed or not (apart or "push" in (ctx.direction, self.traversal.direction))
        above = Parents(source=source) if back else PushedParents()
        above.first_hit = self.predecessors == ANY
        return above.deep() if ctx.local.arcs < MEAN * ctx.local.n else above

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
