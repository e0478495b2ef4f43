"""Random walks, uniform or by weights [Perozzi, Al-Rfou & Skiena: DeepWalk, KDD 2014]."""

from __future__ import annotations

from typing import Any

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.kernels.walks.walk_request import WalkRequest
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError
from dgraph.result.walks import Walks


@algorithm(
    "random_walks",
    Parameter("sources", "vertices", None, "vertices to start from (default: all, by ascending id)", weights=False),
    Parameter("walks", int, 1, "walks from each source", least=1, aliases=("num_walks",)),
    Parameter("length", int, 10, "most steps of a walk", least=0, aliases=("walk_length", "max_depth")),
    Parameter("weighted", bool, False, "draw an edge in proportion to its weight"),
    Parameter("restart", float, 0.0, "probability of a return to the source, before each step"),
    Parameter("random_state", int, 1, "seed of the draws"),
    Parameter("edge_weights", bool, False, "keep the weights of the crossed edges"),
    columns={"visits": ResultColumn("times that the walks were at the vertex")},
    aliases=("uniform_random_walks",),
)
class RandomWalks(Algorithm):
    """Random walks from some vertices or all, uniform or by weights: an array of vertices, a row for each walk.

    ``result.walks`` has this rank's walks: ``here``, int64 (walks, length + 1), -1 after the end of a walk, and with
    ``edge_weights`` also ``weights``, float64 (walks, length). Column: ``visits`` (int64), of all walks. A walk ends at
    a vertex without out-edges, or, by weights, with none of positive weight; with ``restart`` it returns to its source
    there.
    """

    sources: Any
    walks: int
    length: int
    weighted: bool  # type: ignore[misc]
    restart: float
    random_state: int
    edge_weights: bool
    resumes = False

    def check(self):
        """Refuse what is not a probability, and no sources."""
        if not 0 <= self.restart < 1:
            raise UsageError(f"restart = {self.restart} is not a probability below 1; give one from 0 on")
        if self.sources is not None and not len(self.sources):
            raise UsageError("random walks start from vertices and sources is empty; give ids of the graph")

    def run(self, ctx: Context) -> Answer:
        """Make this rank's share of the walks; collective."""
        request = WalkRequest(
            self.sources, self.walks, self.length, self.weighted, self.restart, self.random_state, self.edge_weights
        )
        walked = ctx.solver("random walks").solve(ctx, request)
        walks = Walks(walked.vertices, walked.weights, walked.first, walked.total, ctx.comm, ctx.names)
        summary = {"walks": walked.total, "steps": ctx.total(walked.crossed)}
        return Answer({"visits": walked.visits}, summary, walks=walks)
