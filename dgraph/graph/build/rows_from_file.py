"""Build an :class:`EdgeBlock` from rows that a file lists in order: no arc changes its rank.

:func:`build_from_rows` is the entry. Inputs that need renumbering or reverse arcs go through ``clean.assemble``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import DataError
from dgraph.graph.block import EdgeBlock, LoadFacts, gid_type
from dgraph.graph.build.array_input import check_range, check_weights
from dgraph.graph.build.clean import assemble, note_found, tally
from dgraph.graph.build.clean_kernels import MANY, count_loops
from dgraph.graph.build.fingerprint import hashed
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.ids import ConsecutiveIds
from dgraph.graph.rows import merge_parallel, row_shares, sort_rows
from partitioning.arrays.lazy_numba import machine_code

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


@dataclass
class RawRows:
    """This rank's rows of a CSR as listed; the ranks' rows follow each other. The arrays may be overwritten.

    Attributes:
        n: vertices of the whole graph, with ids ``base .. base + n - 1``.
        first: the first row here, from 0.
        offsets: int64, shape (rows + 1,), ascending from 0.
        targets: uint32 or int64, shape (arcs here,), from 0; not yet checked.
        weights: int32, int64, float32 or float64 in the same order, or None (on all ranks).
        directed: False if the graph is undirected and both arcs of every edge are listed.
        base: smallest original id.
        why: reason for ``directed``, for the load line.
        facts: as in :class:`RawEdges`.
    """

    n: int
    first: int
    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None = None
    directed: bool = True
    base: int = 0
    why: str = ""
    facts: LoadFacts = field(default_factory=LoadFacts)


Listed = RawEdges | RawRows
"""Edges as an input lists them."""


def build_from_rows(raw: RawRows, comm: Comm, options: LoadOptions) -> EdgeBlock:
    """Build the clean graph of all ranks' rows, as ``assemble`` does from edges, without moving them; collective.

    Raises:
        DataError: a target that is not a vertex, a weight that is NaN, an undirected graph in which some arc lacks its
            reverse.
    """
    name, before, threads = raw.facts.name, comm.before(raw.targets.size), rank_threads(comm)
    with comm.together():
        check_range(raw.targets, 0, raw.n - 1, f"{name}: target", before, threads)
        if raw.weights is not None:
            check_weights(raw.weights, f"{name}: weight", before)
    directed = raw.directed if options.directed is None else options.directed
    if options.sparse_ids or options.merge != "min" or (raw.directed and not directed):
        block = assemble(_edges(raw), comm, options)
        if not (raw.directed or directed):
            check_mirrored(block, comm, name)
        return block
    facts = replace(raw.facts, notes=list(raw.facts.notes))
    why = raw.why if directed == raw.directed else "asked for"
    if why:
        facts.notes.insert(0, f"{'directed' if directed else 'undirected'}: {why}")
    offsets, weights = raw.offsets, raw.weights
    targets = raw.targets.astype(gid_type(raw.n), copy=False)
    sort_rows(offsets, targets, weights, threads)
    loops_of, distinct = [], []  # appending is atomic

    def check(part: slice) -> None:
        here = offsets[part.start : part.stop + 1]
        with machine_code(targets.size > MANY):
            loops_of.append(count_loops(here, targets, raw.first + part.start))
        distinct.append(_distinct(here, targets))

    row_shares(check, offsets, threads)
    loops = sum(loops_of)
    if loops and not options.keep_loops:
        targets, weights = _without_loops(offsets, targets, weights, raw.first)
    equal = equal_loops = 0
    if not all(distinct):
        targets, weights, equal, equal_loops = merge_parallel(
            offsets, targets, weights, raw.first, options.keep_parallel
        )
    note_found(facts, loops, equal, equal_loops, 1 if directed else 2, comm)
    facts.loops_kept, facts.duplicates_kept = options.keep_loops, options.keep_parallel
    ids = ConsecutiveIds(raw.n, raw.base)
    block = EdgeBlock(raw.n, 0, 0, raw.first, offsets, targets, weights, directed, ids, facts)
    tally(block, comm)
    if not directed:
        check_mirrored(block, comm, name)
    return block


def check_mirrored(block: EdgeBlock, comm: Comm, name: str) -> None:
    """Refuse rows in which some arc lacks its reverse; collective."""
    if not is_mirrored(block, comm):
        raise DataError(
            f"{name}: some arc lacks its reverse of the same weight, so the graph is not undirected; "
            "read it as directed (directed=True, --directed), or add the reverses"
        )


def is_mirrored(block: EdgeBlock, comm: Comm) -> bool:
    """Return True if every arc has its reverse, of the same weight; collective.

    Compares the sums of a hash over all arcs and over all reverses, so no arc is looked up.
    """
    sums = comm.allgather(hashed(block, comm, both=True)).sum(axis=0, dtype=np.uint64)
    return bool(sums[0] == sums[1])


def _edges(raw: RawRows) -> RawEdges:
    rows = np.arange(raw.first + raw.base, raw.first + raw.base + raw.offsets.size - 1, dtype=np.int64)
    ids = gid_type(raw.n + raw.base)
    src = np.repeat(rows.astype(ids), np.diff(raw.offsets))
    dst = raw.targets.astype(ids, copy=False) + ids.type(raw.base)
    return RawEdges(
        src, dst, raw.weights, raw.directed, raw.n, raw.base, mirrored=not raw.directed, why=raw.why, facts=raw.facts
    )


def _without_loops(offsets, targets, weights, first):
    _drop_loops(offsets, targets, weights, first)
    kept = int(offsets[-1])
    return targets[:kept], None if weights is None else weights[:kept]


@njit(cache=True)
def _drop_loops(offsets, targets, weights, first):
    """Remove self-loops in place; afterwards ``offsets[-1]`` arcs remain at the front of the arrays."""
    end, low = 0, offsets[0]
    for row in range(offsets.size - 1):
        high = offsets[row + 1]
        for i in range(low, high):
            if np.int64(targets[i]) != row + first:
                targets[end] = targets[i]
                if weights is not None:
                    weights[end] = weights[i]
                end += 1
        low = high
        offsets[row + 1] = end


@njit(cache=True, nogil=True)
def _distinct(offsets, targets):
    """Return True if no target repeats in its sorted row."""
    for row in range(offsets.size - 1):
        for i in range(offsets[row] + 1, offsets[row + 1]):
            if targets[i] == targets[i - 1]:
                return False
    return True
