"""CSR rows of a rank, built on its GPU: count, fill, sort, merge and weigh.

No list of arcs is stored in between; listed edges become the rows where they lie, or are grouped there. Entries are
sorted in place in pieces, so the scratch memory stays small beside the rows. :func:`rows` is the entry; the kernels are
in ``build_rows.cuh`` and ``listed_rows.cuh``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.backend.cuda.device.placed_rows import placed
from dgraph.backend.cuda.device_graph.graph_size import WIDE
from dgraph.backend.cuda.graph_build import build_kernels
from dgraph.backend.cuda.graph_build.build_kernels import BuildKernels
from dgraph.backend.cuda.graph_build.build_memory import building, demand, piece
from dgraph.backend.cuda.graph_build.build_plan import BuildPlan
from dgraph.backend.cuda.graph_build.vertices import BuiltVertices, starts_of
from dgraph.comm import Comm
from dgraph.graph.build.rows_from_file import RawRows


class WrongList(Exception):
    """A value of a list is wrong."""


@dataclass
class BuiltCsr:
    """CSR of a rank on its GPU, by position.

    Attributes:
        offsets: int64, or uint32 below 2**31 arcs; shape (size + 1,).
        neighbours: uint32 (arcs,); ``spare`` bytes of merged arcs stay allocated behind it.
        weights: (arcs,) or None.
        longest: arcs of the longest row.
        loops: self-loops drawn, on all ranks; ``kept_loops``: those in the rows.
        equal: arcs here that were dropped or kept as parallel; ``equal_loops``: self-loops among them.
        hashed: the sum over arcs of ``graph/build/fingerprint.py``.
        repeats: True if parallel arcs are among the rows.
        mirrored: True if every arc was listed with its reverse of the same weight; checked where both are listed.
        isolated: vertices of the whole graph without arcs.
    """

    offsets: Any
    neighbours: Any
    weights: Any
    spare: int
    longest: int
    loops: int
    equal: int
    equal_loops: int
    kept_loops: int
    hashed: np.uint64
    isolated: int
    repeats: bool = False
    mirrored: bool = True


def rows(draft: BuildPlan, vertices: BuiltVertices, kernels: BuildKernels, comm: Comm) -> BuiltCsr:
    """Build the rows of this rank's vertices; collective, so that all ranks raise if one lacks memory."""
    device, xp, size = kernels.device, kernels.device.xp, vertices.size
    with comm.together():
        starts = starts_of(vertices, kernels)
        longest = int(starts.max())
        xp.cumsum(starts, out=starts)
        drawn = int(starts[-1])
        need = _more(draft, vertices, drawn, longest, comm.size)
        if kernels.in_place:
            need -= (4 + (0 if draft.listed is None else draft.listed.itemsize)) * draft.items
        demand(need, device, f"{drawn:,} arcs")
        if kernels.listed_rows is not None:
            starts = starts[1:]
            targets, weights = _placed(kernels.listed_rows, kernels, starts, vertices)
        elif kernels.in_place and draft.both:
            targets, weights = _with_reverses(draft, kernels, starts, size, drawn)
            starts = starts[1:]
        else:
            if kernels.in_place:
                targets, weights = _moved(kernels, drawn)
            else:
                targets = xp.empty(max(drawn, 1), np.uint32)
                weights = None if draft.listed is None else xp.empty(max(drawn, 1), draft.listed)
                kernels.take(targets=targets, weights=weights)
                kernels.launch("fill")
                device.wait()
            starts = starts[:-1]
        kernels.take(sources=None, entered=None, listed=None, starts=starts, targets=targets, weights=weights)
        listed = None if weights is None else weights[:drawn]
        arcs = _cleaned(kernels, starts, targets, listed, size, drawn, longest, draft.keep_parallel)
        return _finished(draft, vertices, kernels, starts, targets, weights, arcs)


def _placed(listed: RawRows, kernels: BuildKernels, starts: Any, vertices: BuiltVertices) -> tuple[Any, Any]:
    """Return targets and weights of the host's rows by position; loops among them are dropped later.

    Raises:
        WrongList: the host is to refuse the rows: it names the place.
    """
    offsets, place = kernels.arrays["offsets"], vertices.place
    targets, weights, (wrong, loops) = placed(kernels.device, offsets, starts, place, listed.targets, listed.weights)
    if wrong:
        raise WrongList
    kernels.counters[build_kernels.LOOPS : build_kernels.LOOPS + 1] = np.uint64(loops)
    kernels.take(offsets=None)
    return targets, weights


