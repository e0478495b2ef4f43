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
from dgraph.backend.cuda.gathered.numbering import Numbering, lacking, numbering_bytes, numbering_of
from dgraph.backend.cuda.gathered.row_assembly import RowAssembly, bytes_to_fill, fill, sort_rows
from dgraph.backend.cuda.transports.bulk_moves import Leaving
from dgraph.backend.row_solver import RowSolver
from dgraph.engine.rounds.context import Context

NO_DEGREE = np.uint64((2**32 - 1) << 32)
"""Least key of a vertex without arcs in the order of vertices."""

PLACED = 1 << 24
"""Places that are written at a time."""


@dataclass
class Replica:
    """Oriented rows of the whole graph, as one rank keeps them.

    Attributes:
        wedges: rows of the vertices with arcs, by place, and an empty row for all others.
        mine: row of each master by position, uint32.
        degrees: distinct neighbours of each master, uint32.
    """

    wedges: WedgeRows
    mine: Any
    degrees: Any


class WedgesBetweenGpus(RowSolver):
    """Counter of triangles on a rank's GPU, beside those of other ranks."""

    def fits(self, ctx: Context) -> bool:
        """Return True if every rank has a GPU with memory for all oriented rows, and gather them; collective."""
        local, comm, backend = ctx.local, ctx.comm, self.backend
        if backend.links is None or not 0 < local.n < 2**31:  # CuPy has no positions above
            return False
        with ctx.record("prepare"), comm.watchdog.paused():
            backend.prepare(local, comm)
            with comm.together():
                part = backend.graph_of(local)
                need = numbering_bytes(part, comm.size)
            if comm.total(int(part.oriented is None)):
                part.oriented = None
                part.oriented = _gathered(ctx, part, need)
                return part.oriented is not None
            return not _lacks(ctx, part, need + _bytes_to_count(len(part.oriented.wedges.starts), local.masters))

    def solve(self, ctx: Context) -> GpuCounts:
        """Return this rank's columns, and the sums over all ranks; collective."""
        comm, device, part = ctx.comm, self.backend.device, self.backend.graph_of(ctx.local)
        replica: Replica = part.oriented
        with comm.together():
            search = WedgeCounter(part, device)
        with ctx.record("prepare"), comm.watchdog.paused():
            numbering = numbering_of(part, comm)
        ctx.record.choose("placement", "every GPU", "each has all oriented rows and counts the triangles of a share")
        with comm.together(), ctx.record("compute"):
            counts = search.triangles(replica.wedges, len(replica.wedges.starts) - 2, comm.rank, comm.size)
        with ctx.record("exchange"):
            numbering.moves.allreduce(counts, device.xp.add)
        with comm.together(), ctx.record("compute"):
            triangles = counts[replica.mine]
            counted = GpuCounts.of(part, triangles, search.shares(triangles, replica.degrees))
        return replace(counted, corners=comm.total(counted.corners), share=ctx.total(counted.share))


def _lacks(ctx: Context, part: DeviceGraph, need: int) -> bool:
    """Return True if some rank's GPU has fewer free bytes than it needs; collective."""
    missing = lacking(part, ctx.comm, need, ("whole",))
    if missing:
        ctx.record.choose("placement", "hosts", f"a GPU lacks {missing:,} bytes of memory for all oriented rows")
    return bool(missing)


