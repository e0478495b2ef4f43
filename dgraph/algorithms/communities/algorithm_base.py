"""ByMoves: base of louvain and leiden, which differ in the refinement."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, limited
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.weight_checks import any_negative
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError
from dgraph.result.partitions.label_columns import RowLabels

MOST_LEVELS = 8
"""Columns of levels at most."""

METRICS = ("modularity", "cpm")


def parameters(iterations: int) -> tuple[Parameter, ...]:
    """Return the parameters of both algorithms, with the default number of iterations."""
    return (
        Parameter("resolution", float, 1.0, "larger ones give smaller communities", least=0),
        Parameter("metric", str, "modularity", "quality that moves raise: modularity, or the constant Potts model",
                  choices=METRICS),
        Parameter("n_iterations", int, iterations,
                  "searches, each from the last one's communities; -1: until one gains nothing", least=-1),
        Parameter("max_size", int, None, "most vertices of a community (default: no limit)", least=1),
        Parameter("random_state", int, 1, "seed of the order of moves"),
        Parameter("initial", "vertices", None,
                  "communities to start from: a label of each vertex (default: each alone)", labels=True),
        Parameter("levels", int, 0, f"columns of the hierarchy below the communities, at most {MOST_LEVELS}", least=0),
    )  # fmt: skip


COLUMNS = {"community": ResultColumn("smallest id of the vertex's community", "vertex")} | {
    f"level_{i}": ResultColumn(
        "smallest id of its part of " + (f"level_{i - 1}" if i > 1 else "the community"), "vertex"
    )
    for i in range(1, MOST_LEVELS + 1)
}
"""Columns of both algorithms; level_1 and so on with ``levels``."""


@dataclass(frozen=True)
class SearchSettings:
    """Parameters of a search.

    Attributes:
        resolution: weight of the expected arcs within communities.
        cpm: True for the constant Potts model.
        theta: randomness of the refinement; None: there is none, as in Louvain.
        iterations: searches from level 0, each from the last one's communities; -1: until one gains nothing.
        seed: of the sub-rounds and of the refinement.
        most: largest number of vertices in a community.
        levels: parts of communities to return, from the coarsest.
    """

    resolution: float
    cpm: bool
    theta: float | None
    iterations: int
    seed: int
    most: int
    levels: int


class ByMoves(Algorithm):
    """Communities by moves of vertices that raise an exact quality."""

    resolution: float
    metric: str
    n_iterations: int
    max_size: int | None
    random_state: int
    initial: RowLabels | None
    levels: int
    undirected = weighted = continues = depends_on_start = True
    resumes = False
    edge_rule = EdgeRule("counted", "each")

    @property
    def one_gpu(self):
        """Solver of one GPU; none where several ranks share a start or a limit of sizes."""
        return "communities" if self.max_size is None and self.initial is None else None

    def check(self):
        """Refuse 0 iterations and infinite numbers."""
        for name in ("resolution", "theta"):
            if getattr(self, name, 0.0) == math.inf:
                raise UsageError(f"{name} inf of {self.name} is not finite; give a number of 0 or more")
        if self.n_iterations == 0:
            raise UsageError(f"n_iterations 0 of {self.name} searches for nothing; give 1 or more, or -1 for all")
        if self.levels > MOST_LEVELS:
            raise UsageError(f"levels {self.levels} of {self.name} are too many; give at most {MOST_LEVELS}")

    def randomness(self) -> float | None:
        """Return theta of the refinement; None: there is none."""
        return None

    def run(self, ctx: Context) -> Answer:
        """Search, and describe the communities; collective."""
        if any_negative(ctx):
            ctx.refuse_weights(lambda weights: ~(weights >= 0), f"{self.name} needs weights ≥ 0")
        cpm, n = self.metric == "cpm", ctx.local.n
        most = n if self.max_size is None else min(self.max_size, n)
        settings = SearchSettings(
            self.resolution, cpm, self.randomness(), self.n_iterations, self.random_state, most, self.levels
        )
        answer = ctx.solver("communities").solve(ctx, settings, self._start(ctx), self.name)
        units, quality = answer.units, answer.quality
        value = units.potts(quality) if cpm else units.modularity(quality)
        summary = {
            "communities": answer.count, self.metric: value, "resolution": float(units.resolution),
            "polished": answer.polished, "levels": answer.levels,
        }  # fmt: skip
        limit = limited(answer.finished, ctx.rounds)
        columns = {"community": answer.labels} | {f"level_{i + 1}": part for i, part in enumerate(answer.parts)}
        return Answer(columns, summary, answer.finished, limit)

    def _start(self, ctx: Context) -> np.ndarray | None:
        """Return the communities to start from, -1 for vertices that are alone; None: all are; collective."""
        if ctx.previous is not None:
            if self.initial is not None:
                raise UsageError(f"{self.name} starts from initial= or from previous=; leave one of the two out")
            return ctx.previous.taken("community", -1, vertices=True)
        return None if self.initial is None else self.initial.by_gid(ctx.local.gids[: ctx.local.masters], ctx.comm)
