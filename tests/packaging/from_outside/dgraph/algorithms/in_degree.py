"""In-degrees: one round in which every edge adds one to its target."""

from __future__ import annotations

from dgraph.algorithms.base import Algorithm, Answer, OnePass, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.program import ADD, ALL, Field


class Incoming(OnePass):
    """Number of in-edges.

    Attributes:
        edges: in-edges of the vertex.
    """

    domain = ALL

    edges = Field("int64", reduce=ADD)

    def init(self, v, g):
        """Start at zero."""
        return {"edges": 0}

    def edge(self, u, e, v):
        """Count the edge."""
        return {"edges": 1}


@algorithm("in_degree", columns={"in_degree": ResultColumn("edges that end at the vertex", "number")})
class InDegree(Algorithm):
    """In-degrees: the number of edges that end at each vertex, of all edges where the graph is undirected.

    Column: ``in_degree`` (int64). Weights are not used.
    """

    edge_rule = EdgeRule("counted", "each")

    def run(self, ctx):
        """Count edges; collective."""
        state = ctx.run(Incoming())
        return Answer({"in_degree": state["edges"]}, {}, state.finished)
