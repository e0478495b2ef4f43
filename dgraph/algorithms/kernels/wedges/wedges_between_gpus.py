"""Triangles over GPUs of several ranks (``wedges.cuh``).

All ranks sort the vertices by degree in the whole graph, hubs first. Each GPU orients the rows of its rank's part and
sends them to all others. Each then has the oriented rows of the whole graph, half of its arcs, and counts the
triangles of a share of them; counts are added up over ranks. The rows stay with the part for later calls. Entry:
:class:`WedgesBetweenGpus`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.wedges.gpu_counts import GpuCounts
from dgraph.algorithms.kernels.wedges.wedges_memory import bitmap_words, hubs_of
from dgraph.algorithms.kernels.wedges.wedges_search import WedgeCounter, WedgeRows
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gathered.gathered_rows import GatheredRows, gathered_rows
from dgraph.backend.cuda.gathered.numbering import lacking, numbering_bytes, numbering_of
from dgraph.backend.cuda.gathered.row_assembly import bytes_to_fill, sort_rows
from dgraph.backend.cuda.transports.bulk_moves import Leaving
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.engine.rounds.context import Context


@dataclass
class OrientedRows:
    """Oriented rows of the whole graph, as one rank keeps them.

    Attributes:
        rows: of the vertices with arcs, hubs first, and an empty row for all others.
        wedges: the same rows, for the search.
        degrees: distinct neighbours of each master, uint32.
    """

    rows: GatheredRows
    wedges: WedgeRows
    degrees: Any


class WedgesBetweenGpus(RowSolver):
    """Counter of triangles on a rank's GPU, beside those of other ranks."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes to orient this rank's rows, or to gather those of all ranks, without mailboxes."""
        sizes = [[0, size.arcs // 2, size.vertices], [0, size.m // 2 - size.arcs // 2, size.n]]
        gather = _bytes_to_gather(size.n, size.m, size.masters, sizes, rank=0)
        return max(_bytes_to_orient(size.n, size.m, size.vertices), gather)

    def fits(self, ctx: Context) -> bool:
        """Return True if every rank has a GPU with memory for all oriented rows, and gather them; collective."""
        local, comm, backend = ctx.local, ctx.comm, self.backend
        if backend.links is None or not 0 < local.n < 2**31:  # CuPy has no positions above
            return False
        with ctx.record("prepare"), comm.watchdog.paused():
            part = backend.part_of(local, comm)
            need = numbering_bytes(part, comm.size)
            if comm.total(int(part.oriented is None)):
                part.oriented = None
                part.oriented = _gathered(ctx, part, need)
                return part.oriented is not None
            return not _lacks(ctx, part, need + _bytes_to_count(len(part.oriented.rows.offsets), local.masters))

    def solve(self, ctx: Context) -> GpuCounts:
        """Return this rank's columns, and the sums over all ranks; collective."""
        comm, device, part = ctx.comm, self.backend.device, self.backend.graph_of(ctx.local)
        oriented: OrientedRows = part.oriented
        with comm.together():
            search = WedgeCounter(part, device)
        with ctx.record("prepare"), comm.watchdog.paused():
            numbering = numbering_of(part, comm)
        ctx.record.choose("placement", "every GPU", "each has all oriented rows and counts the triangles of a share")
        with comm.together(), ctx.record("compute"):
            counts = search.triangles(oriented.wedges, len(oriented.rows.offsets) - 2, comm.rank, comm.size)
        with ctx.record("exchange"):
            triangles = oriented.rows.returned(numbering.moves, counts, device.xp.add)
        with comm.together(), ctx.record("compute"):
            counted = GpuCounts.of(part, triangles, search.shares(triangles, oriented.degrees))
        return replace(counted, corners=comm.total(counted.corners), share=ctx.total(counted.share))


def _lacks(ctx: Context, part: DeviceGraph, need: int) -> bool:
    """Return True if some rank's GPU has fewer free bytes than it needs; collective."""
    missing = lacking(part, ctx.comm, need, ("whole",))
    if missing:
        ctx.record.choose("placement", "hosts", f"a GPU lacks {missing:,} bytes of memory for all oriented rows")
    return bool(missing)


def _gathered(ctx: Context, part: DeviceGraph, before: int) -> OrientedRows | None:
    """Return the oriented rows of all ranks; None, on all ranks alike, if they do not fit on every GPU; collective.

    Args:
        ctx: the run.
        part: this rank's part.
        before: bytes for the numbering of vertices.
    """
    comm, device, xp, masters = ctx.comm, part.device, part.device.xp, part.local.masters
    if _lacks(ctx, part, before + _bytes_to_orient(part.local.n, part.local.arcs, part.local.size)):
        return None
    numbering = numbering_of(part, comm)
    order = numbering.by_degree()
    places, vertices = order.numbers, order.ending
    del order
    with comm.together():
        search = WedgeCounter(part, device, places)
        starts, degrees = search.oriented()
        rows = xp.flatnonzero(degrees)
        own = device.get(starts[[masters, part.local.size]]).tolist()
    sizes: list[list[int]] = comm.allgather_json([*own, len(rows)])
    if _lacks(ctx, part, _bytes_to_gather(vertices, part.local.arcs, masters, sizes, comm.rank)):
        return None
    spread = any(of_masters < arcs for of_masters, arcs, _ in sizes)  # some vertex has arcs on several ranks
    with comm.together():
        targets = search.targets(starts)
        if not spread:
            sort_rows(device, starts, targets)
        lengths, distinct = (starts[rows + 1] - starts[rows]).astype(np.uint32), degrees[rows]
        mine, numbers, arcs = xp.minimum(places[:masters], np.uint32(vertices)), places[rows], Leaving.of(targets)
        del search, starts, degrees, rows, places, targets
    gathered = gathered_rows(numbering, mine, vertices + 1, numbers, lengths, arcs, distinct, ordered=not spread)
    with comm.together():
        hubs = hubs_of(vertices, part.local.arcs)
        wedges = WedgeCounter(part, device).wedges(gathered.offsets, gathered.targets, hubs)
        return OrientedRows(replace(gathered, values=None), wedges, gathered.values[mine])


def _bytes_to_orient(n: int, edges: int, size: int) -> int:
    """Return the most bytes to sort all vertices, and then to count the arcs of ``size`` oriented rows."""
    return max(16 * n, 36 * size) + bytes_to_fill(edges)


def _bytes_to_gather(vertices: int, edges: int, masters: int, sizes: list[list[int]], rank: int) -> int:
    """Return the most bytes to gather oriented rows and count their triangles, after :func:`_bytes_to_orient`.

    Args:
        vertices: number of vertices with arcs.
        edges: arcs of the whole graph.
        masters: of this rank.
        sizes: oriented arcs of masters, oriented arcs, and rows with neighbours, of each rank.
        rank: this rank.
    """
    (_, mine, rows), (_, arcs, all_rows) = sizes[rank], np.sum(sizes, axis=0).tolist()
    most = max(of_rank[2] for of_rank in sizes)
    bitmap = 4 * bitmap_words(hubs_of(vertices, edges))
    last = max(bytes_to_fill(edges), bitmap + _bytes_to_count(vertices, masters))
    return 4 * (mine + arcs) + 12 * (rows + all_rows) + 32 * most + 28 * vertices + last


def _bytes_to_count(vertices: int, masters: int) -> int:
    """Return the most bytes to count triangles of oriented rows that are there."""
    return 16 * vertices + 24 * masters
