"""Algorithms whose result has a column for each source: searches from sources that the caller names, or drawn ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dgraph.algorithms.base import PREDECESSOR, Algorithm, Answer, Parameter, ResultColumn
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.algorithms.many_sources.drawn_sources import RANDOM_STATE, check_sources, sources_of
from dgraph.algorithms.sssp_parts.sssp_predecessors import predecessors_of_each
from dgraph.engine.rounds.context import Context

NAMED_OR_DRAWN = (
    Parameter("sources", "vertices", None, "vertices to start from (default: k drawn ones)", weights=False),
    Parameter("k", int, 64, "number of sources that are drawn, at most all vertices", least=1),
    RANDOM_STATE,
)
"""Parameters of a :class:`NamedSearch`."""

MIN_ONLY = Parameter(
    "min_only", bool, False, "one search from all sources: distance from the nearest, which it is, and predecessors"
)
"""Parameter ``min_only`` of searches from many sources, as of SciPy's ``dijkstra``."""

NEAREST = {
    "source": ResultColumn(
        "with min_only, the nearest source: the end of the predecessors; null: none", "vertex", True
    ),
    "predecessor": PREDECESSOR,
}
"""Columns of searches with ``min_only``, beside the distance."""


class NamedSearch(Algorithm):
    """Base of algorithms that search from each source; their one column, ``NAME_S``, stands for that of a source S.

    Attributes:
        kernel: row kernel that searches.
        keep: what it keeps of each source.
        limit: largest distance; None: there is no limit.
        nearest: answers with ``min_only``.
    """

    sources: Any
    k: int
    random_state: int
    edge_rule = AS_SIMPLE
    kernel: str
    keep: str
    limit: Any = None
    min_only = return_predecessors = False
    nearest: Callable[[Context, np.ndarray, Any], Answer]

    def run(self, ctx: Context) -> Answer:
        """Search from each source; collective."""
        sources, columns = named_or_drawn(ctx, self), type(self).columns
        if self.min_only:
            self.columns = {name: columns[name] for name in ("distance", *NEAREST)}  # type: ignore[misc]
            return self.nearest(ctx, sources, self)
        reached = ctx.solver(self.kernel).solve(ctx, sources, self)
        depth, ids = {} if reached.depth is None else {"depth": reached.depth}, names_of(ctx, sources)
        fields, described = named_columns(*next(iter(columns.items())), ids, reached.columns)
        if self.return_predecessors:
            before = predecessors_of_each(ctx, sources, reached.columns)
            more, described_too = named_columns("predecessor_S", columns["predecessor_S"], ids, before)
            fields, described = fields | more, described | described_too
        self.columns = described  # type: ignore[misc]
        return Answer(fields, {"sources": len(sources), "reached": reached.pairs} | depth)


class NamedHopSearch(NamedSearch):
    """Base of searches by hops, which may have a limit."""

    depth_limit: int | None
    needs_rows = "own"

    @property
    def limit(self) -> int | None:
        """Largest distance."""
        return self.depth_limit


def named_or_drawn(ctx: Context, work: Any) -> np.ndarray:
    """Return the sources of an algorithm with the parameters :data:`NAMED_OR_DRAWN`, original ids; collective."""
    if work.sources is None:
        return sources_of(ctx, min(work.k, ctx.local.n), work.random_state)
    return check_sources(ctx, work.sources, work.name)


def names_of(ctx: Context, sources: np.ndarray) -> Any:
    """Return the names of vertices, or their ids where they have none; collective."""
    return sources.tolist() if ctx.names is None else ctx.names.of(sources, ctx.comm)


def named_columns(
    name: str, column: ResultColumn, ids: Any, columns: Sequence[Any]
) -> tuple[dict[str, Any], dict[str, ResultColumn]]:
    """Return columns and their descriptions by name, with each id in place of S."""
    names, text = [f"{name.removesuffix('S')}{i}" for i in ids], column.help.replace("source S", "S")
    described = (replace(column, help=text.replace(" S", f" {i}")) for i in ids)
    return dict(zip(names, columns, strict=True)), dict(zip(names, described, strict=True))


def depth_limit(text: str) -> Parameter:
    """Return the parameter ``depth_limit`` of a search by hops."""
    return Parameter("depth_limit", int, None, text, least=0)