def _moved(kernels: BuildKernels, drawn: int) -> tuple[Any, Any]:
    """Group the listed edges by source where they lie, in the rows of ``starts``; return targets and weights."""
    kernels.launch("number_places", drawn)
    kernels.launch("move_to_places")
    kernels.device.wait()
    kernels.take(sources=None)
    return kernels.arrays["entered"], kernels.arrays["listed"]


def _with_reverses(draft: BuildPlan, kernels: BuildKernels, ends: Any, size: int, drawn: int) -> tuple[Any, Any]:
    """Return targets and weights of the rows that begin at ``ends[1:]``: listed edges, and their reverses behind.

    Edges are grouped first. Then a column of the rows takes the place of the list's before the next one is allocated.
    """
    xp = kernels.device.xp
    grouped = xp.zeros(size + 2, np.uint64)
    kernels.take(starts=grouped)
    kernels.set(both=0)
    kernels.launch("count")
    kernels.set(both=1)
    xp.cumsum(grouped, out=grouped)
    edges = int(grouped[-1])
    _moved(kernels, edges)
    kernels.take(starts=grouped, counts=ends)
    kernels.set(row_end=size, end=edges)
    targets = xp.empty(max(drawn, 1), np.uint32)
    kernels.take(targets=targets)
    kernels.launch("spread_targets")
    kernels.take(entered=None)
    weights = None
    if draft.listed is not None:
        weights = xp.empty(max(drawn, 1), draft.listed)
        kernels.take(weights=weights)
        kernels.launch("spread_weights")
        kernels.take(listed=None)
    kernels.take(rows=xp.zeros(size, np.uint32))
    kernels.launch("add_reverses")
    kernels.take(rows=None, counts=None)
    return targets, weights


def _more(draft: BuildPlan, vertices: BuiltVertices, drawn: int, longest: int, parts: int) -> int:
    """Return the bytes still to be allocated."""
    ids, weight = vertices.original.itemsize, 0 if draft.weight_type is None else draft.weight_type.itemsize
    whole = building(
        draft.n, vertices.size, drawn, parts, ids=ids, weight=weight, longest=longest, listed=draft.listed is not None
    )
    return whole - building(draft.n, vertices.size, 0, parts, ids=ids, weight=0)


