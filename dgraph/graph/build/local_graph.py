"""Build ``LocalGraph`` from ``EdgeBlock`` and ``Placement``: send arcs to their parts, then number vertices locally.

:func:`build` makes one partition a rank, :func:`build_parts` any number for a store. ``shuffle.py`` moves the arcs;
:func:`number` assigns lids and sets up the mirror lists.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit, share
from dgraph.comm.base import Comm
from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.part_layout import PartLayout
from dgraph.graph.build.shuffle import HeldArcs, Masters, move_arcs, move_masters, move_rows
from dgraph.graph.local import Csr, LocalGraph, Mirrors
from dgraph.graph.rows import places
from partitioning import Placement
from partitioning.arrays.gidset import GidSet

share("partitioning")  # its functions are compiled by one rank of a node, as ours


def build(block: EdgeBlock, placement: Placement, comm: Comm) -> LocalGraph:
    """Return this rank's partition, of as many as there are ranks; collective.

    On one rank the block's own arrays are used, and no arc is copied.

    Raises:
        UsageError: the placement names a rank that does not exist, or a rank would hold more than 2**32 vertices.
    """
    return build_parts(block, placement, comm)[0]


def build_parts(block: EdgeBlock, placement: Placement, comm: Comm) -> list[LocalGraph]:
    """Return the partitions stored on this rank, of any number; collective. Raises as :func:`build` does."""
    if placement.parts == comm.size == 1:
        return [_whole(block, comm)]
    layout = PartLayout(placement.parts, comm)
    owners, masters = move_masters(block, placement, layout)
    if placement.cut == "outgoing":
        arcs_of_parts = move_rows(block, owners, masters, layout)
    else:
        arcs_of_parts = move_arcs(block, placement, layout)
    return number(block, masters, arcs_of_parts, placement.owner, layout)


def number(whole, masters: list[Masters], arcs_of_parts: list[HeldArcs], owner, layout: PartLayout) -> list[LocalGraph]:
    """Build the local graphs of the parts here from their masters and arcs; collective. Empties ``arcs_of_parts``.

    Args:
        whole: the graph: anything with ``n, m, arcs, directed, ids`` as in :class:`EdgeBlock`.
        masters: vertices owned by each part here.
        arcs_of_parts: arcs of each part here.
        owner: function from gids to parts, for every vertex that a part here holds an arc of.
        layout: assignment of parts to ranks.
    """
    comm = layout.comm
    numbered = []
    with comm.together():
        for part, owned, arcs in zip(layout.here, masters, arcs_of_parts, strict=True):
            here = _vertices(whole.n, owned, arcs)
            lids, counts = _lids(here, part, arcs, owner, layout.count)
            gids = np.empty(len(lids), np.int64)
            gids[lids] = here.members()
            numbered.append((gids, _build_rows(here, lids, arcs), mirrors_of(len(owned.gids), counts)))
            del here, lids
    peer_mirrors = mirrors_of_peers(
        [own_mirrors for *_, own_mirrors in numbered], [gids for gids, *_ in numbered], masters, layout
    )
    degrees = mirror_degrees(masters, peer_mirrors, layout)
    originals = _originals(whole, [gids for gids, *_ in numbered], comm)
    return [
        LocalGraph(
            n=whole.n, m=whole.m, arcs=whole.arcs, masters=len(owned.gids), gids=gids, original=original,
            out_degree=degree, out=rows, directed=whole.directed, own_mirrors=own_mirrors, peer_mirrors=of_peers,
        )
        for (gids, rows, own_mirrors), owned, degree, of_peers, original in zip(
            numbered, masters, degrees, peer_mirrors, originals, strict=True
        )
    ]  # fmt: skip


def _whole(block, comm) -> LocalGraph:
    """Return the whole graph as one partition: lids equal gids."""
    check_size(block.n)
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


def _vertices(n: int, masters: Masters, arcs: HeldArcs) -> GidSet:
    """Return the set of masters and of all ends of the arcs held here."""
    here = GidSet(n)
    for gids in (masters.gids, arcs.rows, arcs.targets):
        here.add(gids)
    check_size(here.seal())
    return here


def _lids(here: GidSet, part: int, arcs: HeldArcs, owner, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lid of every local vertex by ascending gid (uint32), and mirror counts by owner and role.

    Masters come first, then mirrors in the order that :class:`Mirrors` requires. The counts are int64 (parts, 3):
    column only, both, row only.
    """
    is_row, is_column = np.zeros((2, len(here)), bool)
    here.mark(arcs.rows, is_row)
    here.mark(arcs.targets, is_column)
    owners = owner(here.members()).astype(np.int64)
    group = np.where(is_column, is_row, 2)
    key = np.where(owners == part, 0, 1 + 3 * owners + group)
    counts = np.bincount(key, minlength=1 + 3 * parts)
    return _ranks(key, np.cumsum(counts) - counts), counts[1:].reshape(parts, 3)


