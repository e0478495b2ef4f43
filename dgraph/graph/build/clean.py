"""Raw edges, spread over the ranks in any way, to the clean :class:`EdgeBlock`.

Ids become gids, loops go, both arcs of an undirected edge are made, arcs travel to the rank that holds their row,
rows are sorted, parallel edges merge. Everything is counted over the whole graph.

With ``keep_parallel`` every listed edge is an edge: an undirected input that lists both ``u v`` and ``v u`` then has
two. Without it they merge, and count as one duplicate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm.base import Comm
from dgraph.graph.block import EdgeBlock, LoadFacts, gid_type
from dgraph.graph.build.array_input import check_range, check_weights
from dgraph.graph.build.id_compaction import number_ids, to_gids
from dgraph.graph.ids import ConsecutiveIds, VertexIds
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.rows import count_rows, merge_parallel, place_rows, sort_rows

CHUNK = 1 << 16
"""edges that a rank sends at a time"""
LARGEST = np.iinfo(np.int64).max
SAMPLES = 1024
"""sources that each rank shows the others, to agree where rows are cut"""


@dataclass
class RawEdges:
    """This rank's share of the edges as listed.

    Attributes:
        src, dst: original ids, int64 or uint32, shape (edges here,); one dtype on all ranks.
        weights: int32, int64, float32 or float64 in the same order, or None (on all ranks).
        directed: False where each listed edge goes both ways.
        n: vertices, with ids ``base .. base + n - 1``; None: the ids that occur are the vertices.
        base: the smallest original id where ``n`` is given.
        vertices: original ids listed apart from the edges, this rank's share: then they are the vertices.
        mirrored: the graph is undirected and both arcs of every edge are listed (``directed`` is False).
        disposable: the arrays may be written over.
        parallel: parallel edges are part of the graph, and are kept whatever the options say.
        vertices_at, edges_at: for messages, where the input lists a vertex of this id for the second time, and an edge
            that ends at one.
        ids: what the ids are, where they are no integers of the input.
        why: what says that the graph is directed or not.
        facts: name, notes and defaults that the input gives; the counts are filled by :func:`assemble`.
    """

    src: np.ndarray
    dst: np.ndarray
    weights: np.ndarray | None = None
    directed: bool = True
    n: int | None = None
    base: int = 0
    vertices: np.ndarray | None = None
    mirrored: bool = False
    disposable: bool = False
    parallel: bool = False
    vertices_at: Callable[[int], str] | None = None
    edges_at: Callable[[int], str] | None = None
    ids: VertexIds | None = None
    why: str = ""
    facts: LoadFacts = field(default_factory=LoadFacts)


def assemble(raw: RawEdges, comm: Comm, options: LoadOptions) -> EdgeBlock:
    """The clean graph of all ranks' raw edges; collective.

    ``options.directed`` overrides what the input says: a directed input becomes undirected edge by edge, an
    undirected one becomes directed with both arcs of every edge.

    Raises:
        DataError: an id below the base or beyond n, a negative id, a weight that is NaN.
    """
    facts = replace(raw.facts, notes=list(raw.facts.notes))
    src, dst, weights = raw.src, raw.dst, raw.weights
    n, base, vertices = None if options.sparse_ids else raw.n, raw.base, raw.vertices
    directed = raw.directed if options.directed is None else options.directed
    both = raw.mirrored or not (raw.directed and directed)
    doubled, disposable = both and not raw.mirrored, raw.disposable
    keep_parallel, known = options.keep_parallel or raw.parallel, raw.ids
    vertices_at, edges_at = raw.vertices_at or (lambda _: facts.name), raw.edges_at or (lambda _: facts.name)
    why = raw.why if directed == raw.directed else "asked for"
    if why:
        facts.notes.insert(0, f"{'directed' if directed else 'undirected'}: {why}")
    del raw
    before = comm.before(src.size)
    with comm.together():
        low, high = (0, LARGEST) if n is None else (base, base + n - 1)
        check_range(src, low, high, f"{facts.name}: source", before)
        check_range(dst, low, high, f"{facts.name}: target", before)
        if weights is not None:
            check_weights(weights, f"{facts.name}: weight", before)
    ids: VertexIds
    if n is None:
        ids = number_ids([src, dst], vertices, vertices_at, comm)
        n, base = int(ids.starts[-1]), 0
        src = to_gids(ids, src, edges_at, comm, disposable)
        dst = to_gids(ids, dst, edges_at, comm, disposable)
    else:
        ids = known or ConsecutiveIds(n, base)
    listed = _Listed(src, dst, weights, base, gid_type(n), doubled, options.keep_loops)
    del src, dst, weights
    cuts = row_cuts(listed.sample(), listed.size * (1 + doubled), n, comm)
    offsets, targets, weights, loops = _rows(listed, cuts, comm)
    del listed
    first = int(cuts[comm.rank])
    sort_rows(offsets, targets, weights)
    targets, weights, equal, equal_loops = merge_parallel(offsets, targets, weights, first, keep_parallel)
    note_found(facts, loops, equal, equal_loops, 2 if both else 1, comm)
    facts.loops_kept, facts.duplicates_kept = options.keep_loops, keep_parallel
    block = EdgeBlock(n, 0, 0, first, offsets, targets, weights, directed, ids, facts)
    tally(block, comm)
    return block


def note_found(facts: LoadFacts, loops: int, equal: int, equal_loops: int, listed: int, comm: Comm) -> None:
    """Loops, and edges beyond the first between two ends, by this rank's counts of entries; collective.

    Args:
        equal, equal_loops: entries like the one before them, and those of loops among them.
        listed: how often an edge that is no loop is among all rows.
    """
    loops, equal, equal_loops = (int(count) for count in comm.allreduce(np.array([loops, equal, equal_loops])))
    facts.loops, facts.duplicates = loops, (equal - equal_loops) // listed + equal_loops


def tally(block: EdgeBlock, comm: Comm) -> None:
    """Fill in what rows and direction imply: arcs, m, isolated vertices, the largest degree; collective."""
    here = [block.targets.size, count_loops(block.offsets, block.targets, block.first), _isolated(block, comm)]
    arcs, loops, isolated = (int(count) for count in comm.allreduce(np.array(here, np.int64)))
    block.arcs = arcs
    block.m = arcs if block.directed else (arcs - loops) // 2 + loops
    block.facts.isolated = isolated
    block.facts.largest_degree = comm.largest(int(np.diff(block.offsets).max(initial=0)))


def symmetrised(block: EdgeBlock, comm: Comm) -> EdgeBlock:
    """The undirected graph of a directed one: an edge where either arc was, with the smaller weight; collective.

    Parallel edges merge; loops stay where the block kept them. The facts stay those of the load.
    """
    if not block.directed:
        return block
    arcs = (block.sources(), block.targets, block.weights)
    result = assemble(RawEdges(*arcs, directed=False, n=block.n), comm, LoadOptions(keep_loops=True))
    result.ids = block.ids
    result.facts = replace(
        block.facts,
        largest_degree=result.facts.largest_degree,
        duplicates_kept=False,
        notes=[*block.facts.notes, "symmetrised: every arc goes both ways"],
    )
    return result


def row_cuts(sample: np.ndarray, arcs: int, n: int, comm: Comm) -> np.ndarray:
    """Row boundaries that give every rank about the same number of arcs and rows together; collective.

    Args:
        sample: gids of sources, drawn evenly from this rank's ``arcs`` arcs.

    Returns:
        int64 (P + 1,), ascending from 0 to n.
    """
    sizes = comm.allgather(np.array([arcs, sample.size], np.int64))
    shown = np.concatenate(comm.allgatherv(sample.astype(np.int64)))
    order = np.argsort(shown, kind="stable")
    share = np.repeat(sizes[:, 0] / np.maximum(sizes[:, 1], 1), sizes[:, 1])[order]
    below = np.concatenate([[0.0], np.cumsum(share)])
    shown = shown[order]
    wanted = (below[-1] + n) * np.arange(1, comm.size) / comm.size
    low, high = np.zeros(comm.size - 1, np.int64), np.full(comm.size - 1, n, np.int64)
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        enough = below[np.searchsorted(shown, middle)] + middle >= wanted
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
    return np.concatenate([[0], low, [n]]).astype(np.int64)


@dataclass(frozen=True)
class _Listed:
    """This rank's listed edges as arcs of gids, a chunk at a time."""

    src: np.ndarray
    dst: np.ndarray
    weights: np.ndarray | None
    base: int
    dtype: np.dtype
    doubled: bool
    keep_loops: bool

    @property
    def size(self) -> int:
        return self.src.size

    def gids(self, ids):
        return (ids - ids.dtype.type(self.base) if self.base else ids).astype(self.dtype, copy=False)

    def sample(self) -> np.ndarray:
        """Some of the sources of the arcs, evenly drawn."""
        at = np.linspace(0, max(self.size - 1, 0), min(SAMPLES, self.size)).astype(np.int64)
        return self.gids(np.concatenate([self.src[at], self.dst[at]]) if self.doubled else self.src[at])

    def arcs(self, step: int) -> tuple:
        """Sources, targets and weights of the arcs of a chunk, and how many self-loops are listed in it."""
        part = slice(step * CHUNK, (step + 1) * CHUNK)
        src, dst = self.gids(self.src[part]), self.gids(self.dst[part])
        weights = None if self.weights is None else self.weights[part]
        same = src == dst
        loops = int(np.count_nonzero(same))
        if loops and not self.keep_loops:
            src, dst, weights = src[~same], dst[~same], None if weights is None else weights[~same]
        if self.doubled:
            other = src != dst if loops and self.keep_loops else slice(None)
            src, dst = np.concatenate([src, dst[other]]), np.concatenate([dst, src[other]])
            weights = None if weights is None else np.concatenate([weights, weights[other]])
        return src, dst, weights, loops


