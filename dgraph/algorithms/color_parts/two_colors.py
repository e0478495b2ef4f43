"""Two colours for components without an odd cycle, where a greedy order of random ties took more than three.

A breadth-first search from a vertex of the highest colour looks for edges between two vertices of one level, which
close odd cycles: first near the source, where most graphs have one, then in the whole component. Without such an edge
the component gets the parities of its levels as colours, and the next search starts at the highest colour that remains.
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import OnePass
from dgraph.algorithms.bfs_programs import Levels
from dgraph.engine.rounds.context import Context
from dgraph.program import ADD, INF, Field, where
from dgraph.result.columns import UNREACHED

FEWEST, MOST = 4, 8
"""Numbers of colours for which components are searched.

Three colours are within one of the best; a graph that needs more than eight has, as a rule, dense parts with triangles.
"""

VERTICES = 1 << 20
"""Vertices of a graph up to which components are searched: a search has a round for each level."""

NEAR = 32
"""Levels of a first search."""

SEARCHES = 8
"""Components searched in one run."""


class OddEdges(OnePass):
    """Edges between two vertices of one level, without loops.

    Attributes:
        level: given: hops from the source; INF where the search did not come.
        odd: neighbours on the same level.
    """

    level = Field("int32", given=True)
    odd = Field("int64", reduce=ADD)

    def init(self, v, g):
        """Let reached vertices propose."""
        return {"active": v.level != INF}

    def edge(self, u, e, v):
        """Count neighbours on the same level."""
        return {"odd": where((u.level == v.level) & (u.id != v.id), 1, 0)}


def two_colored(ctx: Context, colors: np.ndarray) -> tuple[np.ndarray, bool]:
    """Use two colours in components that need no more; collective.

    Args:
        ctx: context of the run.
        colors: colours of this rank's masters, (masters,).

    Returns:
        colours, and False if a round limit ended a search.
    """
    ids = ctx.local.original[: ctx.local.masters]
    for _ in range(SEARCHES):
        highest = ctx.largest(int(colors.max(initial=-1)))
        if not FEWEST <= highest + 1 <= MOST:
            break
        source = -ctx.largest(-int(ids[colors == highest].min(initial=np.iinfo(np.int64).max)))
        for limit in (NEAR, UNREACHED):
            search = ctx.run(Levels(source=source, limit=limit))
            if not search.finished:
                return colors, False
            odd = ctx.run(OddEdges(), {"level": search.raw("level")})
            if ctx.total(int(odd["odd"].sum())):
                return colors, True
        level = search["level"]
        colors = np.where(level == np.iinfo(level.dtype).max, colors, level & 1)
    return colors, True
