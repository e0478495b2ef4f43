"""All-pairs shortest paths: a matrix whose rows are spread over the ranks (``apsp_parts/``).

Johnson's searches suit sparse graphs, products of blocks dense ones and GPUs; "auto" compares both times. Weights may
be negative: potentials are found first, and with them a negative cycle.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary
from dgraph.errors import UsageError, option
from dgraph.result.matrix import DistanceMatrix, MatrixArcs, summaries
from dgraph.result.matrix_store import in_file

SEARCHES = ("heap", "dijkstra", "bellman-ford")

VARIANTS = ("auto", "johnson", "squaring", "floyd-warshall", "blocked", "recursive", "separators")

PRODUCTS = ("auto", "resident", "streamed", "hybrid")

OF_PREDECESSOR = 4
"""Bytes of a predecessor."""


@algorithm(
    "apsp",
    Parameter("variant", str, "auto", "method", choices=VARIANTS),
    Parameter(
        "dtype",
        str,
        "auto",
        "of distances; auto: float32 if all are exact in it",
        choices=("auto", "float32", "float64"),
    ),
    Parameter(
        "search",
        str,
        "heap",
        "searches of johnson: heap (CPU threads); on GPUs also dijkstra and bellman-ford, a block of threads a source",
        choices=SEARCHES,
    ),
    Parameter(
        "products",
        str,
        "auto",
        "where a GPU has the matrix: in its memory (resident), or strips pass through it (streamed), and CPU threads "
        "take some (hybrid)",
        choices=PRODUCTS,
    ),
    Parameter("block", int, None, "pivots of a block (default: by device; at most 128 if resident on a GPU)", least=1),
    Parameter("parts", int, None, "parts for separators (default: by size)", least=2),
    Parameter("return_predecessors", bool, False, "also keep the predecessors of all pairs, in result.matrix"),
    Parameter("matrix_file", str, None, ".npy file that takes the matrix if memory is short", on_host=True),
    columns={
        "reached": ResultColumn("vertices with a path from the vertex, itself included"),
        "farthest": ResultColumn("largest distance to one of them", "number"),
    },
)
class Apsp(Algorithm):
    """All-pairs shortest paths; weights may be negative. ``result.matrix`` has the distances.

    Columns: ``reached`` (int64) and ``farthest`` (float64). ``result.matrix`` and files have a distance for each pair.
    With ``return_predecessors``, ``result.matrix.predecessors`` has the vertex before each on a path of fewest edges.
    """

    weighted = wants_weights = matrix = True
    edge_rule = AS_SIMPLE

    variant: str
    dtype: str
    search: str
    products: str
    block: int | None
    parts: int | None
    matrix_file: str | None
    return_predecessors: bool

    def check(self):
        """Refuse a file of another format, and parameters of other variants."""
        if self.matrix_file is not None and Path(self.matrix_file).suffix != ".npy":
            raise UsageError(f"matrix_file = {self.matrix_file!r} is not an .npy file; name one that ends in .npy")
        if self.matrix_file is not None and self.return_predecessors:
            raise UsageError(
                "return_predecessors keeps a matrix in memory beside matrix_file; leave one of the two out"
            )
        if self.search != "heap" and self.variant != "johnson":
            johnson = option("variant", "johnson")
            raise UsageError(f"search = {self.search!r} is for {johnson}; leave it out, or give that variant")
        if self.products != "auto" and self.variant in ("auto", "johnson"):
            raise UsageError(
                f"products = {self.products!r} is for a variant of products; give {option('variant')}, one of: "
                f"{', '.join(VARIANTS[2:])}"
            )
        if self.parts is not None and self.variant != "separators":
            separators = option("variant", "separators")
            raise UsageError(f"parts = {self.parts} is for {separators}; leave it out, or give that variant")

    def run(self, ctx: Context) -> Answer:
        """Plan, find potentials, then all distances; collective."""
        from dgraph.algorithms.apsp_parts.elimination import Elimination
        from dgraph.algorithms.apsp_parts.matrix_plan import placed, planned
        from dgraph.algorithms.apsp_parts.overflowed_pairs import refuse_overflowed
        from dgraph.algorithms.apsp_parts.potentials import potentials
        from dgraph.algorithms.apsp_parts.row_searches import johnson
        from dgraph.algorithms.apsp_parts.weight_figures import weight_figures

        kernel = ctx.solver("minplus")
        if self.search not in kernel.searches:
            able = ", ".join(kernel.searches)
            gpus = option("backend", "cuda")
            raise UsageError(f"search = {self.search!r} runs on GPUs alone; give {gpus}, or one of: {able}")
        ctx.weighted |= ctx.local.out.weight_type is not None
        ctx.check_weights()
        with ctx.record("compute"), np.errstate(over="ignore", invalid="ignore"):  # sums that overflow are refused
            rows = ctx.rows("own", order="id", weights=True, simple=False)
            figures = weight_figures(ctx.local, ctx.comm)
            dtype = self._dtype(figures, rows.n)
            exact = figures.exact_in(dtype.name, rows.n)
            kernel, where = placed(kernel, self.products, self.variant, rows, dtype.itemsize)
            block = min(self.block or kernel.preferred, kernel.most)
            threads = ctx.backend.host_threads
            plan = planned(
                rows, self.variant, dtype.itemsize, block, self.parts, self.matrix_file, kernel, threads,
                OF_PREDECESSOR * self.return_predecessors, self.search,
                exact and figures.least >= 0 and not where,
            )  # fmt: skip
            ctx.record.choose("variant", plan.variant, plan.reason)
            if where and plan.variant != "johnson":
                ctx.record.choose("products", *where.split(": "))
            ctx.record.choose("distances", dtype.name, "exact in it" if exact else "sums are rounded")
            h = potentials(rows, figures.least, ctx.called)
            shape = rows.stop - rows.first, rows.n
            file = self.matrix_file if plan.in_file else None
            matrix = None if file is None else in_file(file, shape, dtype, rows.first, ctx.comm)
            distances: Any = matrix.here if matrix is not None else None
            steps = 0

            def step():
                ctx.comm.watchdog.begin(0)
                boundary(ctx, "the run was cancelled before its distances were final")

            if plan.variant == "johnson":
                distances = np.empty(shape, dtype) if distances is None else distances
                johnson(rows, distances, kernel, h, step, plan.search)
                reached, farthest = summaries(distances)
            else:
                distances = kernel.xp.empty(shape, dtype) if distances is None else distances
                work = Elimination(rows, kernel, distances, step)
                inner = self.variant == "auto"
                half = inner and exact and kernel.on_host and not where and file is None and rows.comm.size == 1
                work.run(plan.variant, block, plan.parts, inner, half)
                steps = work.steps
                reached, farthest = kernel.summaries(distances)
            if figures.most * max(rows.n - 1, 1) >= float(np.finfo(dtype).max):
                on_host = distances if isinstance(distances, np.ndarray) else kernel.get(distances)
                refuse_overflowed(on_host, rows, ctx.called)
            if matrix is not None:
                matrix.finish()
            before = None
            if self.return_predecessors:
                distances = distances if isinstance(distances, np.ndarray) else kernel.get(distances)
                slack = 0.0 if exact else 4 * rows.n * float(np.finfo(dtype).eps)
                before, lost = kernel.trees(distances, rows.first, rows.gathered(), slack)
                if ctx.total(lost):
                    raise UsageError("rounding of the weights hides predecessors; pass dtype='float64'")
        arcs = MatrixArcs(rows.sources, rows.targets.astype(np.int64), rows.costs)
        values = distances if isinstance(distances, np.ndarray) else partial(kernel.get, distances)
        distance_matrix = DistanceMatrix(values, rows.ids, rows.first, ctx.comm, arcs, ctx.names, file, before)
        summary = {"reached": ctx.total(int(reached.sum())), "farthest": _largest(ctx.comm, farthest)}
        summary |= {"products": steps} if steps else {}
        columns = {"reached": rows.to_masters(reached), "farthest": rows.to_masters(farthest)}
        return Answer(columns, summary, matrix=distance_matrix)

    def _dtype(self, figures, n: int) -> np.dtype:
        if self.dtype != "auto":
            return np.dtype(self.dtype)
        return np.dtype("float32" if figures.exact_in("float32", n) else "float64")


def _largest(comm, values: np.ndarray) -> float:
    return float(comm.allreduce(np.array([values.max(initial=0.0)]), "max")[0])
