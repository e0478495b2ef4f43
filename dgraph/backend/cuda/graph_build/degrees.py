"""Out-degrees in the whole graph on several ranks, and renumbering of vertices by descending degree.

Degrees are counted from drawn arcs before rows exist, so renumbering moves no row.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from dgraph.backend.cuda.device_graph import row_marks
from dgraph.backend.cuda.device_graph.device_graph import SOME
from dgraph.backend.cuda.device_graph.graph_size import SKEWED
from dgraph.backend.cuda.device_graph.vertex_order import by_descending_degree, cuts_of, groups_of
from dgraph.backend.cuda.graph_build.build_kernels import BuildKernels
from dgraph.backend.cuda.graph_build.build_memory import renumbering, sets
from dgraph.backend.cuda.graph_build.build_plan import BuildPlan
from dgraph.backend.cuda.graph_build.build_rows import BuiltCsr
from dgraph.backend.cuda.graph_build.vertices import NARROW, BuiltVertices, starts_of
from dgraph.comm import Comm
from partitioning import Placement


def degrees(built: BuiltCsr, vertices: BuiltVertices, whole_rows: bool, comm: Comm, device):
    """Return the out-degrees of this rank's vertices, by position; uint32 if that suffices; collective.

    Args:
        built: rows of masters and mirrors.
        vertices: the vertices.
        whole_rows: True if no mirror has a row.
        comm: the ranks.
        device: this rank's GPU.
    """
    if comm.size == 1:
        return row_marks.lengths(device, built.offsets) if built.longest < NARROW else _lengths(built, device.xp)
    degree = _lengths(built, device.xp)
    if not whole_rows:
        _reduce_to_masters(degree, vertices, comm, device)
    _send_to_mirrors(degree, vertices, comm, device)
    narrow = not degree.size or int(degree.max()) < NARROW
    return degree.astype(np.uint32 if narrow else np.int64, copy=False)


def _lengths(built: BuiltCsr, xp):
    """Return the arcs of every row, int64, without a second array of another dtype."""
    ends = built.offsets
    lengths = xp.empty(ends.size - 1, np.int64)
    for first in range(0, lengths.size, SOME):
        stop = min(first + SOME, lengths.size)
        lengths[first:stop] = ends[first + 1 : stop + 1] - ends[first:stop]
    return lengths


def busiest(degree, vertices: BuiltVertices, device) -> tuple[int, int]:
    """Return the largest degree of this rank's masters and the smallest gid that has it; (-1, 0) if it has none."""
    if not vertices.masters:
        return -1, 0
    own = degree[: vertices.masters]
    most = int(own.max())
    return most, row_marks.smallest_id(device, own, vertices.original, most)


def _reduce_to_masters(degree, vertices: BuiltVertices, comm: Comm, device) -> None:
    """Add mirrors' values to their masters; int64 by position; collective."""
    dtype = _sent(degree, comm)
    leaving = [
        device.get(degree[side.first : side.first + side.count].astype(dtype, copy=False))
        if (side := vertices.own_mirrors.get(peer))
        else np.zeros(0, dtype)
        for peer in range(comm.size)
    ]
    for peer, values in enumerate(comm.alltoallv(leaving)):
        if values.size:
            degree[vertices.lids[peer]] += device.put(values)


def _send_to_mirrors(degree, vertices: BuiltVertices, comm: Comm, device) -> None:
    """Copy masters' values to their mirrors; int64 by position; collective."""
    dtype = _sent(degree, comm)
    leaving = [
        device.get(degree[vertices.lids[peer]].astype(dtype, copy=False))
        if peer in vertices.lids
        else np.zeros(0, dtype)
        for peer in range(comm.size)
    ]
    for peer, values in enumerate(comm.alltoallv(leaving)):
        if values.size:
            first = vertices.own_mirrors[peer].first
            degree[first : first + values.size] = device.put(values)


def _sent(degree, comm: Comm) -> DTypeLike:
    """Return the dtype in which these degrees are sent; collective."""
    return np.uint32 if comm.largest(int(degree.max()) if degree.size else 0) < NARROW else np.int64


def order(
    draft: BuildPlan,
    vertices: BuiltVertices,
    placement: Placement,
    kernels: BuildKernels,
    comm: Comm,
    renumber: bool | None,
) -> None:
    """Renumber the vertices of several ranks by descending degree; collective.

    Masters and each group of mirrors are sorted within themselves. All ranks do it or none, since both sides of a
    message
    count the same positions.

    Args:
        draft: the graph to build.
        vertices: this rank's; renumbered in place.
        placement: of arcs and masters.
        kernels: the kernels.
        comm: all ranks.
        renumber: None: only if degrees are skewed and every rank has memory for it.
    """
    if renumber is False:
        return
    device = kernels.device
    with comm.together():
        vertices.drawn = starts_of(vertices, kernels)[2:]
        kernels.take(starts=None)
        degree, here = vertices.drawn.astype(np.int64), int(vertices.drawn.sum())
    if placement.cut != "outgoing":
        _reduce_to_masters(degree, vertices, comm, device)
    with comm.together():
        largest = int(degree[: vertices.masters].max()) if vertices.masters else 0
        cramped = renumber is None and not _fits(draft, vertices, here, kernels, comm.size)
    skewed = comm.largest(largest) > SKEWED * max(comm.total(here), 1) / draft.n
    if comm.total(cramped) or not (renumber or skewed):
        return
    _send_to_mirrors(degree, vertices, comm, device)
    with comm.together():
        vertices.order, masters = _by_descending_degree(degree, vertices, kernels)
        del degree
        _renumber(vertices, masters, kernels)


def _fits(draft: BuildPlan, vertices: BuiltVertices, arcs: int, kernels: BuildKernels, parts: int) -> bool:
    """Return True if there is memory for renumbering."""
    size, ids = vertices.size, vertices.original.itemsize
    need = renumbering(
        draft.n, size, arcs, parts,
        weight=0 if draft.weight_type is None else draft.weight_type.itemsize,
        ids=ids,
        longest=int(vertices.drawn.max()) if size else 0,
        group=largest_group(vertices),
    )  # fmt: skip
    need -= sets(draft.n, size, parts) + (ids + 16) * size
    return need <= kernels.device.free(need)


def largest_group(vertices: BuiltVertices) -> int:
    """Return the most vertices that are sorted together."""
    return max(stop - first for first, stop in pairwise(cuts_of(vertices)))


def _by_descending_degree(degree, vertices: BuiltVertices, kernels: BuildKernels) -> tuple[Any, dict[int, Any]]:
    """Return the lid at each position, and by peer those of the masters that it mirrors."""
    xp, lids, theirs = kernels.device.xp, vertices.lids, vertices.peer_mirrors
    masters = {peer: lids[peer][by_descending_degree(degree[lids[peer]], groups_of(theirs[peer]), xp)] for peer in lids}
    return by_descending_degree(degree, cuts_of(vertices), xp), masters


def _renumber(vertices: BuiltVertices, masters: dict[int, Any], kernels: BuildKernels) -> None:
    xp, size = kernels.device.xp, vertices.size
    vertices.place = place = xp.empty(size, np.uint32)
    place[vertices.order] = xp.arange(size, dtype=np.uint32)
    vertices.lids = {peer: place[lids] for peer, lids in masters.items()}
    vertices.original = vertices.original[vertices.order]
    vertices.drawn = vertices.drawn[vertices.order]
    lids = kernels.arrays["lids"]
    lids[:size] = place[lids[:size]]
    kernels.take(original=vertices.original)
