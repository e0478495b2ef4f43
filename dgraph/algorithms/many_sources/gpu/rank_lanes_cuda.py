"""Personalised PageRank of several walks at a time on GPUs (``rank_lanes.cuh``).

On one GPU the rows are those of its graph. On several, each takes the in-edges of a range of vertices, as CPU ranks do,
and gets the shares of all vertices through the hosts after each iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.gpu.source_rows import Kernels
from dgraph.algorithms.many_sources.rank_lanes import LANES, InRows, Ranked, RankLanes, Restarts, in_rows, ranked
from dgraph.algorithms.pagerank import divisors
from dgraph.algorithms.vertex_values import lids_of
from dgraph.backend.cpu.threads.team import team_of
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.own_kernels import own_text
from dgraph.backend.cuda.device_graph import row_marks
from dgraph.backend.cuda.device_graph.device_graph import DeviceCsr
from dgraph.backend.cuda.device_graph.lazy_result import gpu_columns
from dgraph.backend.cuda.device_graph.lid_order import by_lid
from dgraph.backend.cuda.device_graph.row_classes import RowClasses
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import lacking
from dgraph.result.columns import FieldColumn

SHORT, LONG = 64, 512
"""Most edges of a row that one group of threads reads, and of one that a warp reads."""

PART = 512
"""Edges of a longer row that a warp reads at a time."""

DEEP = 8
"""Edges whose shares a thread loads before it adds them."""

TRANSPOSING = 64 << 23
"""Scratch bytes while in-edges are made, if the graph has none yet."""

LINE = 8 * LANES
"""Bytes of the lanes of a vertex."""


@cache
def text(offsets: str, leaving: str, weights: str | None) -> str:
    """Return the kernels' text for arrays of these dtypes; ``weights`` is None where edges weigh 1."""
    sizes = {"SHORT": SHORT, "LONG": LONG, "PART": PART, "DEEP": DEEP, "LANES": LANES, "WEIGHTED": int(bool(weights))}
    types = {"offset_t": offsets, "leaving_t": leaving, "weight_t": weights or "float32"}
    lines = [f"#define {name} {value}" for name, value in sizes.items()]
    return own_text("\n".join(lines + [f"typedef {TYPES[kind]} {name};" for name, kind in types.items()]), "rank_lanes")