def _rows(listed: _Listed, cuts: np.ndarray, comm: Comm) -> tuple:
    """Every arc in its row, unsorted, at the rank that holds the row; and the self-loops listed here.

    Arcs travel twice: first their sources are counted, then they go to their places. So no rank holds them in between.
    """
    first, steps, loops = int(cuts[comm.rank]), comm.largest(-(-listed.size // CHUNK)), 0
    offsets = np.zeros(int(cuts[comm.rank + 1]) - first + 1, np.int64)
    for step in range(steps):
        src, _, _, found = listed.arcs(step)
        loops += found
        for piece in _send((src,), cuts, comm):
            count_rows(piece[0], first, offsets)
    np.cumsum(offsets, out=offsets)
    targets = np.empty(offsets[-1], listed.dtype)
    weights = None if listed.weights is None else np.empty(offsets[-1], listed.weights.dtype)
    cursor = offsets[:-1].copy()
    for step in range(steps):
        for piece in _send(listed.arcs(step)[:3], cuts, comm):
            place_rows(piece, first, cursor, targets, weights)
    return offsets, targets, weights, loops


def _send(columns, cuts, comm):
    """Send every arc to the rank of its row. Returns the pieces that came, columns as given."""
    if comm.size == 1:
        return [columns]
    counts, order = _by_row(columns[0], cuts)
    ends = np.cumsum(counts)[:-1]
    parts = [
        [None] * comm.size if column is None else comm.alltoallv(np.split(column[order], ends)) for column in columns
    ]
    return list(zip(*parts, strict=True))


def _isolated(block, comm):
    """Rows here without an arc in either direction."""
    empty = np.diff(block.offsets) == 0
    if not block.directed:
        return int(np.count_nonzero(empty))
    cuts = np.append(comm.allgather(np.array([block.first], np.int64))[:, 0], block.n)
    for step in range(comm.largest(-(-block.targets.size // CHUNK))):
        targets = block.targets[step * CHUNK : (step + 1) * CHUNK]
        targets = np.concatenate([piece for (piece,) in _send((targets,), cuts, comm)])
        empty[targets - targets.dtype.type(block.first)] = False
    return int(np.count_nonzero(empty))


@njit(cache=True)
def _by_row(src, cuts):
    """How many arcs go to each rank, and the arcs' positions in the order of the ranks that hold their rows."""
    counts = np.zeros(cuts.size - 1, np.int64)
    owner = np.empty(src.size, np.int32)
    for i in range(src.size):
        low, high = 0, counts.size - 1
        while low < high:
            middle = (low + high + 1) >> 1
            if cuts[middle] <= np.int64(src[i]):
                low = middle
            else:
                high = middle - 1
        owner[i] = low
        counts[low] += 1
    cursor = np.cumsum(counts) - counts
    order = np.empty(src.size, np.int64)
    for i in range(src.size):
        order[cursor[owner[i]]] = i
        cursor[owner[i]] += 1
    return counts, order


@njit(cache=True)
def count_loops(offsets, targets, first):
    """Self-loops among sorted rows, each of their entries counted."""
    loops = 0
    for row in range(offsets.size - 1):
        low, high = offsets[row], offsets[row + 1]
        end = high
        while low < high:
            middle = (low + high) >> 1
            if np.int64(targets[middle]) < row + first:
                low = middle + 1
            else:
                high = middle
        while low < end and np.int64(targets[low]) == row + first:
            loops += 1
            low += 1
    return loops