def _gathered(ctx: Context, part: DeviceGraph, before: int) -> Replica | None:
    """Return the oriented rows of all ranks; None, on all ranks alike, if they do not fit on every GPU; collective.

    Args:
        ctx: the run.
        part: this rank's part.
        before: bytes for the numbering of vertices.
    """
    comm, device, xp, masters = ctx.comm, part.device, part.device.xp, part.local.masters
    if _lacks(ctx, part, before + _bytes_to_orient(part)):
        return None
    numbering = numbering_of(part, comm)
    place, vertices = _places(part, numbering)
    with comm.together():
        search = WedgeCounter(part, device, place)
        starts, degrees = search.oriented()
        rows = xp.flatnonzero(degrees)
        own = [int(each) for each in device.get(starts[[masters, part.local.size]])]
    sizes: list[list[int]] = comm.allgather_json([*own, len(rows)])
    if _lacks(ctx, part, _bytes_to_gather(part, vertices, sizes, comm.rank)):
        return None
    spread = any(of_masters < arcs for of_masters, arcs, _ in sizes)  # some vertex has arcs on several ranks
    with comm.together():
        targets = search.targets(starts)
        if not spread:
            sort_rows(device, starts, targets)
        lists = place[rows], (starts[rows + 1] - starts[rows]).astype(np.uint32), degrees[rows]
        mine = xp.minimum(place[:masters], np.uint32(vertices))
        del search, starts, degrees, rows, place
    places, lengths, distinct = (numbering.collected(np.uint32, each) for each in lists)
    del lists
    with comm.together():
        degrees, sums = xp.zeros(vertices + 1, np.uint32), xp.zeros(vertices + 1, np.int64)
        for peer, of_peer in places.items():
            degrees[of_peer] += distinct.pop(peer)
            sums[of_peer] += lengths[peer]
        assembly = RowAssembly(device, sums)
        del sums
    fill(assembly, numbering.moves, places, lengths, Leaving.of(targets))
    with comm.together():
        assembly.end()
        del places, lengths, targets
        if spread:
            sort_rows(device, assembly.starts, assembly.targets)
        wedges = WedgeCounter(part, device).wedges(
            assembly.starts, assembly.targets, hubs_of(vertices, part.local.arcs)
        )
        return Replica(wedges, mine, degrees[mine])


def _places(part: DeviceGraph, numbering: Numbering) -> tuple[Any, int]:
    """Return the place of each position among all vertices, and the number of vertices with arcs; collective.

    Places are by descending degree in the whole graph, then by gid: uint32 on the device.
    """
    device, comm, xp, n, masters = part.device, numbering.moves.comm, part.device.xp, part.local.n, part.local.masters
    begins = np.concatenate([[0], np.cumsum(comm.allgather(np.array([masters], np.int64)))]).tolist()
    with comm.together():
        keys = xp.empty(n, np.uint64)

    def made(first: int, stop: int) -> Any:
        found = part.degree[first:stop].astype(np.uint64)
        found <<= np.uint64(32)
        found = xp.subtract(NO_DEGREE, found)
        found |= numbering.gids[first:stop]
        return found

    def placed(peer: int, first: int, piece: Any) -> None:
        keys[begins[peer] + first : begins[peer] + first + len(piece)] = piece

    numbering.moves.move(np.uint64, dict.fromkeys(range(comm.size), Leaving(masters, made)), placed)
    with comm.together():
        device.sort(keys)
        vertices = int(xp.searchsorted(keys, xp.asarray([NO_DEGREE]))[0])
        place = xp.empty(n, np.uint32)
        for first in range(0, n, PLACED):
            gids = keys[first : first + PLACED].astype(np.uint32)
            place[gids] = xp.arange(first, first + len(gids), dtype=np.uint32)
        return place[numbering.gids], vertices


def _bytes_to_orient(part: DeviceGraph) -> int:
    """Return the most bytes to sort all vertices, and then to count the arcs of oriented rows."""
    return max(16 * part.local.n, 36 * part.local.size) + bytes_to_fill()


def _bytes_to_gather(part: DeviceGraph, vertices: int, sizes: list[list[int]], rank: int) -> int:
    """Return the most bytes to gather oriented rows and count their triangles, after :func:`_bytes_to_orient`.

    Args:
        part: this rank's part.
        vertices: number of vertices with arcs.
        sizes: oriented arcs of masters, oriented arcs, and rows with neighbours, of each rank.
        rank: this rank.
    """
    (_, mine, rows), (_, arcs, all_rows) = sizes[rank], np.sum(sizes, axis=0).tolist()
    most = max(each[2] for each in sizes)
    bitmap = 4 * bitmap_words(hubs_of(vertices, part.local.arcs))
    last = max(bytes_to_fill(), bitmap + _bytes_to_count(vertices, part.local.masters))
    return 4 * (mine + arcs) + 12 * (rows + all_rows) + 32 * most + 28 * vertices + last


def _bytes_to_count(vertices: int, masters: int) -> int:
    """Return the most bytes to count triangles of oriented rows that are there."""
    return 16 * vertices + 24 * masters
