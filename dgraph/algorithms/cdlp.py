"""Community detection by label propagation, deterministic and synchronous [Raghavan et al. 2007; LDBC Graphalytics].

Each vertex starts with its own id as its label. In each round it takes the most frequent label of its neighbours, the
smallest of equally frequent ones. Only vertices next to one that changed fold their neighbours' labels again. With
weights it is the label with the largest sum of weights.
"""

from __future__ import annotations

from dgraph.algorithms.base import COUNT, Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import as_int64
from dgraph.errors import DataError
from dgraph.program import ADD, BEST, INF, MODE, Field, Program, where


class CommunityLabels(Program):
    """Take the most frequent label of all neighbours.

    Attributes:
        rounds: rounds after which the run ends.
        label: label of the vertex, an original id.
        common: most frequent label of the neighbours; INF without neighbours.
    """

    rounds: int = 10
    directions = ("pull",)
    distinct = True  # at first labels are ids

    label = Field("int64")
    common = Field("int64", reduce=MODE)

    def init(self, v, g):
        """Label each vertex by its id."""
        return {"label": v.id, "active": True}

    def edge(self, u, e, v):
        """Give the neighbour's label."""
        return {"common": u.label}

    def apply(self, v, g):
        """Take the most frequent label."""
        label = where(v.common == INF, v.label, v.common)
        return {"label": label, "active": label != v.label}

    def step(self, g):
        """End after the last round, or when no label changed."""
        return {"done": (g.round >= self.rounds) | (g.active == 0)}


class HeaviestLabels(CommunityLabels):
    """Take the label of the largest sum of weights.

    Attributes:
        common: that label; INF without neighbours.
        weight: its sum.
    """

    distinct = False

    common = Field("int64", reduce=BEST)
    weight = Field("int64", reduce=ADD)

    def edge(self, u, e, v):
        """Give the neighbour's label and the edge's weight."""
        return {"common": u.label, "weight": e.weight}


@algorithm(
    "cdlp",
    Parameter("max_iter", int, 10, "rounds", least=1),
    COUNT,
    Parameter("weighted", bool, False, "the label of the largest sum of weights, which are integers"),
    columns={"labels": ResultColumn("label of the community: the id of a vertex", "vertex")},
    aliases=("label_propagation",),
)
class Cdlp(Algorithm):
    """Communities by label propagation: the smallest of a neighbourhood's most frequent labels, ``max_iter`` times.

    Column: ``labels`` (int64), an original id. Weights are used with ``weighted=True``: of each vertex's neighbours the
    label with the largest sum wins. A directed graph is symmetrised first: an edge in
    both directions counts once, or twice with ``count="arcs"``, as in LDBC Graphalytics. A run that ends
    after ``max_iter`` rounds has converged.
    """

    max_iter: int
    weighted: bool  # type: ignore[misc]
    undirected = True
    needs_rows = "own"
    edge_rule = EdgeRule("counted", "once", stripped=("parallel",))

    def run(self, ctx: Context) -> Answer:
        """Propagate labels; collective."""
        labels: Program = CommunityLabels(rounds=self.max_iter)
        kind = ctx.local.out.weight_type
        if self.weighted and kind is not None:
            if kind.kind == "f":
                raise DataError(
                    f"cdlp adds up integer weights, and this graph's are {kind}; multiply them by a power of 10 or 2 "
                    "and round them, or take leiden, which scales floats itself"
                )
            _, mean = largest_and_mean(ctx, "cdlp with weights needs weights ≥ 0")
            if mean * ctx.local.arcs >= 2**62:
                raise DataError("the weights sum to 2^62 or more, which cdlp cannot add up; divide them by a number")
            labels = HeaviestLabels(rounds=self.max_iter)
        if ctx.largest(ctx.local.largest_id) < 2**31 - 1:  # 32 bits halve what a round reads
            labels = labels.retype(label="int32")
        state = ctx.run(labels)
        return Answer({"labels": state.column("label", as_int64)}, {}, state.finished)
