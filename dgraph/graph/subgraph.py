"""Subgraphs of an :class:`EdgeBlock`: some of its vertices and arcs, with new gids and the original ids.

:func:`subgraph` cuts the rows where they lie: gids stay in their order, so no row is sorted or sent. Only the new gids
of targets travel. :func:`within` finds the vertices around some others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgraph.comm.base import Comm
from dgraph.comm.owner_directed import scatter
from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock, gid_type
from dgraph.graph.build.clean import RawEdges, assemble, note_found, tally
from dgraph.graph.build.clean_kernels import count_loops
from dgraph.graph.build.id_compaction import number_ids
from dgraph.graph.edge_attributes import selected
from dgraph.graph.ids import VertexIds, remote_look_up
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.named_ids import NamedIds
from dgraph.graph.names import Names
from dgraph.graph.rows import merge_parallel

CHUNK = 1 << 16
"""Rows whose targets a rank sends at a time."""


def row_starts(block: EdgeBlock, comm: Comm) -> np.ndarray:
    """Return the first gid of every rank's rows, then n: int64 (P + 1,); collective."""
    return np.append(comm.allgather(np.array([block.first], np.int64))[:, 0], block.n)


def row_owner(starts: np.ndarray, gids: np.ndarray) -> np.ndarray:
    """Return the ranks that hold the rows of gids."""
    return np.searchsorted(starts, gids, side="right") - 1


def subgraph(
    block: EdgeBlock, vertices: np.ndarray, arcs: np.ndarray | None, note: str, comm: Comm
) -> tuple[EdgeBlock, np.ndarray]:
    """Return the graph of some vertices, and of the arcs between them; collective.

    Vertices are numbered by original id, also where the block's are by degree.

    Args:
        block: the graph; it is not changed.
        vertices: bool, shape (rows,): True for vertices that stay.
        arcs: bool, shape (arcs here,): True for arcs that stay if both ends do; None: all.
        note: remark for the load line.
        comm: communicator of the ranks.

    Returns:
        The graph, and the new gids of this rank's vertices that stay, int64, in the order of their rows.

    Raises:
        UsageError: no vertex stays.
    """
    n = comm.total(int(np.count_nonzero(vertices)))
    if not n:
        raise UsageError(
            f"{block.facts.name}: none of the {block.n:,} vertices was chosen, and a graph has at least one; "
            "choose other vertices"
        )
    ids, former = block.ids, np.flatnonzero(vertices) + block.first
    entries, rows = _entries(block, np.flatnonzero(vertices))
    if arcs is not None:
        kept = np.flatnonzero(arcs[entries])
        entries, rows = entries[kept], rows[kept]
    targets, weights = block.targets[entries], None if block.weights is None else block.weights[entries]
    new = np.arange(block.first, block.first + block.rows)
    if n < block.n or not ids.ascending:
        ids, gids = _numbered(block.ids, former, comm)
        new = np.full(block.rows, -1, np.int64)
        new[vertices] = gids
        starts = row_starts(block, comm)
        renumbered = remote_look_up(
            targets, lambda wanted: row_owner(starts, wanted), lambda wanted: new[wanted - block.first], comm
        )
        inside = np.flatnonzero(renumbered >= 0)  # of which columns are taken quicker than by a mask
        entries, rows = entries[inside], rows[inside]
        targets, weights = renumbered[inside], None if weights is None else weights[inside]
    attributes = selected(block.attributes, entries)
    targets = targets.astype(gid_type(n), copy=False)
    facts = replace(block.facts, notes=[*block.facts.notes, note], lines_dropped=0, scanned_lines=0, defaults={})
    counts = np.bincount(rows, minlength=len(former))
    if block.ids.ascending:
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        first = comm.before(offsets.size - 1)
        chosen = EdgeBlock(n, 0, 0, first, offsets, targets, weights, block.directed, ids, facts, attributes=attributes)
        tally(chosen, comm)
        *_, equal, equal_loops = merge_parallel(offsets, targets, None, first, keep=True)
        note_found(facts, count_loops(offsets, targets, first), equal, equal_loops, 1 if block.directed else 2, comm)
    else:
        sources = np.repeat(new[vertices], counts).astype(targets.dtype)
        raw = RawEdges(
            sources, targets, weights, block.directed, n,
            mirrored=not block.directed, parallel=True, attributes=attributes, facts=facts,
        )  # fmt: skip
        chosen = assemble(raw, comm, LoadOptions(keep_loops=True))
        chosen.ids = ids
        chosen.facts.loops_kept, chosen.facts.duplicates_kept = facts.loops_kept, facts.duplicates_kept
        chosen.facts.merge, chosen.facts.both_listed = facts.merge, facts.both_listed
    return chosen, new[vertices]


def within(block: EdgeBlock, gids: np.ndarray, radius: int, comm: Comm) -> np.ndarray:
    """Return the vertices that at most ``radius`` arcs lead to from ``gids``; collective.

    Args:
        block: the graph.
        gids: int64, on any ranks.
        radius: number of arcs, 0 or more.
        comm: communicator of the ranks.

    Returns:
        bool, shape (rows,).
    """
    starts = row_starts(block, comm)
    reached = np.zeros(block.rows, bool)
    rows = _newly_reached([gids], starts, reached, comm)
    while radius and comm.total(rows.size):
        targets = [
            _targets(block, rows[step * CHUNK : (step + 1) * CHUNK])
            for step in range(comm.largest(-(-rows.size // CHUNK)))
        ]
        rows, radius = _newly_reached(targets, starts, reached, comm), radius - 1
    return reached


def rows_of(block: EdgeBlock, gids: np.ndarray, comm: Comm) -> np.ndarray:
    """Return the rows of the vertices that any rank passes: bool (rows,); collective."""
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
    before = reached.copy()
    for piece in pieces:
        gids = np.unique(piece).astype(np.int64)
        cuts = np.searchsorted(gids, starts)
        for part in comm.alltoallv([gids[cuts[r] : cuts[r + 1]] for r in range(comm.size)]):
            reached[part - starts[comm.rank]] = True
    return np.flatnonzero(reached & ~before)


def _targets(block: EdgeBlock, rows: np.ndarray) -> np.ndarray:
    """Return the targets of some rows, row after row."""
    return block.targets[_entries(block, rows)[0]]


def _entries(block: EdgeBlock, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the arcs of some rows, row after row, and the place of each one's row among them."""
    lengths = block.offsets[rows + 1] - block.offsets[rows]
    place = np.repeat(np.arange(len(rows)), lengths)
    return (block.offsets[rows] - np.cumsum(lengths) + lengths)[place] + np.arange(len(place)), place


def _numbered(ids: VertexIds, former: np.ndarray, comm: Comm) -> tuple[VertexIds, np.ndarray]:
    """Return the ids of some vertices, ascending, and the new gids of the vertices ``former``; collective."""
    originals = ids.to_original(former, comm)
    chosen = number_ids([], originals, str, comm)
    gids = chosen.to_gid(originals, comm)
    if ids.names is None:
        return chosen, gids
    return NamedIds(Names(ids.names.words(chosen.here, comm), chosen.starts)), gids
