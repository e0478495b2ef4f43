"""Dependencies on GPUs, as two programs for each source [Brandes 2001].

:class:`Paths` counts shortest paths level by level. :class:`Shares` goes back from the deepest level: a vertex folds
the shares (1 + dependency) / paths of its out-neighbours one level deeper, and adds its dependency to ``sums``. Rounds
pull, in a fixed order. Parallel arcs would count each: the run has merged them (``edge_rule.py``).
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.many_sources.betweenness.sampling import Betweenness
from dgraph.algorithms.many_sources.results import Summed
from dgraph.algorithms.vertex_values import lids_of
from dgraph.backend.row_solver import RowSolver
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import one_of_many
from dgraph.errors import DataError, option
from dgraph.program import ADD, Field, Program, where


class Paths(Program):
    """Count shortest paths from a source.

    Attributes:
        source: original id.
        level: hops from the source; -1: unreached.
        paths: number of shortest paths from the source.
        arriving: paths of the neighbours that were reached in the last round.
    """

    source: int = 0
    monotone = True
    directions = ("pull",)  # pushes add floats in any order

    level = Field("int32")
    paths = Field("float64")
    arriving = Field("float64", reduce=ADD)

    def init(self, v, g):
        """Put the source on level 0."""
        here = v.id == self.source
        return {"level": where(here, 0, -1), "paths": where(here, 1.0, 0.0), "active": here}

    def cond(self, v, g):
        """Skip reached vertices."""
        return v.level < 0

    def edge(self, u, e, v):
        """Add the paths of ``u``."""
        return {"arriving": u.paths}

    def apply(self, v, g):
        """Reach a vertex by all its shortest paths."""
        new = v.level < 0
        return {"level": where(new, g.round + 1, v.level), "paths": where(new, v.arriving, v.paths), "active": new}

    def step(self, g):
        """End when no vertex was reached."""
        return {"done": g.active == 0}


class Shares(Program):
    """Fold dependencies from the deepest level to the source.

    Attributes:
        deepest: largest level.
        ends: 1.0 to count a path for its ends too, else 0.0.
        level, paths: given: of :class:`Paths`.
        sums: given: dependencies of earlier sources; those of this one are added.
        share: (1 + dependency) / paths, 0 until the dependency is known.
        folded: sum of the shares of neighbours one level deeper.
    """

    deepest: int = 0
    ends: float = 0.0
    monotone = reverse = True
    directions = ("pull",)

    level = Field("int32", given=True)
    paths = Field("float64", given=True)
    sums = Field("float64", given=True)
    share = Field("float64")
    folded = Field("float64", reduce=ADD)

    def init(self, v, g):
        """Know no dependency; the first round settles the deepest level."""
        return {"share": 0.0}

    def cond(self, v, g):
        """Skip vertices that are unreached or settled."""
        return (v.level > 0) & (v.level <= self.deepest - g.round)

    def edge(self, u, e, v):
        """Add the share of a neighbour one level deeper."""
        return {"folded": where(u.level == v.level + 1, u.share, 0.0)}

    def apply(self, v, g):
        """Settle the next level."""
        now = v.level == self.deepest - g.round
        dependency = v.paths * v.folded
        return {
            "share": where(now, (1.0 + dependency) / v.paths, v.share),
            "sums": where(now, v.sums + dependency + self.ends, v.sums),
            "active": now,
        }

    def step(self, g):
        """Visit every vertex in each round: one without neighbours on the next level is settled, too."""
        return {"whole": True, "done": g.round >= self.deepest}


class DependenciesByPrograms(RowSolver):
    """Dependencies of one source after the other on a GPU."""

    programs = (Paths(), Shares())

    def solve(self, ctx: Context, sources: np.ndarray, work: Betweenness) -> Summed:
        """Sum the dependencies of ``sources``; collective. See ``dependencies.py``.

        Raises:
            DataError: a number of paths that float64 does not hold.
        """
        sums, reached, deepest = np.zeros(ctx.local.masters), list[int](), 0
        with one_of_many(ctx):
            for source in sources.tolist():
                counted = ctx.run(Paths(source=source))
                level, most = counted["level"], ctx.total(float(counted["paths"].max(initial=0.0)))
                if not np.isfinite(most):
                    raise DataError(
                        f"bc counts shortest paths, and float64 does not hold their number from source {source}; run "
                        f"it with {option('backend', 'cpu')}, which scales them"
                    )
                depth = ctx.largest(int(level.max(initial=0)))
                reached.append(ctx.total(int((level > 0).sum())))
                deepest = max(deepest, depth)
                if depth:
                    fields = {name: counted.raw(name) for name in ("level", "paths")} | {"sums": sums}
                    state = ctx.run(Shares(deepest=depth, ends=float(work.endpoints)), fields)
                    sums = state.raw("sums")
        sums = np.array(state["sums"] if deepest else sums)
        if work.endpoints:
            lids = lids_of(ctx.local, sources)
            sums[lids[lids >= 0]] += np.array(reached)[lids >= 0]
        return Summed(sums, deepest)
