"""Connected components, directions ignored: the smallest id spreads."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, algorithm, limited
from dgraph.errors import unknown
from dgraph.program import MIN, Field, Program


class Labels(Program):
    """Every vertex takes the smallest original id that reaches it."""

    label = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"label": v.id, "active": v.out_degree > 0}

    def edge(self, u, e, v):
        return {"label": u.label}


class Joined(Labels):
    """The same by union-find inside every rank."""

    kernel = "components"


VARIANTS = {"union-find": Joined, "label-propagation": Labels}


@algorithm(
    "cc",
    Parameter("variant", str, "union-find", "how labels spread inside a rank", choices=tuple(VARIANTS)),
)
class Cc(Algorithm):
    """Connected components (weak where directed): the smallest id of each vertex's component."""

    undirected = True

    def run(self, ctx):
        if self.variant not in VARIANTS:
            raise unknown("variant of cc", self.variant, VARIANTS)
        state = ctx.run(VARIANTS[self.variant]())
        roots = state.counted("own", "label")
        if roots is None:
            roots = int(np.count_nonzero(state["label"] == ctx.local.original[: ctx.local.masters]))
        return Answer(
            {"labels": lambda: state["label"]}, {"components": ctx.total(roots)}, state.finished,
            limited(state.finished, state.rounds),
        )  # fmt: skip
