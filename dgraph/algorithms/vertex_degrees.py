"""Degrees of all vertices, as NetworkX counts them: a loop of an undirected graph counts twice at its vertex."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, OnePass, ResultColumn, algorithm
from dgraph.engine.rounds.context import Context
from dgraph.program import ADD, ALL, Field, where


class EnteringEdges(OnePass):
    """Number of the in-edges and sum of their weights.

    Attributes:
        loop: times that a loop counts.
        edges: number of in-edges.
        weight: sum of their weights.
    """

    loop: int = 1
    domain = ALL

    edges = Field("int64", reduce=ADD)
    weight = Field("float64", reduce=ADD)

    def init(self, v, g):
        """Initialise nothing: sums start at 0."""
        return {}

    def edge(self, u, e, v):
        """Add the edge, a loop as often as it counts."""
        times = where(u.id == v.id, self.loop, 1)
        return {"edges": times, "weight": e.weight * (1.0 * times)}


class LeavingEdges(EnteringEdges):
    """Number of the out-edges and sum of their weights."""

    reverse = True


@algorithm(
    "degrees",
    columns={
        "degree": ResultColumn("number of edges at the vertex"),
        "in_degree": ResultColumn("number of edges that enter it"),
        "out_degree": ResultColumn("number of edges that leave it"),
        "weighted_degree": ResultColumn("sum of the weights of its edges", "number"),
    },
)
class Degrees(Algorithm):
    """Degrees: the number of edges at each vertex, of those that enter and leave it, and the sum of their weights.

    Columns: ``degree``, ``in_degree``, ``out_degree`` (int64) and ``weighted_degree`` (float64). In an undirected graph
    the three numbers are equal, and a loop counts twice; in a directed one ``degree`` is the sum of the other two.
    Without weights every edge weighs 1. The summary has ``isolates``, the vertices without an edge, ``largest``, and
    ``density``: the edges by the pairs of vertices that could have one, ordered pairs in a directed graph.
    """

    weighted = True
    resumes = False

    def run(self, ctx: Context) -> Answer:
        """Read all edges once, or twice in a directed graph; collective."""
        directed, n = ctx.local.directed, ctx.local.n
        sides = counted(ctx)
        (entering, in_weight), (leaving, out_weight) = sides["in"], sides["out"]
        degree, weight = (entering + leaving, in_weight + out_weight) if directed else (entering, in_weight)
        ends, pairs = ctx.total(int(degree.sum())), max(n * (n - 1), 1)
        summary = {
            "isolates": ctx.total(int((degree == 0).sum())),
            "largest": ctx.largest(int(degree.max(initial=0))),
            "density": ends / (2 * pairs if directed else pairs) if n > 1 else 0.0,
        }
        columns = {"degree": degree, "in_degree": entering, "out_degree": leaving, "weighted_degree": weight}
        return Answer(columns, summary)


def counted(ctx: Context) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return for "in" and "out" the number of edges on that side of each master, and their weight; collective.

    Both sides of an undirected graph are all its edges, loops twice. The lengths of rows are the numbers if all edges
    weigh 1 and no loop counts twice.
    """
    local, directed = ctx.local, ctx.local.directed
    if local.out.weight_type is None and (directed or local.arcs == 2 * local.m):
        lengths = {"in": ctx.backend.in_degrees(local, ctx.comm), "out": local.out_degree}
        numbers = {side: length[: local.masters].astype(np.int64) for side, length in lengths.items()}
        return {side: (number, number.astype(np.float64)) for side, number in numbers.items()}
    state = ctx.run(EnteringEdges(loop=1 if directed else 2))
    sides = {"in": (state["edges"], state["weight"])}
    state = ctx.run(LeavingEdges()) if directed else state
    return sides | {"out": (state["edges"], state["weight"])}