def _build_rows(here: GidSet, lids: np.ndarray, arcs: HeldArcs) -> Csr:
    """Return the CSR by source lid; empties ``arcs``. Rows that are already in order are not moved."""
    sources = here.translate(arcs.rows, lids)
    offsets = np.zeros(len(lids) + 1, np.int64)
    np.add.at(offsets, sources.astype(np.int64) + 1, arcs.counts)
    np.cumsum(offsets, out=offsets)
    arcs.targets = here.translate(arcs.targets, lids, in_place=arcs.ours)
    if np.any(sources[1:] < sources[:-1]):
        arcs.targets = spread(offsets[:-1].copy(), sources, arcs.counts, arcs.targets)
        if arcs.weights is not None:
            arcs.weights = spread(offsets[:-1].copy(), sources, arcs.counts, arcs.weights)
    return Csr(offsets, arcs.targets, arcs.weights)


def mirrors_of(masters: int, counts: np.ndarray) -> dict[int, Mirrors]:
    """Return the mirrors by owner from their counts by role, int64 (parts, 3): column only, both, row only."""
    own_mirrors, first = {}, masters
    for peer, (column_only, both, row_only) in enumerate(counts.tolist()):
        count = column_only + both + row_only
        if count:
            own_mirrors[peer] = Mirrors(count, columns=column_only + both, rows=column_only, first=first)
        first += count
    return own_mirrors


def mirrors_of_peers(
    own_mirrors: list[dict[int, Mirrors]], gids: list[np.ndarray], masters: list[Masters], layout: PartLayout
) -> list[dict[int, Mirrors]]:
    """Return the mirrors that each peer holds of this rank's masters; collective.

    Gids are sent once. Later messages refer to positions in these lists.
    """
    spans = [np.zeros((layout.count, 2), np.int64) for _ in own_mirrors]
    wanted = [[np.zeros(0, np.int64)] * layout.count for _ in own_mirrors]
    for i, peers in enumerate(own_mirrors):
        for peer, mirrors in peers.items():
            spans[i][peer] = mirrors.columns, mirrors.rows
            wanted[i][peer] = gids[i][mirrors.first : mirrors.first + mirrors.count]
    peer_mirrors: list[dict[int, Mirrors]] = []
    received, roles = layout.swap(wanted), layout.swap([list(span) for span in spans])
    for requests, sizes, owned in zip(received, roles, masters, strict=True):
        peer_mirrors.append({})
        for peer, (request, size) in enumerate(zip(requests, sizes, strict=True)):
            if len(request):
                lids = np.searchsorted(owned.gids, request).astype(np.uint32)
                peer_mirrors[-1][peer] = Mirrors(len(request), columns=int(size[0]), rows=int(size[1]), lids=lids)
    return peer_mirrors


def mirror_degrees(
    masters: list[Masters], peer_mirrors: list[dict[int, Mirrors]], layout: PartLayout
) -> list[np.ndarray]:
    """Return out-degrees by lid: each owner sends its peers the degrees of their mirrors; collective."""
    sent = [
        [owned.degrees[peers[peer].lids if peer in peers else slice(0)] for peer in range(layout.count)]
        for owned, peers in zip(masters, peer_mirrors, strict=True)
    ]
    received = layout.swap(sent)
    return [np.concatenate([owned.degrees, *pieces]) for owned, pieces in zip(masters, received, strict=True)]


def _originals(whole, gids: list[np.ndarray], comm: Comm) -> list[np.ndarray]:
    """Return original ids by part, in one collective look-up for all parts of a rank."""
    wanted = gids[0] if len(gids) == 1 else np.concatenate([np.zeros(0, np.int64), *gids])
    originals = whole.ids.to_original(wanted, comm)
    return np.split(originals, np.cumsum([len(part) for part in gids])[:-1]) if gids else []


def check_size(vertices: int) -> None:
    """Refuse more vertices on one rank than lids can number."""
    if vertices > 1 << 32:
        raise UsageError(f"one rank would hold {vertices} vertices, more than 32-bit lids can number: use more ranks")


def _ranks_few(keys, starts):
    return places(keys, starts).astype(np.uint32)


@njit(cache=True, few=_ranks_few)
def _ranks(keys, starts):
    """Return the place of every entry in the stable order by key; ``starts[k]`` counts the keys below k."""
    ranks = np.empty(keys.size, np.uint32)
    for i in range(keys.size):
        ranks[i] = starts[keys[i]]
        starts[keys[i]] += 1
    return ranks


@njit(cache=True)
def spread(starts, sources, counts, values):
    """Copy each row of ``values`` to the start of its source's row, given by ``starts``."""
    spaced = np.empty_like(values)
    taken = 0
    for i in range(sources.size):
        start = starts[sources[i]]
        spaced[start : start + counts[i]] = values[taken : taken + counts[i]]
        starts[sources[i]] += counts[i]
        taken += counts[i]
    return spaced