def _cleaned(kernels: BuildKernels, starts, targets, weights, size: int, drawn: int, longest: int, keep: bool) -> int:
    """Sort and merge all rows in place, one piece after the other; return the number of remaining arcs.

    Listed ``weights`` go with their targets, and the smallest of parallel arcs is first. They are part of the sorted
    keys if these have the bits, else they are sorted apart.
    """
    device, xp = kernels.device, kernels.device.xp
    if not drawn:
        return 0
    length = piece(drawn)
    pieces = -(-drawn // length)
    firsts, ends = xp.empty(pieces, np.uint32), xp.empty(pieces, np.uint64)
    kernels.take(kept=firsts, keys=ends)
    kernels.set(row_end=size, to=length)
    kernels.launch("find_rows", pieces)
    edges, ends = (np.unique(device.get(array)).astype(np.int64) for array in (firsts, ends))
    edges, ends = np.append(edges, size), np.append(ends, drawn)
    room = min(drawn, length + min(longest, length))
    keys, kept = xp.empty(room + 1, np.uint64), xp.empty(room, np.uint32)
    kernels.take(keys=keys[1:], kept=kept)
    to, bits = 0, 0
    if weights is not None and weights.dtype.kind == "i":
        low, high = int(weights.min()), int(weights.max())
        bits = max((high - low).bit_length(), 1)
        bits = bits if int(np.diff(edges).max()).bit_length() + 32 + bits < 64 else 0
        kernels.set(packed=bits, least=low)
    apart = weights is not None and not bits

    def take(row: int, row_end: int, begin: int, end: int, last: int = 0, ordered: bool = False) -> None:
        """Sort and merge a piece. ``last``: entries of the same row's piece before it; ``ordered``: already sorted."""
        nonlocal to
        kernels.set(row=row, row_end=row_end, begin=begin, end=end, to=to)
        if last:
            device.copy(keys[:1], keys[last : last + 1])
        else:
            device.write(keys[:1], np.full(1, 2**64 - 1, np.uint64))
        kernels.launch("load")
        if apart:
            keyed = keys[1 : end - begin + 1]
            kernels.take(moved=weights[begin:end].copy() if ordered else _sorted_apart(keyed, weights[begin:end], xp))
        elif not ordered:
            device.sort(keys[1 : end - begin + 1])
        kernels.launch("choose", int(keep))
        kept_before = kept[: end - begin]
        xp.cumsum(kept_before, dtype=np.uint32, out=kept_before)  # of another view CuPy would make a copy first
        kernels.launch("store")
        if not last:
            kernels.launch("shift")
        to += int(kept[end - begin - 1])

    for row, row_end, begin, end in zip(edges[:-1], edges[1:], ends[:-1], ends[1:], strict=True):
        after = int(starts[int(row) + 1])
        if after - begin > length:
            if weights is None:
                device.sort(targets[begin:after])
            else:
                weights[begin:after] = _sorted_apart(targets[begin:after], weights[begin:after], xp)
            for low in range(int(begin), after, length):
                last = length if low > begin else 0
                take(int(row), int(row) + 1, low, min(low + length, after), last, ordered=True)
            row, begin = row + 1, after
        if end > begin:
            take(int(row), int(row_end), int(begin), int(end))
        elif row_end > row:
            starts[int(row) : int(row_end)] = np.uint64(to)
    device.write(starts[size:], np.full(1, to, np.uint64))
    kernels.take(moved=None)
    kernels.set(packed=0)
    return to


def _sorted_apart(keys, weights, xp):
    """Sort keys in place; return their weights in that order, ascending where keys are equal."""
    by = xp.argsort(weights, kind="stable")
    by = by[xp.argsort(keys[by], kind="stable")]
    keys[:] = keys[by]
    return weights[by]


def _finished(
    draft: BuildPlan, vertices: BuiltVertices, kernels: BuildKernels, starts, targets, weights, arcs: int
) -> BuiltCsr:
    """Compute weights and the rows' figures, and narrow offsets to 32 bits where they fit."""
    device, xp, size = kernels.device, kernels.device.xp, vertices.size
    neighbours = targets[:arcs]
    kernels.set(row=0, row_end=size, begin=0, end=arcs)
    touched = None
    if vertices.isolated is None and not draft.both:  # a row may be empty, and arcs enter the vertex
        touched = xp.zeros((size + 31) // 32, np.uint32)
    kernels.take(touched=touched, keys=None, kept=None)
    kernels.launch("survey")
    spare = targets.nbytes - neighbours.nbytes
    if weights is not None:
        spare += weights.nbytes - arcs * weights.itemsize
    elif draft.weight_type is not None:
        weights = xp.empty(max(arcs, 1), draft.weight_type)
        kernels.take(weights=weights)
        kernels.launch("weigh")
    if weights is not None:
        weights = weights[:arcs]
    kernels.launch("hash", int(draft.mirrored))
    counters = kernels.counted()
    isolated = counters[build_kernels.EMPTY] if vertices.isolated is None else vertices.isolated
    if touched is not None:
        isolated = size - build_kernels.members(device.get(touched))
    offsets = starts.view(np.int64)
    if arcs < WIDE:
        offsets = xp.empty(size + 1, np.uint32)
        kernels.take(narrowed=offsets)
        kernels.launch("narrow")
    kernels.take(starts=None, touched=None, targets=None, weights=None, narrowed=None)
    return BuiltCsr(
        offsets, neighbours, weights,
        spare=spare,
        longest=int(counters[build_kernels.MOST]),
        loops=int(counters[build_kernels.LOOPS]),
        equal=int(counters[build_kernels.EQUAL]),
        equal_loops=int(counters[build_kernels.EQUAL_LOOPS]),
        kept_loops=int(counters[build_kernels.KEPT_LOOPS]),
        hashed=counters.view(np.uint64)[build_kernels.HASH],
        isolated=int(isolated),
        repeats=bool(draft.keep_parallel and counters[build_kernels.EQUAL]),
        mirrored=not draft.mirrored or counters[build_kernels.HASH] == counters[build_kernels.HASH_BACK],
    )  # fmt: skip
