"""Connected components (weak for directed graphs): each vertex gets the smallest id of its component."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm, limited
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.engine.rounds.context import Context
from dgraph.errors import unknown
from dgraph.program import MIN, Field, Program


class Labels(Program):
    """Label propagation: every vertex takes the smallest label of its neighbours until no label falls."""

    end_figure = "own", "label"

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
    columns={"labels": ResultColumn("smallest id of the component", "vertex")},
    aliases=("connected_components", "weakly_connected_components"),
)
class Cc(Algorithm):
    """Connected components (weak for directed graphs): the smallest id of each vertex's component.

    Column: ``labels`` (int64, an original id).
    """

    variant: str
    undirected = continues = True
    edge_rule = AS_SIMPLE

    def run(self, ctx: Context) -> Answer:
        """Find the labels and count the components; collective."""
        if self.variant not in VARIANTS:
            raise unknown("variant of cc", self.variant, VARIANTS)
        if ctx.previous is not None and not ctx.previous.removed:
            labels, original = _joined(ctx), ctx.local.original[: ctx.local.masters]
            return Answer({"labels": labels}, {"components": ctx.total(int(np.count_nonzero(labels == original)))})
        state = ctx.run(VARIANTS[self.variant]())
        components = state.summary[1][0] if state.summary else ctx.total(state.own("label", ctx.local))
        return Answer(
            {"labels": state.column("label")}, {"components": components}, state.finished,
            limited(state.finished, state.rounds),
        )  # fmt: skip


def _joined(ctx: Context) -> np.ndarray:
    """Return the labels after edges were added to the graph of a previous answer; collective.

    Added edges join components, so only the graph of components and added edges is searched; every rank has all of it.
    """
    assert ctx.previous is not None
    previous, original = ctx.previous, ctx.local.original[: ctx.local.masters]
    labels = previous.taken("labels", -1, vertices=True)
    labels = np.where(labels < 0, original, labels)
    ends, end_numbers = np.unique(previous.added, return_inverse=True)
    order = None if ctx.local.ascending else np.argsort(original)
    place = np.minimum(np.searchsorted(original, ends, sorter=order), max(original.size - 1, 0))
    place = place if order is None or not original.size else order[place]
    here = original[place] == ends if original.size else np.zeros(ends.size, bool)
    end_labels = np.full(ends.size, -1, np.int64)
    end_labels[here] = labels[place[here]]
    end_labels = ctx.comm.allreduce(end_labels, "max")
    names, pairs = np.unique(end_labels[end_numbers.ravel()], return_inverse=True)
    one, other = pairs.reshape(-1, 2).T
    root, before = np.arange(names.size), np.zeros(0, np.int64)
    while not np.array_equal(root, before):
        before = root.copy()
        low = np.minimum(root[one], root[other])
        np.minimum.at(root, before[one], low)
        np.minimum.at(root, before[other], low)
        root = root[root]
    if names.size:
        place = np.minimum(np.searchsorted(names, labels), names.size - 1)
        labels = np.where(names[place] == labels, names[root[place]], labels)
    return labels
