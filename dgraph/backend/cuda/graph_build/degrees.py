"""Out-degrees in the whole graph, on several ranks, and vertices by falling degree: of arcs as they are drawn, before
there are rows, so that no row is moved afterwards.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from dgraph.backend.cuda.device_graph.device_graph import SOME, cuts_of, falling, groups_of
from dgraph.backend.cuda.device_graph.graph_size import SKEWED
from dgraph.backend.cuda.graph_build.build_kernels import BuildKernels
from dgraph.backend.cuda.graph_build.build_memory import renumbering, sets
from dgraph.backend.cuda.graph_build.build_plan import BuildPlan
from dgraph.backend.cuda.graph_build.build_rows import BuiltCsr
from dgraph.backend.cuda.graph_build.vertices import Vertices
from dgraph.comm import Comm
from partitioning import Placement

NARROW = 1 << 32
"""Degrees below it are told and kept in 32 bits."""


def degrees(built: BuiltCsr, vertices: Vertices, placement: Placement, comm: Comm, device):
    """Out-degrees of this rank's vertices, by position; uint32 where that is enough. Collective."""
    if comm.size == 1:
        return _lengths(built, np.uint32 if built.longest < NARROW else np.int64, device.xp)
    found = _lengths(built, np.int64, device.xp)
    _gather(found, vertices, placement, comm, device)
    _tell(found, vertices, comm, device)
    narrow = not found.size or int(found.max()) < NARROW
    return found.astype(np.uint32 if narrow else np.int64, copy=False)


def _lengths(built: BuiltCsr, dtype: DTypeLike, xp):
    """Arcs of every row, without a second array of another dtype."""
    ends = built.offsets
    found = xp.empty(ends.size - 1, dtype)
    for first in range(0, found.size, SOME):
        stop = min(first + SOME, found.size)
        found[first:stop] = ends[first + 1 : stop + 1] - ends[first:stop]
    return found


def busiest(degree, vertices: Vertices, device) -> tuple[int, int]:
    """The largest degree of this rank's masters, and the smallest gid that has it; -1 and 0 where there is none."""
    if not vertices.masters:
        return -1, 0
    own, gids = degree[: vertices.masters], vertices.original
    most, found = int(own.max()), []
    for first in range(0, own.size, SOME):  # not at once: what marks and counts them takes bytes a vertex
        at = device.xp.flatnonzero(own[first : first + SOME] == most)
        if at.size:
            found.append(int(gids[first + at].min()))
    return most, min(found)


def _gather(found, vertices: Vertices, placement: Placement, comm: Comm, device) -> None:
    """Add to every master what stands at its mirrors; int64 by position. Collective."""
    if placement.cut == "outgoing":
        return
    dtype = _sent(found, comm)
    asked = [
        device.get(found[side.first : side.first + side.count].astype(dtype, copy=False))
        if (side := vertices.mine.get(peer))
        else np.zeros(0, dtype)
        for peer in range(comm.size)
    ]
    for peer, came in enumerate(comm.alltoallv(asked)):
        if came.size:
            found[vertices.lids[peer]] += device.put(came)


def _tell(found, vertices: Vertices, comm: Comm, device) -> None:
    """Put at every mirror what stands at its master; int64 by position. Collective."""
    dtype = _sent(found, comm)
    told = [
        device.get(found[vertices.lids[peer]].astype(dtype, copy=False))
        if peer in vertices.lids
        else np.zeros(0, dtype)
        for peer in range(comm.size)
    ]
    for peer, heard in enumerate(comm.alltoallv(told)):
        if heard.size:
            first = vertices.mine[peer].first
            found[first : first + heard.size] = device.put(heard)


def _sent(found, comm: Comm) -> DTypeLike:
    """The dtype in which ranks tell each other these degrees; collective."""
    return np.uint32 if comm.largest(int(found.max()) if found.size else 0) < NARROW else np.int64


def order(
    draft: BuildPlan, vertices: Vertices, placement: Placement, made: BuildKernels, comm: Comm, renumber: bool | None
) -> None:
    """Number the vertices of several ranks by falling degree, masters and every group of mirrors among themselves; all
    ranks or none: the two sides of a message count the same positions. Collective.

    Args:
        renumber: None: where degrees are skewed, and every rank has room for it.
    """
    if renumber is False:
        return
    device = made.device
    with comm.together():
        vertices.drawn = _counted(vertices, made)
        found, here = vertices.drawn.astype(np.int64), int(vertices.drawn.sum())
    _gather(found, vertices, placement, comm, device)
    with comm.together():
        largest = int(found[: vertices.masters].max()) if vertices.masters else 0
        cramped = renumber is None and not _fits(draft, vertices, here, made, comm.size)
    skewed = comm.largest(largest) > SKEWED * max(comm.total(here), 1) / draft.n
    if comm.total(cramped) or not (renumber or skewed):
        return
    _tell(found, vertices, comm, device)
    with comm.together():
        vertices.order, masters = _falling(found, vertices, made)
        del found
        _renumber(vertices, masters, made)


def _counted(vertices: Vertices, made: BuildKernels):
    """Arcs drawn from each vertex that lie here: uint64 by lid."""
    starts = made.device.xp.zeros(vertices.size + 2, np.uint64)
    if vertices.drawn is None:
        made.take(starts=starts)
        made.launch("count")
        made.take(starts=None)
    else:
        starts[2 : 2 + vertices.drawn.size] = vertices.drawn
    return starts[2:]


def _fits(draft: BuildPlan, vertices: Vertices, arcs: int, made: BuildKernels, parts: int) -> bool:
    """Whether there is room for another numbering, beside what is there by now."""
    size, ids = vertices.size, vertices.original.itemsize
    need = renumbering(
        draft.n, size, arcs, parts,
        weight=0 if draft.weight_type is None else draft.weight_type.itemsize,
        ids=ids,
        longest=int(vertices.drawn.max()) if size else 0,
        group=largest_group(vertices),
    )  # fmt: skip
    need -= sets(draft.n, size, parts) + (ids + 16) * size
    return need <= made.device.free(need)


def largest_group(vertices: Vertices) -> int:
    """Vertices that are put in order at a time, at most."""
    return max(stop - first for first, stop in pairwise(cuts_of(vertices)))


def _falling(found, vertices: Vertices, made: BuildKernels) -> tuple[Any, dict[int, Any]]:
    """The lid at each position, here and, by peer, of the mirrors that it holds; ``found``: degrees by lid."""
    xp, lids, theirs = made.device.xp, vertices.lids, vertices.theirs
    masters = {peer: lids[peer][falling(found[lids[peer]], groups_of(theirs[peer]), xp)] for peer in lids}
    return falling(found, cuts_of(vertices), xp), masters


def _renumber(vertices: Vertices, masters: dict[int, Any], made: BuildKernels) -> None:
    xp, size = made.device.xp, vertices.size
    vertices.place = place = xp.empty(size, np.uint32)
    place[vertices.order] = xp.arange(size, dtype=np.uint32)
    vertices.lids = {peer: place[lids] for peer, lids in masters.items()}
    vertices.original = vertices.original[vertices.order]
    vertices.drawn = vertices.drawn[vertices.order]
    lids = made.arrays["lids"]
    lids[:size] = place[lids[:size]]
    made.take(original=vertices.original)
