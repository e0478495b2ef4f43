"""EdgeBlock + Placement → LocalGraph: every arc goes to the rank that holds it, and every rank numbers what it got."""

from __future__ import annotations

import numpy as np
from numba import njit

from dgraph.comm.base import Comm
from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock
from dgraph.graph.local import Csr, LocalGraph, Mirrors
from dgraph.graph.shuffle import HeldArcs, Masters, move_arcs, move_masters, move_rows
from partitioning import Placement
from partitioning.gidset import GidSet


def build(block: EdgeBlock, placement: Placement, comm: Comm) -> LocalGraph:
    """This rank's partition; collective.

    On one rank the block's own arrays serve as they are, and no arc is copied.

    Raises:
        UsageError: the placement names a rank that does not exist, or a rank would hold more than 2**32 vertices.
    """
    if comm.size == 1:
        return _whole(block, comm)
    masters = move_masters(block, placement, comm)
    held = move_rows(block, masters, comm) if placement.cut == "outgoing" else move_arcs(block, placement, comm)
    here = _vertices(block, masters, held, comm)
    lids, counts = _lids(here, held, placement, comm)
    gids = np.empty(len(lids), np.int64)
    gids[lids] = here.members()
    out = _rows(here, lids, held)
    mine = _mine(len(masters.gids), counts)
    theirs = _theirs(mine, gids, masters, comm)
    return LocalGraph(
        n=block.n,
        m=block.m,
        arcs=block.arcs,
        masters=len(masters.gids),
        gids=gids,
        original=block.ids.to_original(gids, comm),
        out_degree=_degrees(masters, theirs, comm),
        out=out,
        directed=block.directed,
        mine=mine,
        theirs=theirs,
    )


def _whole(block, comm) -> LocalGraph:
    """Everything on one rank: lids are gids."""
    _check_size(block.n)
    gids = np.arange(block.n, dtype=np.int64)
    return LocalGraph(
        n=block.n,
        m=block.m,
        arcs=block.arcs,
        masters=block.n,
        gids=gids,
        original=block.ids.to_original(gids, comm),
        out_degree=np.diff(block.offsets),
        out=Csr(block.offsets, block.targets.astype(np.uint32, copy=False), block.weights),
        directed=block.directed,
    )


def _vertices(block: EdgeBlock, masters: Masters, held: HeldArcs, comm: Comm) -> GidSet:
    """Masters and all ends of the arcs held here."""
    here = GidSet(block.n)
    for gids in (masters.gids, held.rows, held.targets):
        here.add(gids)
    with comm.together():
        _check_size(here.seal())
    return here


def _lids(here: GidSet, held: HeldArcs, placement: Placement, comm: Comm) -> tuple[np.ndarray, np.ndarray]:
    """The lid of every local vertex by ascending gid, uint32: masters, then mirrors as :class:`Mirrors` wants them.

    Also how many mirrors of each owner are column only, both, and row only: int64 (P, 3).
    """
    is_row, is_column = np.zeros((2, len(here)), bool)
    here.mark(held.rows, is_row)
    here.mark(held.targets, is_column)
    owner = placement.owner(here.members()).astype(np.int64)
    group = np.where(is_column, is_row, 2)
    key = np.where(owner == comm.rank, 0, 1 + 3 * owner + group)
    counts = np.bincount(key, minlength=1 + 3 * comm.size)
    return _ranks(key, np.cumsum(counts) - counts), counts[1:].reshape(comm.size, 3)


def _rows(here: GidSet, lids: np.ndarray, held: HeldArcs) -> Csr:
    """CSR by source lid; empties ``held``. Rows that already stand in order stay where they are."""
    sources = here.translate(held.rows, lids)
    offsets = np.zeros(len(lids) + 1, np.int64)
    np.add.at(offsets, sources.astype(np.int64) + 1, held.counts)
    np.cumsum(offsets, out=offsets)
    held.targets = here.translate(held.targets, lids, in_place=held.ours)
    if np.any(sources[1:] < sources[:-1]):
        held.targets = _spread(offsets[:-1].copy(), sources, held.counts, held.targets)
        if held.weights is not None:
            held.weights = _spread(offsets[:-1].copy(), sources, held.counts, held.weights)
    return Csr(offsets, held.targets, held.weights)


def _mine(masters: int, counts: np.ndarray) -> dict[int, Mirrors]:
    mine, first = {}, masters
    for peer, (column_only, both, row_only) in enumerate(counts.tolist()):
        count = column_only + both + row_only
        if count:
            mine[peer] = Mirrors(count, columns=column_only + both, rows=column_only, first=first)
        first += count
    return mine


def _theirs(mine: dict[int, Mirrors], gids: np.ndarray, masters: Masters, comm: Comm) -> dict[int, Mirrors]:
    """What each peer mirrors of ours. Gids are told once; from then on both sides count positions."""
    spans = np.zeros((comm.size, 2), np.int64)
    told = [gids[:0]] * comm.size
    for peer, mirrors in mine.items():
        spans[peer] = mirrors.columns, mirrors.rows
        told[peer] = gids[mirrors.first : mirrors.first + mirrors.count]
    theirs = {}
    for peer, (wanted, span) in enumerate(zip(comm.alltoallv(told), comm.alltoallv(list(spans)), strict=True)):
        if len(wanted):
            lids = np.searchsorted(masters.gids, wanted).astype(np.uint32)
            theirs[peer] = Mirrors(len(wanted), columns=int(span[0]), rows=int(span[1]), lids=lids)
    return theirs


def _degrees(masters: Masters, theirs: dict[int, Mirrors], comm: Comm) -> np.ndarray:
    """Out-degrees by lid: an owner tells each peer those of its mirrors, which stand there in the same order."""
    told = [masters.degrees[theirs[peer].lids if peer in theirs else slice(0)] for peer in range(comm.size)]
    return np.concatenate([masters.degrees, *comm.alltoallv(told)])


def _check_size(vertices: int):
    if vertices > 1 << 32:
        raise UsageError(f"one rank would hold {vertices} vertices, more than 32-bit lids can number: use more ranks")


@njit(cache=True)
def _ranks(keys, starts):
    """The place of every entry in the stable order by key; ``starts``: how many have a smaller key."""
    ranks = np.empty(keys.size, np.uint32)
    for i in range(keys.size):
        ranks[i] = starts[keys[i]]
        starts[keys[i]] += 1
    return ranks


@njit(cache=True)
def _spread(starts, sources, counts, values):
    """Move row after row of ``values`` to where the row of its source begins."""
    out = np.empty_like(values)
    taken = 0
    for i in range(sources.size):
        at = starts[sources[i]]
        out[at : at + counts[i]] = values[taken : taken + counts[i]]
        starts[sources[i]] += counts[i]
        taken += counts[i]
    return out