def need(n: int, kept: int, edges: int) -> int:
    """Return the bytes of the lanes of a batch, and of parts of long rows."""
    return LINE * (n + 2 * kept) + 12 * kept + (LINE + 16) * (edges // PART + edges // LONG) + (1 << 24)


def further_bytes(restarts: Restarts, kept: int) -> int:
    """Return the further bytes of walks that restart at these vertices: shares of restarts, and columns of batches."""
    return LINE * (min(len(restarts.vertices), kept) + 1 + kept * ((restarts.count - 1) // LANES))


class LaneRows(RowClasses):
    """In-edges of the rows that a GPU keeps, by row: what ``RowClasses`` reads of a graph."""

    marks = row_marks

    def __init__(self, device: Any, incoming: DeviceCsr):
        self.device, self.incoming = device, incoming


class GpuLanes:
    """Lanes in the memory of a GPU."""

    numbers: Callable[[np.ndarray], np.ndarray]

    def __init__(self, ctx: Context, device: Any, incoming: DeviceCsr, leaving: Any, alpha: float):
        """Allocate the lanes.

        Args:
            ctx: context of the algorithm.
            device: GPU.
            incoming: in-edges of the kept vertices; neighbours are places of shares.
            leaving: sums of the weights of their out-edges, or numbers of those, on the GPU.
            alpha: damping factor.
        """
        self.ctx, self.device, self.alpha = ctx, device, alpha
        self.n, self.kept = ctx.local.n, len(incoming.offsets) - 1
        self.columns: Any = None
        xp, weights = device.xp, incoming.weights
        self.ranks, self.following = (xp.empty((self.kept, LANES), np.float64) for _ in range(2))
        self.shares = xp.empty((self.n, LANES), np.float64)
        self.control, self.sums = xp.zeros((3, LANES), np.float64), xp.empty((2, LANES), np.float64)
        part_rows, part_firsts = LaneRows(device, incoming).cut_rows(LONG, PART)
        words = text(incoming.offsets.dtype.name, leaving.dtype.name, None if weights is None else weights.dtype.name)
        self.members = {
            "offsets": incoming.offsets, "sources": incoming.neighbours, "weights": weights, "leaving": leaving,
            "portions": xp.empty(self.kept, np.float64), "shares": self.shares, "following": self.following,
            "ranks": self.ranks, "homes": None, "restarts": None, "home": xp.empty(self.kept, np.uint32),
            "control": self.control, "part_rows": part_rows, "part_firsts": part_firsts,
            "part_sums": xp.empty((len(part_rows), LANES), np.float64), "totals": None, "sums": self.sums,
            "columns": None, "rows": self.kept, "parts": len(part_rows), "vertices": self.n,
        }  # fmt: skip
        self.kernels = Kernels(device, words, "rank_lanes", self.members)
        self.blocks = {name: self.kernels.blocks(name) for name in ("begin", "rank_rows")}
        self.totals = xp.empty((max(self.blocks.values()), 2, LANES), np.float64)
        self.kernels.set("totals", self.totals)

    def begin(self, vertices: np.ndarray, homes: np.ndarray) -> int:
        """Set all ranks to 1/n."""
        if self.columns is not None:
            self.columns, self.shares = None, self.device.xp.empty((self.n, LANES), np.float64)
            self.kernels.set("shares", self.shares)
        self.homes, self.restarts = self.device.put(homes), self.placed(vertices)
        self.kernels.set("homes", self.homes, self.restarts)
        dangling = self._totals("begin")[1, 0]
        if len(vertices):
            self.kernels.launch("place_homes", len(vertices))
        return int(dangling)

    def placed(self, vertices: np.ndarray) -> Any:
        """Return the rows of kept vertices, uint32, on the GPU."""
        return self.device.put(vertices.astype(np.uint32))

    def iterate(self, factor: np.ndarray, going: np.ndarray, settled: bool) -> np.ndarray:
        """Iterate once, by the shares of all vertices; collective."""
        self.gather()
        self.device.write(self.control, np.stack([factor, going.astype(np.float64), np.full(LANES, self.alpha)]))
        if self.members["parts"]:
            self.kernels.launch("sum_parts")
        return self._totals("rank_rows", int(settled))

    def gather(self) -> None:
        """Make ``shares`` those of all vertices, and ``following`` the array of the next ones; collective."""
        self.shares, self.following = self.following, self.shares
        self.kernels.set("shares", self.shares, self.following)

    def ranks_of(self, lane: int) -> Any:
        """Return the ranks of a lane by row, on the GPU; they take the memory of the shares."""
        if self.columns is None:
            self.columns = self.shares.reshape(-1)[: LANES * self.kept].reshape(LANES, self.kept)
            self.kernels.set("columns", self.columns)
            self.kernels.launch("take_columns")
        return self.columns[lane]

    def _totals(self, kernel: str, argument: int = 0) -> np.ndarray:
        """Run a kernel over all rows; return the changes and the ranks at dangling vertices, (2, LANES)."""
        self.kernels.launch(kernel, argument)
        self.kernels.launch("add_totals", self.blocks[kernel], blocks=1)
        return self.device.read(self.sums).reshape(2, LANES).copy()


class WholeLanes(GpuLanes):
    """Lanes of a whole graph, by position."""

    def __init__(self, ctx: Context, device: Any, graph: Any, alpha: float):
        reads = ctx.local.out.weight_type is not None
        ctx.weighted |= reads
        leaving = graph.arranged(device.put(divisors(ctx, "double"))) if reads else graph.degree
        self.graph, self.numbers = graph, partial(lids_of, ctx.local)
        super().__init__(ctx, device, graph.incoming, leaving, alpha)

    def placed(self, vertices: np.ndarray) -> Any:
        """Return the positions of lids."""
        lids = super().placed(vertices)
        return lids if self.graph.place is None else by_lid(self.device, self.graph.place, lids)

    def column(self, lane: int) -> FieldColumn:
        """Return the ranks of a lane, which stay on the GPU."""
        return gpu_columns(self.graph, {"pagerank": self.ranks_of(lane)})["pagerank"]


class RangeLanes(GpuLanes):
    """Lanes of a range of vertices; other ranks have the others."""

    def __init__(self, ctx: Context, device: Any, rows: InRows, alpha: float):
        put = device.put
        weights = None if rows.weights is None else put(rows.weights)
        incoming = DeviceCsr(put(rows.offsets), put(rows.sources.astype(np.uint32, copy=False)), weights)
        self.rows, self.numbers = rows, rows.numbers
        super().__init__(ctx, device, incoming, put(rows.leaving), alpha)

    def gather(self) -> None:
        """Send the shares of kept vertices to all ranks; collective."""
        shares = self.ctx.comm.allgatherv(self.device.get(self.following).reshape(-1))
        self.device.copy(self.shares.reshape(-1), self.device.put(np.concatenate(shares)))

    def column(self, lane: int) -> np.ndarray:
        """Return the ranks of a lane by this rank's masters; collective."""
        return self.rows.to_masters(self.device.get(self.ranks_of(lane)))


class GpuRankLanes(RowSolver):
    """Iterations on a GPU that holds the whole graph, or on several, each with the in-edges of a range of vertices."""

    @classmethod
    def bytes(cls, size: RowSize) -> int:
        """Return the bytes of :func:`need`, with sums of weights; sixteen columns take the place of the shares.

        Of a range, an arc takes 20 more in rows.
        """
        rows = 20 * size.arcs if size.masters < size.n else 0
        return need(size.n, size.masters, size.arcs) + rows + 16 * size.masters

    def rows(self, ctx: Context) -> tuple[Any, int, int]:
        """Return what has the in-edges, the number of kept vertices, and the bytes that lanes of it need; collective.

        Raises:
            DataError: weights that no walk can follow, as of pagerank.
        """
        n = ctx.local.n
        if ctx.comm.size > 1:
            rows = in_rows(ctx, team_of(max(self.backend.host_threads, 1)))
            kept, edges = len(rows.leaving), len(rows.sources)
            return rows, kept, self.bytes(RowSize(n, edges, n, edges, kept))
        graph = self.backend.graph_of(ctx.local)
        transposed = 0 if graph.has_incoming or not ctx.local.directed else 12 * graph.edges + TRANSPOSING
        return graph, n, self.bytes(RowSize.whole(n, graph.edges)) + transposed

    def solve(self, ctx: Context, restarts: Restarts, alpha: float, tol: float, max_iter: int) -> Ranked:
        """Rank the vertices for each walk, on the host if a GPU lacks memory; collective.

        Raises:
            DataError: weights that no walk can follow, as of pagerank.
        """
        device = self.backend.device
        with ctx.record("prepare"):
            device.use()
            rows, kept, bytes_ = self.rows(ctx)
            bytes_ += further_bytes(restarts, kept)
            short = lacking(ctx.comm, bytes_, device.free(bytes_))
        if short is not None:
            reason = f"sixteen together need {short[0]:,} bytes of GPU memory, and {short[1]:,} are free"
            ctx.record.choose("sources", "on the host", reason)
            return RankLanes(self.backend).solve(ctx, restarts, alpha, tol, max_iter)
        with ctx.record("prepare"):
            lanes = (WholeLanes if ctx.comm.size == 1 else RangeLanes)(ctx, device, rows, alpha)
        with ctx.record("compute"):
            return ranked(ctx, lanes, restarts, alpha, tol, max_iter)
