"""Vertices of a rank of a built graph: gids, lids, masters and mirrors.

:func:`whole` numbers them on one rank, :func:`spread` on several.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from dgraph.backend.cuda.device_graph.graph_size import SKEWED
from dgraph.backend.cuda.graph_build.build_kernels import RUN, VERTICES_HERE, BuildKernels, gid_dtype, members, words
from dgraph.backend.cuda.graph_build.build_memory import demand, sets
from dgraph.backend.cuda.graph_build.build_plan import MOST, BuildPlan
from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.graph.build.local_graph import mirrors_of
from dgraph.graph.local import Mirrors
from partitioning import Placement
from partitioning.policies.edge_cut import Blocks

NARROW = 1 << 32
"""Bound below which degrees are sent, sorted and stored in 32 bits."""


@dataclass
class BuiltVertices:
    """Vertices of a rank.

    Attributes:
        masters: number of masters; ``size``: of masters and mirrors.
        original: gid by position in the rows, on the device.
        order, place: as in :class:`~dgraph.backend.cuda.device_graph.device_graph.DeviceGraph`, if numbered by degree.
        own_mirrors, peer_mirrors: as in :class:`~dgraph.graph.local.LocalGraph`, by lid.
        lids: peer → position of the masters that it mirrors: uint32 on the device.
        drawn: arcs drawn from each position: uint64 on the device, 0 beyond its end; None: not counted yet.
        starts: two zeros and the arcs drawn from each position, which become the rows' starts; None likewise.
        isolated: vertices of the whole graph without arcs; None: not known yet.
    """

    masters: int
    size: int
    original: Any
    order: Any = None
    place: Any = None
    own_mirrors: dict[int, Mirrors] = field(default_factory=dict)
    peer_mirrors: dict[int, Mirrors] = field(default_factory=dict)
    lids: dict[int, Any] = field(default_factory=dict)
    drawn: Any = None
    starts: Any = None
    isolated: int | None = None


def whole(draft: BuildPlan, kernels: BuildKernels, renumber: bool | None) -> BuiltVertices:
    """Assign lids to all vertices on the one rank, by gid or by descending degree, in place of the degrees.

    Args:
        draft: the graph to build.
        kernels: the kernels.
        renumber: by degree, if 32 bits hold the largest; None: if degrees are skewed.
    """
    _check(draft.n)
    xp, (gids, _) = kernels.device.xp, gid_dtype(draft.n)
    demand((8 + gids.itemsize) * draft.n, kernels.device, f"{draft.n:,} rows")
    starts = None
    if renumber is not False:
        starts = xp.zeros(draft.n + 2, np.uint64)
        degrees = starts[2:]
        kernels.take(counts=degrees)
        kernels.set(low=0, high=draft.n)
        kernels.launch("degrees_of_slice")
        largest, arcs = int(degrees.max()), int(degrees.sum())
        if largest < NARROW and (renumber or largest > SKEWED * max(arcs, 1) / draft.n):
            kernels.launch("key_degrees")
            kernels.device.sort(degrees)
            order, place = (xp.empty(draft.n, np.uint32) for _ in range(2))
            kernels.take(lids=place, original=order)
            kernels.launch("renumber")
            kernels.take(counts=None)
            return BuiltVertices(draft.n, draft.n, order, order, place, starts=starts)
        kernels.take(counts=None)
    return BuiltVertices(draft.n, draft.n, xp.arange(draft.n, dtype=gids), starts=starts)


def starts_of(vertices: BuiltVertices, kernels: BuildKernels) -> Any:
    """Return two zeros and the arcs drawn from each position that are placed here: uint64; kernels' ``starts``."""
    starts, vertices.starts = vertices.starts, None
    counted = starts is not None
    if starts is None:
        starts = kernels.device.xp.zeros(vertices.size + 2, np.uint64)
    kernels.take(starts=starts)
    if vertices.drawn is not None:
        kernels.device.copy(starts[2 : 2 + vertices.drawn.size], vertices.drawn)
        vertices.drawn = None
    elif not counted:
        kernels.launch("count")
    return starts


