"""Algorithms whose result has a column for each source: searches from sources that the caller names, or drawn ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.algorithms.many_sources.drawn_sources import RANDOM_STATE, check_sources, sources_of
from dgraph.algorithms.many_sources.results import ENDLESS
from dgraph.engine.rounds.context import Context
from dgraph.result.columns import Column

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

NEAREST = ResultColumn("with min_only, the nearest source: the end of the predecessors; null: none", "vertex", True)
"""Column ``source`` of searches with ``min_only``."""

NEAREST_COLUMNS = ("distance", "source", "predecessor")
"""Columns of searches with ``min_only``."""


class NamedSearch(Algorithm):
    """Base of algorithms that search from each source; their one column, ``NAME_S``, stands for that of a source S.

    Attributes:
        kernel: row kernel that searches.
        keep: what it keeps of each source.
    """

    sources: Any
    k: int
    random_state: int
    edge_rule = AS_SIMPLE
    kernel = ""
    keep = ""

    def options(self) -> dict[str, Any]:
        """Return further arguments of the kernel."""
        return {}

    def nearest(self, ctx: Context, sources: np.ndarray) -> Answer:
        """Return the answer for ``min_only``; collective."""
        raise NotImplementedError

    def predecessors(self, ctx: Context, sources: np.ndarray, distances: Sequence[Column]) -> list[Column]:
        """Return a column of predecessors for each source; none unless they are wanted; collective."""
        return []

    def run(self, ctx: Context) -> Answer:
        """Search from each source; collective."""
        if self.sources is None:
            sources = sources_of(ctx, min(self.k, ctx.local.n), self.random_state)
        else:
            sources = check_sources(ctx, self.sources, self.name)
        if getattr(self, "min_only", False):
            self.columns = {name: type(self).columns[name] for name in NEAREST_COLUMNS}  # type: ignore[misc]
            return self.nearest(ctx, sources)
        reached = ctx.solver(self.kernel).solve(ctx, sources, keep=self.keep, **self.options())
        depth = {} if reached.depth is None else {"depth": reached.depth}
        fields, described = named_columns(ctx, sources, *next(iter(type(self).columns.items())), reached.columns)
        above = self.predecessors(ctx, sources, reached.columns)
        if above:
            column = type(self).columns["predecessor_S"]
            more, described_above = named_columns(ctx, sources, "predecessor_S", column, above)
            fields, described = fields | more, described | described_above
        self.columns = described  # type: ignore[misc]
        return Answer(fields, {"sources": len(sources), "reached": reached.pairs} | depth)


class NamedHopSearch(NamedSearch):
    """Base of searches by hops, which may have a limit."""

    depth_limit: int | None
    needs_rows = "own"

    def options(self) -> dict[str, Any]:
        """Return the largest distance."""
        return {"limit": ENDLESS if self.depth_limit is None else self.depth_limit}


def named_columns(
    ctx: Context, sources: np.ndarray, name: str, column: ResultColumn, columns: Sequence[Any]
) -> tuple[dict[str, Any], dict[str, ResultColumn]]:
    """Return columns and their descriptions by name, with each source in place of S; collective."""
    ids = sources.tolist() if ctx.names is None else ctx.names.of(sources, ctx.comm)
    names = [f"{name.removesuffix('S')}{source}" for source in ids]
    described = (replace(column, help=column.help.replace("source S", f"{source}")) for source in ids)
    return dict(zip(names, columns, strict=True)), dict(zip(names, described, strict=True))


def depth_limit(text: str) -> Parameter:
    """Return the parameter ``depth_limit`` of a search by hops."""
    return Parameter("depth_limit", int, None, text, least=0)
