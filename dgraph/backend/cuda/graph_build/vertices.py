"""Which vertices are on this rank, and their numbers: gids and lids, mirrors and whose they are."""

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


@dataclass
class Vertices:
    """The vertices of a rank.

    Attributes:
        masters, size: how many; masters and mirrors.
        original: by position in the rows, the gid; on the device.
        order, place: as of :class:`~dgraph.backend.cuda.device_graph.device_graph.DeviceGraph`, where vertices are
            numbered by degree.
        mine, theirs: as of :class:`~dgraph.graph.local.LocalGraph`, by lid.
        lids: by peer, the masters that it mirrors, by position on both sides: uint32 on the device.
        drawn: by position, the arcs drawn from it, uint64 on the device, none from those that it leaves out; None: not
            counted yet.
        isolated: vertices of the whole graph without an arc; None: not known yet.
    """

    masters: int
    size: int
    original: Any
    order: Any = None
    place: Any = None
    mine: dict[int, Mirrors] = field(default_factory=dict)
    theirs: dict[int, Mirrors] = field(default_factory=dict)
    lids: dict[int, Any] = field(default_factory=dict)
    drawn: Any = None
    isolated: int | None = None


def whole(draft: BuildPlan, made: BuildKernels, renumber: bool | None) -> Vertices:
    """All vertices, on the one rank: by gid, or by falling degree. ``renumber``: None: where degrees are skewed."""
    _check(draft.n)
    xp, (gids, _) = made.device.xp, gid_dtype(draft.n)
    demand((8 + gids.itemsize) * draft.n, made.device, f"{draft.n:,} rows")
    drawn = None
    if renumber is not False:
        degrees = xp.zeros(draft.n, np.uint64)
        made.take(counts=degrees)
        made.set(low=0, high=draft.n)
        made.launch("degrees_of_slice")
        made.take(counts=None)
        largest, arcs = int(degrees.max()), int(degrees.sum())
        drawn = degrees
        if renumber or largest > SKEWED * max(arcs, 1) / draft.n:
            order = xp.argsort(-degrees.view(np.int64), kind="stable").astype(np.uint32)
            drawn = degrees[order]
            del degrees
            place = xp.empty(draft.n, np.uint32)
            place[order] = xp.arange(draft.n, dtype=np.uint32)
            made.take(lids=place, original=order)
            return Vertices(draft.n, draft.n, order, order, place, drawn=drawn)
    return Vertices(draft.n, draft.n, xp.arange(draft.n, dtype=gids), drawn=drawn)


def spread(draft: BuildPlan, placement: Placement, made: BuildKernels, comm: Comm) -> Vertices:
    """Masters of this rank and the other ends of its arcs; collective. Kernels then translate gids."""
    device, xp = made.device, made.device.xp
    count, parts = words(draft.n), comm.size
    with comm.together():
        demand(sets(draft.n, draft.n // parts, parts), device, "the sets of vertices")
        rows, columns, here = (xp.zeros(count, np.uint32) for _ in range(3))
        before = xp.zeros(count + 1, np.uint32)
        made.take(rows=rows, columns_here=columns, words=here, before=before)
        drawn = None
        if placement.cut == "outgoing" and isinstance(placement.owner, Blocks):
            low, high = placement.owner.bounds[comm.rank : comm.rank + 2].tolist()
            drawn = xp.zeros(max(high - low, 1), np.uint64)
            made.take(counts=drawn)
            made.set(low=low)
        made.launch("mark")
        made.take(counts=None)
        made.launch("gather")
        size = int(made.counted()[VERTICES_HERE])
        _check(size)
        xp.cumsum(before, dtype=np.uint32, out=before)
        ended = device.get(rows | columns)
    isolated = draft.n - _joined(ended, comm)
    del ended
    with comm.together():
        gids, _ = gid_dtype(draft.n)
        runs, groups = (count + RUN - 1) // RUN, 1 + 3 * parts
        demand(4 * runs * groups + (4 + gids.itemsize) * size, device, "the numbers of vertices")
        tally = xp.zeros((groups, runs), np.uint32)
        lids, original = xp.empty(max(size, 1), np.uint32), xp.empty(max(size, 1), gids)
        made.take(tally=tally, lids=None, original=original)
        made.launch("number_groups", 0)
        sums = xp.cumsum(tally.ravel(), dtype=np.uint32)
        counts = np.diff(device.get(sums[runs - 1 :: runs]).astype(np.int64), prepend=0)
        tally.ravel()[0] = 0
        tally.ravel()[1:] = sums[:-1]
        del sums
        made.take(lids=lids)
        made.launch("number_groups", 1)
        device.wait()
        made.take(rows=None, columns_here=None, tally=None)
        del tally, rows, columns
    masters = int(counts[0])
    drawn = None if drawn is None else drawn[:masters]
    found = Vertices(
        masters, size, original[:size], drawn=drawn, mine=mirrors_of(masters, counts[1:].reshape(parts, 3))
    )
    found.isolated = isolated
    _meet(found, made, comm)
    return found


def _meet(found: Vertices, made: BuildKernels, comm: Comm) -> None:
    """What peers mirror of this rank's masters: gids are told once. Collective."""
    device, xp = made.device, made.device.xp
    told, spans = [], []
    for peer in range(comm.size):
        mirrors = found.mine.get(peer)
        first, count = (mirrors.first, mirrors.count) if mirrors else (0, 0)
        told.append(device.get(found.original[first : first + count]))
        spans.append(np.array([mirrors.columns, mirrors.rows] if mirrors else [0, 0], np.int64))
    asked, heard = comm.alltoallv(told), comm.alltoallv(spans)
    del told
    with comm.together():
        for peer, gids in enumerate(asked):
            if gids.size:
                wanted, lids = device.put(gids), xp.empty(gids.size, np.uint32)
                made.take(asked=wanted, found=lids)
                made.launch("look_up", gids.size)
                device.wait()
                columns, rows = heard[peer].tolist()
                found.theirs[peer] = Mirrors(gids.size, columns=columns, rows=rows, lids=device.get(lids))
                found.lids[peer] = lids


def _joined(ended: np.ndarray, comm: Comm) -> int:
    """Vertices that an arc on any rank leaves or enters; every rank adds up its share of the words."""
    cuts = np.arange(comm.size + 1) * ended.size // comm.size
    parts = comm.alltoallv([ended[low:high] for low, high in pairwise(cuts)])
    return comm.total(members(np.bitwise_or.reduce(parts)))


def _check(vertices: int) -> None:
    if vertices > MOST:
        raise UsageError(f"one rank would hold {vertices} vertices, more than 32-bit lids can number: use more ranks")
