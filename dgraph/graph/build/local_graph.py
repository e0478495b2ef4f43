"""EdgeBlock + Placement → LocalGraph: every arc goes to the rank that holds it, and every rank numbers what it got."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm.base import Comm
from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.part_layout import PartLayout
from dgraph.graph.build.shuffle import HeldArcs, Masters, move_arcs, move_masters, move_rows
from dgraph.graph.local import Csr, LocalGraph, Mirrors
from partitioning import Placement
from partitioning.arrays.gidset import GidSet


def build(block: EdgeBlock, placement: Placement, comm: Comm) -> LocalGraph:
    """This rank's partition, of as many as there are ranks; collective.

    On one rank the block's own arrays serve as they are, and no arc is copied.

    Raises:
        UsageError: the placement names a rank that does not exist, or a rank would hold more than 2**32 vertices.
    """
    return build_parts(block, placement, comm)[0]


def build_parts(block: EdgeBlock, placement: Placement, comm: Comm) -> list[LocalGraph]:
    """The partitions that live on this rank, of any number; collective. Raises as :func:`build` does."""
    if placement.parts == comm.size == 1:
        return [_whole(block, comm)]
    homes = PartLayout(placement.parts, comm)
    owners, masters = move_masters(block, placement, homes)
    if placement.cut == "outgoing":
        held = move_rows(block, owners, masters, homes)
    else:
        held = move_arcs(block, placement, homes)
    return number(block, masters, held, placement.owner, homes)


def number(whole, masters: list[Masters], held: list[HeldArcs], owner, homes: PartLayout) -> list[LocalGraph]:
    """Local graphs of the parts here, from what they own and hold; collective. Empties ``held``.

    Args:
        whole: the graph: anything with ``n, m, arcs, directed, ids`` as in :class:`EdgeBlock`.
        owner: gids to parts, of every vertex that a part here holds an arc of.
    """
    comm = homes.comm
    numbered = []
    with comm.together():
        for part, owned, arcs in zip(homes.here, masters, held, strict=True):
            here = _vertices(whole.n, owned, arcs)
            lids, counts = _lids(here, part, arcs, owner, homes.count)
            gids = np.empty(len(lids), np.int64)
            gids[lids] = here.members()
            numbered.append((gids, _rows(here, lids, arcs), mirrors_of(len(owned.gids), counts)))
            del here, lids
    theirs = _theirs([mine for *_, mine in numbered], [gids for gids, *_ in numbered], masters, homes)
    degrees = _degrees(masters, theirs, homes)
    return [
        LocalGraph(
            n=whole.n, m=whole.m, arcs=whole.arcs, masters=len(owned.gids), gids=gids,
            original=original, out_degree=degree, out=out, directed=whole.directed, mine=mine, theirs=of_peers,
        )
        for (gids, out, mine), owned, degree, of_peers, original in zip(
            numbered, masters, degrees, theirs, _originals(whole, [gids for gids, *_ in numbered], comm), strict=True
        )
    ]  # fmt: skip


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


def _vertices(n: int, masters: Masters, held: HeldArcs) -> GidSet:
    """Masters and all ends of the arcs held here."""
    here = GidSet(n)
    for gids in (masters.gids, held.rows, held.targets):
        here.add(gids)
    _check_size(here.seal())
    return here


def _lids(here: GidSet, part: int, held: HeldArcs, owner, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """The lid of every local vertex by ascending gid, uint32: masters, then mirrors as :class:`Mirrors` wants them.

    Also how many mirrors of each owner are column only, both, and row only: int64 (parts, 3).
    """
    is_row, is_column = np.zeros((2, len(here)), bool)
    here.mark(held.rows, is_row)
    here.mark(held.targets, is_column)
    owners = owner(here.members()).astype(np.int64)
    group = np.where(is_column, is_row, 2)
    key = np.where(owners == part, 0, 1 + 3 * owners + group)
    counts = np.bincount(key, minlength=1 + 3 * parts)
    return _ranks(key, np.cumsum(counts) - counts), counts[1:].reshape(parts, 3)


def _rows(here: GidSet, lids: np.ndarray, held: HeldArcs) -> Csr:
    """CSR by source lid; empties ``held``. Rows that already stand in order stay where they are."""
    sources = here.translate(held.rows, lids)
    offsets = np.zeros(len(lids) + 1, np.int64)
    np.add.at(offsets, sources.astype(np.int64) + 1, held.counts)
    np.cumsum(offsets, out=offsets)
    held.targets = here.translate(held.targets, lids, in_place=held.ours)
    if np.any(sources[1:] < sources[:-1]):
        held.targets = spread(offsets[:-1].copy(), sources, held.counts, held.targets)
        if held.weights is not None:
            held.weights = spread(offsets[:-1].copy(), sources, held.counts, held.weights)
    return Csr(offsets, held.targets, held.weights)


def mirrors_of(masters: int, counts: np.ndarray) -> dict[int, Mirrors]:
    """A rank's mirrors, from how many of each owner are column only, both, and row only: int64 (parts, 3)."""
    mine, first = {}, masters
    for peer, (column_only, both, row_only) in enumerate(counts.tolist()):
        count = column_only + both + row_only
        if count:
            mine[peer] = Mirrors(count, columns=column_only + both, rows=column_only, first=first)
        first += count
    return mine


