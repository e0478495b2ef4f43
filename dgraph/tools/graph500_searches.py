"""Graph500's kernel 2: one search tree for each of many roots, timed one by one, each checked outside its time.

:class:`Graph500Searches` is run by :func:`dgraph.run.run` like any algorithm. On one GPU a search is
:class:`~dgraph.algorithms.first_parents.FirstParentsOnly`, whose parents are put in the order of ids inside the time;
elsewhere it is bfs with predecessors. Nothing of a search is used by the next one. The rules: graph500.org, version 3.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dgraph.algorithms import Algorithm, Answer
from dgraph.algorithms.bfs import ANY, Bfs
from dgraph.algorithms.first_parents import FirstParentsOnly, first_found
from dgraph.errors import UsageError, ValidationFailed
from dgraph.graph.generate import recipe_of
from dgraph.report.graph500_format import NOT_VALIDATED
from dgraph.result.columns import UNREACHED
from dgraph.validate import validate
from dgraph.validate.distributed_columns import DistributedColumns

BEFORE = ("prepare", "compile")
"""Timers of what a search does not count: work arrays are allocated, and kernels loaded, before its root is known."""

NOBODY = np.uint32(2**32 - 1)
"""Parent of an unreached vertex in :class:`FirstParentsOnly`."""

DRAWN = 64
"""Candidates that are drawn at a time for roots."""


@dataclass
class Measured:
    """Figures of the searches, equal on all ranks.

    Attributes:
        roots: their original ids.
        seconds: of each search, on the slowest rank: from the root to the parents of all vertices.
        edges: of each, the edges of the generator's list inside the tree's component, loops and repeated ones included.
        levels: of each, the depth of the tree.
        validating: of each, the seconds of validation; ``NOT_VALIDATED`` without.
        prepared: seconds of preparation before the first search.
    """

    roots: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    edges: list[int] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    validating: list[float] = field(default_factory=list)
    prepared: float = 0.0


class Graph500Searches(Algorithm):
    """Searches from ``count`` roots, drawn at random from the vertices with an edge that is not a loop."""

    name = "graph500"

    def __init__(self, graph: Any, spec: str, count: int, seed: int, check: bool):
        super().__init__()
        self.graph, self.spec, self.count, self.seed, self.checks = graph, spec, count, seed, check
        self.measured = Measured()
        self._ends: np.ndarray | None = None

    def settings(self):
        """Return the number of roots and the seed."""
        return {"roots": self.count, "seed": self.seed}

    def run(self, ctx) -> Answer:
        """Search from every root; collective.

        Raises:
            UsageError: the graph has fewer vertices with edges.
            ValidationFailed: a tree is wrong.
        """
        searches = self.measured
        searches.roots = self._roots(ctx)
        search = _first_parents if first_found(ctx) else _parents
        search(ctx, searches.roots[0])  # compiles, and allocates what the graph keeps
        searches.prepared = ctx.record.seconds.get("prepare", 0.0)
        for root in searches.roots:
            ctx.comm.barrier()
            began, before = time.perf_counter(), _prepared(ctx)
            tree = search(ctx, root)
            spent = time.perf_counter() - began - (_prepared(ctx) - before)
            searches.seconds.append(ctx.largest(int(spent * 1e9)) / 1e9)
            self._check(ctx, root, *tree)
        return Answer({}, {"roots": self.count})

    def _roots(self, ctx) -> list[int]:
        """Draw distinct roots; every rank draws the same candidates, and their owners say which have an edge."""
        rng, local = np.random.default_rng(self.seed), ctx.local
        roots: dict[int, None] = {}
        tried = 0
        while len(roots) < self.count and tried < 64 * max(local.n, DRAWN):
            candidates = rng.integers(0, local.n, DRAWN)
            lids = [local.lid(int(vertex)) for vertex in candidates]
            mine = np.array([lid is not None and local.degree_of(lid) > 0 for lid in lids], np.int64)
            roots |= dict.fromkeys(candidates[ctx.comm.allreduce(mine) > 0].tolist())
            tried += DRAWN
        if len(roots) < self.count:
            raise UsageError(
                f"{self.spec} has {len(roots)} vertices with edges among those drawn, fewer than {self.count} roots; "
                "choose a larger scale, or fewer roots"
            )
        return list(roots)[: self.count]

    def _check(self, ctx, root: int, distance: Any, parent: Any) -> None:
        """Count the edges of a search, and validate it; arrays of the GPU where levels follow from the parents."""
        began, searches, evidence = time.perf_counter(), self.measured, self.graph.evidence
        if distance is None:
            parent = np.where(parent == NOBODY, -1, parent.astype(np.int64))
            parent[root] = -1
            distance = depths(parent, root)
        drawn = evidence if hasattr(evidence, "prove_tree") and ctx.comm.size == 1 else None
        if drawn is None:
            distance, parent = (_on_host(ctx, column) for column in (distance, parent))
        searches.levels.append(ctx.largest(int(np.where(distance == UNREACHED, -1, distance).max())))
        if self.checks and drawn is not None:
            counts = drawn.prove_tree(distance, parent, root, None, False)
            wrong = [f"{name} {count}" for name, (count, _) in counts.items() if count]
            if wrong:
                raise ValidationFailed(f"the tree from root {root} is wrong; violations by rule: {', '.join(wrong)}")
        elif self.checks:
            columns = {"vertex": ctx.local.original[: ctx.local.masters], "distance": distance, "predecessor": parent}
            verdict = validate("bfs", evidence, columns, ctx.comm, parameters={"source": root}, rounds=0)
            if verdict.passed is False:
                raise ValidationFailed(f"root {root}: {verdict}")
        searches.validating.append(time.perf_counter() - began if self.checks else NOT_VALIDATED)
        searches.edges.append(self._edges(ctx, distance) if drawn is None else drawn.count_edges(distance))

    def _edges(self, ctx, distance: np.ndarray) -> int:
        """Count the generator's edges between reached vertices; ranks draw equal shares of the list, once."""
        if self._ends is None:
            recipe, _ = recipe_of(self.spec)
            first, last = (recipe.items * rank // ctx.comm.size for rank in (ctx.comm.rank, ctx.comm.rank + 1))
            self._ends = recipe.edges(first, last)[0]
        distributed = DistributedColumns(self.graph.block, ctx.comm)
        vertex = ctx.local.original[: ctx.local.masters]
        aligned = distributed.align({"vertex": vertex, "reached": distance != UNREACHED})
        return ctx.total(int(np.count_nonzero(distributed.fetch(self._ends, aligned["reached"])[0])))


def depths(parent: Any, root: int) -> Any:
    """Return the depth of every vertex in the tree of ``parent``; ``UNREACHED`` where no path of parents leads to root.

    Args:
        parent: int64 by vertex, an array of NumPy or CuPy; -1 for the root and vertices without a parent.
        root: the vertex of depth 0.
    """
    depth = np.full_like(parent, UNREACHED)
    depth[root] = 0
    while True:
        above = np.where(parent >= 0, depth[np.maximum(parent, 0)], UNREACHED)
        new = (above != UNREACHED) & (depth == UNREACHED)
        if not bool(new.any()):
            return depth
        depth = np.where(new, above + 1, depth)


def _prepared(ctx) -> float:
    return sum(ctx.record.seconds.get(name, 0.0) for name in BEFORE)


def _on_host(ctx, values: Any) -> np.ndarray:
    return values if isinstance(values, np.ndarray) else ctx.backend.device.get(values)


def _first_parents(ctx, root: int) -> tuple[Any, Any]:
    """Find parents in GPU memory, by id, uint32; levels are left out."""
    column = ctx.run(FirstParentsOnly(source=root)).column("parent")
    on_device = column.on_device()
    ctx.backend.device.wait()
    return None, column() if on_device is None else on_device


def _parents(ctx, root: int) -> tuple[Any, Any]:
    """Find levels and predecessors by bfs, in host memory."""
    columns = Bfs(source=root, predecessors=ANY).run(ctx).columns
    distance, predecessor = (columns[name] for name in ("distance", "predecessor"))
    return distance() if callable(distance) else distance, predecessor() if callable(predecessor) else predecessor
