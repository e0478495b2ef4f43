"""Subgraphs of an :class:`EdgeBlock`: some of its vertices and arcs, with new gids and the original ids.

:func:`subgraph` cuts the rows where they lie: gids stay in their order, so no row is sorted or sent. Only the new gids
of targets travel. :func:`within` finds the vertices around some others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dgraph.comm.base import Comm
from dgraph.comm.owner_directed import scatter
from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock, gid_type
from dgraph.graph.build.clean import assemble, note_found, tally
from dgraph.graph.build.clean_kernels import count_loops
from dgraph.graph.build.id_compaction import number_ids
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.edge_attributes import selected
from dgraph.graph.ids import SparseIds, VertexIds, remote_look_up
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.named_ids import NamedIds
from dgraph.graph.names import Names
from dgraph.graph.rows import merge_parallel

CHUNK = 1 << 16
"""Rows whose targets a rank sends at a time."""

FEW = 12
"""Rows that are sought in each other, by bisection."""

SOUGHT = 64
"""Of more rows for each one that stays, targets are sought among those that stay; else a table has the new gids."""


def row_starts(block: EdgeBlock, comm: Comm) -> np.ndarray:
    """Return the first gid of every rank's rows, then n: int64 (P + 1,); collective."""
    if comm.size == 1:
        return np.array([0, block.n])
    return np.append(comm.allgather(np.array([block.first], np.int64))[:, 0], block.n)


def row_owner(starts: np.ndarray, gids: np.ndarray) -> np.ndarray:
    """Return the ranks that hold the rows of gids."""
    return np.searchsorted(starts, gids, side="right") - 1


def subgraph(
    block: EdgeBlock, rows: np.ndarray, arcs: np.ndarray | None, note: str, comm: Comm
) -> tuple[EdgeBlock, np.ndarray]:
    """Return the graph of some vertices, and of the arcs between them; collective.

    Vertices are numbered by original id, also where the block's are by degree.

    Args:
        block: the graph; it is not changed.
        rows: the rows here of vertices that stay, ascending, int64.
        arcs: bool, shape (arcs here,): True for arcs that stay if both ends do; None: all.
        note: remark for the load line.
        comm: communicator of the ranks.

    Returns:
        The graph, and the new gids of this rank's vertices that stay, int64, in the order of their rows.

    Raises:
        UsageError: no vertex stays.
    """
    n = comm.total(len(rows))
    if not n:
        raise UsageError(
            f"{block.facts.name}: none of the {block.n:,} vertices was chosen, and a graph has at least one; "
            "choose other vertices"
        )
    ids, former = block.ids, rows + block.first
    few = comm.size == 1 and SOUGHT * len(rows) < block.rows
    entries, places = _between(block, rows) if few else _entries(block, rows)
    if arcs is not None:
        kept = np.flatnonzero(arcs[entries])
        entries, places = entries[kept], places[kept]
    targets, weights = block.targets[entries], None if block.weights is None else block.weights[entries]
    gids = former
    if n < block.n or not ids.ascending:
        ids, gids = _numbered(block.ids, former, comm)
        starts, numbers = row_starts(block, comm), _renumbering(rows, gids, block.rows)
        renumbered = remote_look_up(
            targets, lambda wanted: row_owner(starts, wanted), lambda wanted: numbers(wanted - block.first), comm
        )
        inside = np.flatnonzero(renumbered >= 0)  # of which columns are taken quicker than by a mask
        entries, places = entries[inside], places[inside]
        targets, weights = renumbered[inside], None if weights is None else weights[inside]
    attributes = selected(block.attributes, entries)
    targets = targets.astype(gid_type(n), copy=False)
    facts = replace(block.facts, notes=[*block.facts.notes, note], lines_dropped=0, scanned_lines=0, defaults={})
    counts = np.bincount(places, minlength=len(former))
    if block.ids.ascending:
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        first = comm.before(offsets.size - 1)
        chosen = EdgeBlock(n, 0, 0, first, offsets, targets, weights, block.directed, ids, facts, attributes=attributes)
        tally(chosen, comm)
        *_, equal, equal_loops = merge_parallel(offsets, targets, None, first, keep=True)
        note_found(facts, count_loops(offsets, targets, first), equal, equal_loops, 1 if block.directed else 2, comm)
    else:
        sources = np.repeat(gids, counts).astype(targets.dtype)
        raw = RawEdges(
            sources, targets, weights, block.directed, n,
            mirrored=not block.directed, parallel=True, attributes=attributes, facts=facts,
        )  # fmt: skip
        chosen = assemble(raw, comm, LoadOptions(keep_loops=True))
        chosen.ids = ids
        chosen.facts.loops_kept, chosen.facts.duplicates_kept = facts.loops_kept, facts.duplicates_kept
        chosen.facts.merge, chosen.facts.both_listed = facts.merge, facts.both_listed
    return chosen, gids