def _theirs(
    mine: list[dict[int, Mirrors]], gids: list[np.ndarray], masters: list[Masters], homes: PartLayout
) -> list[dict[int, Mirrors]]:
    """What each peer mirrors of ours. Gids are told once; from then on both sides count positions."""
    spans = [np.zeros((homes.count, 2), np.int64) for _ in mine]
    told = [[np.zeros(0, np.int64)] * homes.count for _ in mine]
    for i, peers in enumerate(mine):
        for peer, mirrors in peers.items():
            spans[i][peer] = mirrors.columns, mirrors.rows
            told[i][peer] = gids[i][mirrors.first : mirrors.first + mirrors.count]
    theirs: list[dict[int, Mirrors]] = []
    for wanted, heard, owned in zip(homes.swap(told), homes.swap([list(span) for span in spans]), masters, strict=True):
        theirs.append({})
        for peer, (asked, span) in enumerate(zip(wanted, heard, strict=True)):
            if len(asked):
                lids = np.searchsorted(owned.gids, asked).astype(np.uint32)
                theirs[-1][peer] = Mirrors(len(asked), columns=int(span[0]), rows=int(span[1]), lids=lids)
    return theirs


def _degrees(masters: list[Masters], theirs: list[dict[int, Mirrors]], homes: PartLayout) -> list[np.ndarray]:
    """Out-degrees by lid: an owner tells each peer those of its mirrors, which stand there in the same order."""
    told = [
        [owned.degrees[peers[peer].lids if peer in peers else slice(0)] for peer in range(homes.count)]
        for owned, peers in zip(masters, theirs, strict=True)
    ]
    return [
        np.concatenate([owned.degrees, *heard]) for owned, heard in zip(masters, homes.swap(told), strict=True)
    ]  # fmt: skip


def _originals(whole, gids: list[np.ndarray], comm: Comm) -> list[np.ndarray]:
    """Original ids by part: one question of all ranks, whatever the number of parts on each."""
    asked = gids[0] if len(gids) == 1 else np.concatenate([np.zeros(0, np.int64), *gids])
    answered = whole.ids.to_original(asked, comm)
    return np.split(answered, np.cumsum([len(part) for part in gids])[:-1]) if gids else []


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
def spread(starts, sources, counts, values):
    """Move row after row of ``values`` to where the row of its source begins."""
    out = np.empty_like(values)
    taken = 0
    for i in range(sources.size):
        at = starts[sources[i]]
        out[at : at + counts[i]] = values[taken : taken + counts[i]]
        starts[sources[i]] += counts[i]
        taken += counts[i]
    return out
