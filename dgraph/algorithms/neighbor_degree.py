"""Average degree of the neighbours of each vertex [Barrat et al. 2004], as NetworkX defines it."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.neighbor_sums import InSums, OutSums
from dgraph.algorithms.vertex_degrees import counted
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError

SIDES = ("out", "in", "in+out")


@algorithm(
    "neighbor_degree",
    Parameter("neighbors", str, "out", "neighbours of a directed graph that count", choices=SIDES),
    Parameter("degree", str, "out", "degree of theirs in a directed graph", choices=SIDES),
    columns={"neighbor_degree": ResultColumn("average degree of the neighbours", "number")},
    aliases=("average_neighbor_degree",),
)
class NeighborDegree(Algorithm):
    """Average degree of the neighbours of each vertex, by the weights of the edges to them where there are some.

    Column: ``neighbor_degree`` (float64), 0 for a vertex without neighbours, or whose edges weigh 0 in all.
    """

    neighbors: str
    degree: str
    weighted = True
    resumes = False

    def run(self, ctx: Context) -> Answer:
        """Count degrees, and add up those of neighbours; collective."""
        if not ctx.local.directed and (self.neighbors, self.degree) != ("out", "out"):
            raise UsageError("neighbors and degree tell the edges of a directed graph apart; leave them out")
        sides = counted(ctx)
        numbers = sum(sides[side][0] for side in self.degree.split("+"))
        degrees = {"score": np.asarray(numbers, np.float64)}
        sums, whole = np.zeros(ctx.local.masters), np.zeros(ctx.local.masters)
        for side in self.neighbors.split("+"):
            sums += ctx.run(OutSums() if side == "out" else InSums(), degrees)["sum"]
            whole += sides[side][1]
        return Answer({"neighbor_degree": np.where(whole != 0, sums / np.where(whole != 0, whole, 1), 0.0)})
