"""Connected components (weak for directed graphs): each vertex gets the smallest id of its component."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, algorithm, limited
from dgraph.errors import unknown
from dgraph.program import MIN, Field, Program


class Labels(Program):
    """Label propagation: every vertex takes the smallest label of its neighbours until no label falls."""

    label = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Label every vertex with its own id."""
        return {"label": v.id, "active": v.out_degree > 0}

    def edge(self, u, e, v):
        """Propose the source's label."""
        return {"label": u.label}


class UnionFindLabels(Labels):
    """Label propagation between ranks, with union-find inside each rank."""

    kernel = "components"


VARIANTS = {"union-find": UnionFindLabels, "label-propagation": Labels}
"""Variant → program."""


@algorithm(
    "cc",
    Parameter("variant", str, "union-find", "method inside a rank", choices=tuple(VARIANTS)),
)
class Cc(Algorithm):
    """Connected components (weak for directed graphs): the smallest id of each vertex's component.

    Column: ``labels`` (int64, an original id).
    """

    undirected = True

    def run(self, ctx):
        """Find the labels and count the components; collective."""
        if self.variant not in VARIANTS:
            raise unknown("variant of cc", self.variant, VARIANTS)
        state = ctx.run(VARIANTS[self.variant]())
        roots = state.counted("own", "label")
        if roots is None:
            roots = int(np.count_nonzero(state["label"] == ctx.local.original[: ctx.local.masters]))
        return Answer(
            {"labels": state.column("label")}, {"components": ctx.total(roots)}, state.finished,
            limited(state.finished, state.rounds),
        )  # fmt: skip