def spread(draft: BuildPlan, placement: Placement, kernels: BuildKernels, comm: Comm) -> BuiltVertices:
    """Find and number this rank's masters and mirrors; kernels then translate gids; collective."""
    device, xp = kernels.device, kernels.device.xp
    count, parts = words(draft.n), comm.size
    with comm.together():
        demand(sets(draft.n, draft.n // parts, parts), device, "the sets of vertices")
        rows, columns, here = (xp.zeros(count, np.uint32) for _ in range(3))
        before = xp.zeros(count + 1, np.uint32)
        kernels.take(rows=rows, columns_here=columns, words=here, before=before)
        drawn = None
        if placement.cut == "outgoing" and isinstance(placement.owner, Blocks):
            low, high = placement.owner.bounds[comm.rank : comm.rank + 2].tolist()
            drawn = xp.zeros(max(high - low, 1), np.uint64)
            kernels.take(counts=drawn)
            kernels.set(low=low)
        kernels.launch("mark")
        kernels.take(counts=None)
        kernels.launch("gather")
        size = int(kernels.counted()[VERTICES_HERE])
        _check(size)
        xp.cumsum(before, dtype=np.uint32, out=before)
        ended = device.get(rows | columns)
    isolated = draft.n - _count_touched(ended, comm)
    del ended
    with comm.together():
        gids, _ = gid_dtype(draft.n)
        runs, groups = (count + RUN - 1) // RUN, 1 + 3 * parts
        demand(4 * runs * groups + (4 + gids.itemsize) * size, device, "the numbers of vertices")
        tally = xp.zeros((groups, runs), np.uint32)
        lids, original = xp.empty(max(size, 1), np.uint32), xp.empty(max(size, 1), gids)
        kernels.take(tally=tally, lids=None, original=original)
        kernels.launch("number_groups", 0)
        sums = xp.cumsum(tally.ravel(), dtype=np.uint32)
        counts = np.diff(device.get(sums[runs - 1 :: runs]).astype(np.int64), prepend=0)
        tally.ravel()[0] = 0
        tally.ravel()[1:] = sums[:-1]
        del sums
        kernels.take(lids=lids)
        kernels.launch("number_groups", 1)
        device.wait()
        kernels.take(rows=None, columns_here=None, tally=None)
        del tally, rows, columns
    masters = int(counts[0])
    drawn = None if drawn is None else drawn[:masters]
    vertices = BuiltVertices(
        masters, size, original[:size], drawn=drawn, own_mirrors=mirrors_of(masters, counts[1:].reshape(parts, 3))
    )
    vertices.isolated = isolated
    _exchange_mirrors(vertices, kernels, comm)
    return vertices


def _exchange_mirrors(vertices: BuiltVertices, kernels: BuildKernels, comm: Comm) -> None:
    """Exchange the gids of mirrors, so that each rank knows which of its masters its peers mirror; collective."""
    device, xp = kernels.device, kernels.device.xp
    mirrored, spans = [], []
    for peer in range(comm.size):
        mirrors = vertices.own_mirrors.get(peer)
        first, count = (mirrors.first, mirrors.count) if mirrors else (0, 0)
        mirrored.append(device.get(vertices.original[first : first + count]))
        spans.append(np.array([mirrors.columns, mirrors.rows] if mirrors else [0, 0], np.int64))
    requested, peer_spans = comm.alltoallv(mirrored), comm.alltoallv(spans)
    del mirrored
    with comm.together():
        for peer, gids in enumerate(requested):
            if gids.size:
                wanted, lids = device.put(gids), xp.empty(gids.size, np.uint32)
                kernels.take(asked=wanted, found=lids)
                kernels.launch("look_up", gids.size)
                device.wait()
                columns, rows = peer_spans[peer].tolist()
                vertices.peer_mirrors[peer] = Mirrors(gids.size, columns=columns, rows=rows, lids=device.get(lids))
                vertices.lids[peer] = lids


def _count_touched(ended: np.ndarray, comm: Comm) -> int:
    """Count the vertices that have an arc on any rank; every rank counts a share of the words; collective."""
    cuts = np.arange(comm.size + 1) * ended.size // comm.size
    parts = comm.alltoallv([ended[low:high] for low, high in pairwise(cuts)])
    return comm.total(members(np.bitwise_or.reduce(parts)))


def _check(vertices: int) -> None:
    if vertices > MOST:
        raise UsageError(f"one rank would hold {vertices} vertices, more than 32-bit lids can number: use more ranks")