def _renumbering(rows: np.ndarray, gids: np.ndarray, count: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from rows here to the new gids, -1 of those that go.

    Args:
        rows: those that stay, ascending.
        gids: their new gids.
        count: all rows here.
    """
    if SOUGHT * len(rows) > count:
        table = np.full(count, -1, np.int64)
        table[rows] = gids
        return table.__getitem__

    def sought(wanted: np.ndarray) -> np.ndarray:
        if not len(rows):
            return np.full(len(wanted), -1)
        places = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
        return np.where(rows[places] == wanted, gids[places], -1)

    return sought


def within(block: EdgeBlock, gids: np.ndarray, radius: int, comm: Comm) -> np.ndarray:
    """Return the vertices that at most ``radius`` arcs lead to from ``gids``; collective.

    Args:
        block: the graph.
        gids: int64, on any ranks.
        radius: number of arcs, 0 or more.
        comm: communicator of the ranks.

    Returns:
        Their rows here, ascending, int64.
    """
    if comm.size == 1 and SOUGHT * len(gids) < block.rows:
        rows = np.unique(gids).astype(np.int64)
        if not radius:
            return rows
        near = _targets(block, rows)
        if radius == 1 and SOUGHT * len(near) < block.rows:
            return np.unique(np.concatenate([rows, near]))
    starts = row_starts(block, comm)
    reached = np.zeros(block.rows, bool)
    rows = _newly_reached([gids], starts, reached, comm)
    layers = [rows]
    while radius and comm.total(rows.size):
        targets = [
            _targets(block, rows[step * CHUNK : (step + 1) * CHUNK])
            for step in range(comm.largest(-(-rows.size // CHUNK)))
        ]
        rows, radius = _newly_reached(targets, starts, reached, comm), radius - 1
        layers.append(rows)
    return np.sort(np.concatenate(layers))


def rows_of(block: EdgeBlock, gids: np.ndarray, comm: Comm) -> np.ndarray:
    """Return the rows here of the vertices that any rank passes, ascending, int64; collective."""
    return within(block, gids, 0, comm)


def rows_between(block: EdgeBlock, source: np.ndarray, target: np.ndarray, comm: Comm) -> np.ndarray:
    """Return the arcs between pairs of vertices, in both directions; collective.

    Args:
        block: the graph.
        source: gids of one end of each pair, on any ranks.
        target: gids of the other ends.
        comm: communicator of the ranks.

    Returns:
        bool, shape (arcs here,).
    """
    starts = row_starts(block, comm)
    ends, others = np.concatenate([source, target]), np.concatenate([target, source])
    rows, others = scatter(comm, row_owner(starts, ends), ends, others)
    pairs = (rows - block.first) * block.n + others
    return np.isin((block.sources().astype(np.int64) - block.first) * block.n + block.targets.astype(np.int64), pairs)


def _newly_reached(pieces: list[np.ndarray], starts: np.ndarray, reached: np.ndarray, comm: Comm) -> np.ndarray:
    """Mark the rows of gids that ranks pass; return those that were not marked, ascending."""
    rows = []
    for piece in pieces:
        gids = np.unique(piece).astype(np.int64)
        cuts = np.searchsorted(gids, starts)
        for part in comm.alltoallv([gids[cuts[r] : cuts[r + 1]] for r in range(comm.size)]):
            here = part - starts[comm.rank]
            rows.append(here[~reached[here]])
            reached[rows[-1]] = True
    return np.sort(np.concatenate(rows)) if rows else np.zeros(0, np.int64)


def _targets(block: EdgeBlock, rows: np.ndarray) -> np.ndarray:
    """Return the targets of some rows, row after row."""
    return block.targets[_entries(block, rows)[0]]


def _entries(block: EdgeBlock, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the arcs of some rows, row after row, and the place of each one's row among them."""
    lengths = block.offsets[rows + 1] - block.offsets[rows]
    place = np.repeat(np.arange(len(rows)), lengths)
    return (block.offsets[rows] - np.cumsum(lengths) + lengths)[place] + np.arange(len(place)), place


def _between(block: EdgeBlock, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the arcs of some rows that lead to these rows, as :func:`_entries`, without numbers of the other arcs."""
    begins, ends = block.offsets[rows], block.offsets[rows + 1]
    pieces = [block.targets[first:last] for first, last in zip(begins.tolist(), ends.tolist(), strict=True)]
    if len(rows) <= FEW and not block.facts.duplicates_kept:
        wanted = rows.astype(block.targets.dtype)
        places = np.concatenate([np.searchsorted(piece, wanted) for piece in pieces])
        entries = np.repeat(begins, len(rows)) + places
        some = np.flatnonzero(places < np.repeat(ends - begins, len(rows)))
        some = some[block.targets[entries[some]] == np.tile(wanted, len(rows))[some]]
        return entries[some], some // len(rows)
    stays = np.zeros(block.rows, bool)
    stays[rows] = True
    inside = np.flatnonzero(stays[np.concatenate(pieces)])
    through = np.cumsum(ends - begins)
    places = np.searchsorted(through, inside, side="right")
    return inside + (ends - through)[places], places


def _numbered(ids: VertexIds, former: np.ndarray, comm: Comm) -> tuple[VertexIds, np.ndarray]:
    """Return the ids of some vertices, ascending, and the new gids of the vertices ``former``; collective."""
    originals = ids.to_original(former, comm)
    if comm.size == 1 and ids.ascending:
        chosen, gids = SparseIds(originals, np.array([0, len(former)]), np.zeros(1, np.int64)), np.arange(len(former))
    else:
        chosen = number_ids([], originals, str, comm)
        gids = chosen.to_gid(originals, comm)
    if ids.names is None:
        return chosen, gids
    return NamedIds(Names(ids.names.words(chosen.here, comm), chosen.starts)), gids
