"""Similarity of vertices by common neighbours: of given pairs, or of each vertex's most similar ones at two hops."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.algorithms.kernels.common import MEASURES
from dgraph.algorithms.many_sources.drawn_sources import numbers_of
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError
from dgraph.graph.halo import NumberedRows
from dgraph.result.edge_values import EdgeValues


@algorithm(
    "similarity",
    Parameter("measure", str, "jaccard", "what is computed of common neighbours and degrees", choices=MEASURES),
    Parameter(
        "first", "vertices", None, "first vertex of each pair, or vertices to find similar ones of (default: all)",
        weights=False,
    ),
    Parameter("second", "vertices", None, "second vertex of each pair, as many as first has", weights=False),
    Parameter("k", int, 10, "without second: most similar vertices of each vertex", least=1),
    columns={
        "similarity": ResultColumn("largest similarity of a pair that begins here; null: none", "number", True),
        "target": ResultColumn("second vertex of that pair; null: none", "vertex", nullable=True),
    },
)  # fmt: skip
class Similarity(Algorithm):
    """Similarity of vertices by common neighbours: Jaccard, overlap, Sørensen, cosine, Adamic–Adar and others.

    ``result.edges`` and files have a row for each pair, in the order of ``first``, or by vertex, falling similarity
    and smallest id. Columns: ``similarity`` (float64, infinite without a pair) and ``target`` (int64, else -1) of the
    pair of largest value that begins with each vertex; of equal ones the smallest target. Directions and weights are
    ignored.
    """

    measure: str
    first: Any
    second: Any
    k: int
    undirected = True
    resumes = False
    edge_rule = AS_SIMPLE

    def check(self):
        """Refuse pairs of which a vertex is missing."""
        sizes = ["no" if ends is None else len(ends) for ends in (self.first, self.second)]
        if self.second is not None and sizes[0] != sizes[1]:
            raise UsageError(
                f"similarity: first has {sizes[0]} vertices and second {sizes[1]}; give both, one of each for a pair, "
                "or first alone, for the k most similar vertices of each, or neither, for those of every vertex"
            )

    def run(self, ctx: Context) -> Answer:
        """Compute the similarities of this rank's share of the pairs; collective."""
        with ctx.record("compute"):
            solver = ctx.solver("common neighbours").solve(ctx, self.measure)
            rows = solver.rows
            if self.first is None:
                one, two, values = solver.most_similar(self.k)
            else:
                first = list(dict.fromkeys(self.first)) if self.second is None else self.first
                mine = slice(*(len(first) * rank // ctx.comm.size for rank in (ctx.comm.rank, ctx.comm.rank + 1)))
                one = numbers_of("first", first, rows.ids)[mine]
                if self.second is None:
                    one, two, values = solver.most_similar_to(one, self.k)
                else:
                    two = numbers_of("second", self.second, rows.ids)[mine]
                    values = solver.of_pairs(one, two)
        listed = self.second is None  # by falling similarity, then number
        begins = np.flatnonzero(np.diff(one, prepend=-1)) if listed else slice(None)
        similarity, target = _best(ctx, rows, one[begins], two[begins], values[begins])
        if rows.n and rows.ids[-1] >= rows.n:  # else ids, which ascend, are numbers
            one, two = rows.ids[one], rows.ids[two]
        edges = EdgeValues(one, two, values, self.name, ctx.comm, ctx.names, ctx.backend.host_threads)
        return Answer({"similarity": similarity, "target": target}, {"pairs": ctx.total(len(values))}, edges=edges)


def _best(ctx: Context, rows: NumberedRows, one: np.ndarray, two: np.ndarray, values: np.ndarray) -> list[np.ndarray]:
    """Return the largest value of each master's pairs, infinite without one, and the second vertex, -1; collective."""
    largest = np.full(rows.n, -1.0)
    np.maximum.at(largest, one, values)
    largest = ctx.comm.allreduce(largest, "max")
    other = np.full(rows.n, rows.n)
    equal = values == largest[one]
    np.minimum.at(other, one[equal], two[equal])
    other = ctx.comm.allreduce(other, "min")[rows.places[ctx.comm.rank]]
    largest = largest[rows.places[ctx.comm.rank]]
    paired = largest >= 0
    return [np.where(paired, largest, np.inf), np.where(paired, rows.ids[np.where(paired, other, 0)], -1)]
