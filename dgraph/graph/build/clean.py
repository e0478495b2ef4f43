"""Clean raw edges, spread over the ranks in any order, into an :class:`EdgeBlock`.

:func:`assemble` maps ids to gids, drops self-loops, adds the reverse arcs of undirected edges, sends each arc to the
rank of its row, sorts rows and merges parallel edges. All counts are over the whole graph.

With ``keep_parallel`` every listed edge is an edge: an undirected input that lists both ``u v`` and ``v u`` then has
two. Otherwise they merge, and count as one duplicate. ``parallel_edges.py`` has the rules beside the smallest weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dgraph._support.threads import SHARE, in_order, shares
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.graph.block import EdgeBlock, LoadFacts, gid_type
from dgraph.graph.build.array_input import check_range, check_weights
from dgraph.graph.build.bucketed_arcs import BucketedArcs
from dgraph.graph.build.clean_kernels import MANY, by_row, clear, count_loops
from dgraph.graph.build.id_compaction import numbered
from dgraph.graph.build.memory_pages import give_back
from dgraph.graph.build.parallel_edges import HALVED, TWICE, are_mirrored, merge, prepare
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.edge_attributes import Attributes, EdgeAttribute, listed_values, order_by_weight, run_starts, selected
from dgraph.graph.ids import ConsecutiveIds, VertexIds
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.rows import merge_parallel, row_shares
from partitioning.arrays.lazy_numba import machine_code

CHUNK = 1 << 16
"""Edges that a rank sends at a time."""
SPENT = 1 << 19
"""Most edges that a thread appends to buckets before it gives their memory back."""
LARGEST = np.iinfo(np.int64).max
SAMPLES = 1024
"""Sources that each rank contributes to the sample from which all ranks compute the row cuts."""


def assemble(raw: RawEdges, comm: Comm, options: LoadOptions) -> EdgeBlock:
    """Build the clean graph of all ranks' raw edges; collective.

    ``options.directed`` overrides the input: a directed input becomes undirected edge by edge, an undirected one
    becomes directed with both arcs of every edge.

    Raises:
        DataError: an id below the base or beyond n, a negative id, a weight that is NaN, a sum that does not fit.
    """
    facts = replace(raw.facts, notes=list(raw.facts.notes))
    src, dst, weights = raw.src, raw.dst, raw.weights
    n, base, vertices = None if options.sparse_ids and raw.ids is None else raw.n, raw.base, raw.vertices
    directed = raw.directed if options.directed is None else options.directed
    both = raw.mirrored or not (raw.directed and directed)
    doubled, disposable = both and not raw.mirrored, raw.disposable
    rule, input_ids, extra = options.merge, raw.ids, raw.extra
    keep_parallel = options.keep_parallel or (raw.parallel and rule == "min")
    vertices_at, edges_at = raw.vertices_at or (lambda _: facts.name), raw.edges_at or (lambda _: facts.name)
    why = raw.why if directed == raw.directed else "asked for"
    if why:
        facts.notes.insert(0, f"{'directed' if directed else 'undirected'}: {why}")
    ends, halves, attributes, in_range = raw.ends, raw.halves, raw.attributes, raw.in_range and n is not None
    del raw
    before, threads = comm.before(src.size), rank_threads(comm)
    with comm.together():
        low, high = (0, LARGEST) if n is None else (base, base + n - 1)
        for values, end in () if in_range else ((src, ends[0]), (dst, ends[1])):
            check_range(values, low, high, f"{facts.name}: {end}", before, threads)
        if weights is not None:
            check_weights(weights, f"{facts.name}: weight", before)
    ids: VertexIds
    listed_by_edges = n is None and vertices is None and extra is None
    if n is None:
        listed_ids = [src, dst] if extra is None else [src, dst, extra]
        ids, gids_of = numbered(listed_ids, vertices, vertices_at, edges_at, comm)
        n, base = int(ids.starts[-1]), 0
        del listed_ids
        src = gids_of(src, disposable)
        dst = gids_of(dst, disposable)
        del gids_of
    else:
        ids = input_ids or ConsecutiveIds(n, base)
    edges = None
    if rule != "min":
        edges = prepare(src, dst, weights, rule, doubled, both and not doubled, comm, halves)
        facts.both_listed = directed and (both or edges.both)
        if edges.halved and doubled:
            facts.notes.append(HALVED)
        src, dst, weights, doubled = edges.src, edges.dst, edges.carried, doubled or edges.halved
        attributes = attributes if edges.counted is None else selected(attributes, edges.counted)
    elif keep_parallel and doubled and comm.total(int((src != dst).any())) and are_mirrored(src, dst, weights, comm):
        facts.warnings.append(TWICE)
    columns = _Columns(weights, attributes, keep_parallel) if attributes else None
    carried = weights if columns is None else comm.before(src.size) + np.arange(src.size)
    spent = disposable and edges is None and columns is None
    listed = ListedArcs(src, dst, carried, base, gid_type(n), doubled, options.keep_loops, spent)
    del src, dst, weights, carried
    cuts = row_cuts(listed.sample(), listed.size * (1 + doubled), n, comm)
    buckets, loops = bucketed(listed, cuts, threads, comm, huge=not (spent and ids.names is not None))
    del listed
    first, merging = int(cuts[comm.rank]), edges is None and not keep_parallel and columns is None
    offsets, targets, weights, equal, equal_loops = buckets.rows_of(merging, threads)
    attributes = {}
    if columns is not None and weights is not None:
        weights, attributes = columns.of_rows(offsets, targets, weights, comm)
    if edges is None and not merging:
        targets, weights, equal, equal_loops = merge_parallel(offsets, targets, weights, first, keep=keep_parallel)
    elif edges is not None:
        equal, equal_loops = targets.size, count_loops(offsets, targets, first)
        offsets, targets, weights = merge(offsets, targets, weights, rule, edges, comm)
        equal, equal_loops = equal - targets.size, equal_loops - count_loops(offsets, targets, first)
    facts.merge = rule
    note_found(facts, loops, equal, equal_loops, 2 if both else 1, comm)
    facts.loops_kept, facts.duplicates_kept = options.keep_loops, keep_parallel
    block = EdgeBlock(n, 0, 0, first, offsets, targets, weights, directed, ids, facts, attributes=attributes)
    tally(block, comm, listed_by_edges and not (facts.loops and not options.keep_loops))
    return block


@dataclass(frozen=True)
class _Columns:
    """Listed weights and attributes, of edges whose arcs carry their numbers."""

    weights: np.ndarray | None
    attributes: Attributes
    keep_parallel: bool

    def of_rows(
        self, offsets: np.ndarray, targets: np.ndarray, numbers: np.ndarray, comm: Comm
    ) -> tuple[np.ndarray | None, dict[str, EdgeAttribute]]:
        """Return the weights of all entries of sorted rows, and the attributes of those that stay; collective.

        Of parallel edges the one listed first comes first; where they are kept, the one of the smallest weight.
        """
        merge_parallel(offsets, targets, numbers, 0, keep=True)
        starts = run_starts(offsets, targets)
        weights = None if self.weights is None else listed_values(numbers, self.weights, comm)
        if weights is not None and self.keep_parallel:
            order = order_by_weight(starts, weights)
            numbers, weights = numbers[order], weights[order]
        first = None if self.keep_parallel else numbers[starts]
        attributes = {}
        for name, column in self.attributes.items():
            if first is not None and column.rule == "first":
                attributes[name] = replace(column, values=listed_values(first, column.values, comm))
                continue
            every = replace(column, values=listed_values(numbers, column.values, comm))
            with comm.together():
                attributes[name] = every if first is None else every.merged(starts)
        return weights, attributes


def note_found(facts: LoadFacts, loops: int, equal: int, equal_loops: int, listed: int, comm: Comm) -> None:
    """Store the numbers of loops and of duplicate edges in ``facts``; collective.

    Args:
        facts: changed in place.
        loops: self-loops among the entries of this rank.
        equal: entries equal to the one before them in their row.
        equal_loops: entries counted in ``equal`` that are self-loops.
        listed: entries per edge that is not a loop: 2 if both arcs are stored, else 1.
        comm: communicator of the ranks.
    """
    loops, equal, equal_loops = (int(count) for count in comm.allreduce(np.array([loops, equal, equal_loops])))
    facts.loops, facts.duplicates = loops, (equal - equal_loops) // listed + equal_loops


def tally(block: EdgeBlock, comm: Comm, covered: bool = False) -> None:
    """Fill in arcs, m, isolated vertices and the largest degree from the rows; collective.

    ``covered``: every vertex is known to have an arc.
    """
    loops_here: list[int] = []
    degrees_here: list[int] = [0]
    empty = np.empty(block.rows, bool)
    threads = 1 if comm.size == 1 and block.rows + block.targets.size < SHARE else rank_threads(comm)

    def count(rows: slice) -> None:
        offsets = block.offsets[rows.start : rows.stop + 1]
        if not block.directed:  # only the edges of these depend on them
            with machine_code(block.targets.size > MANY):
                loops_here.append(count_loops(offsets, block.targets, block.first + rows.start))
        degrees = np.diff(offsets)
        degrees_here.append(int(degrees.max(initial=0)))
        np.equal(degrees, 0, out=empty[rows])

    row_shares(count, block.offsets, threads)
    here = [block.targets.size, sum(loops_here), 0 if covered else _isolated(block, empty, threads, comm)]
    arcs, loops, isolated = (int(count) for count in comm.allreduce(np.array(here, np.int64)))
    block.arcs = arcs
    block.m = arcs if block.directed else (arcs - loops) // 2 + loops
    block.facts.isolated = isolated
    block.facts.largest_degree = comm.largest(max(degrees_here))


def row_cuts(sample: np.ndarray, arcs: int, n: int, comm: Comm) -> np.ndarray:
    """Return row boundaries that give every rank about the same number of arcs plus rows; collective.

    Args:
        sample: source gids of arcs, evenly spaced among this rank's ``arcs`` arcs.
        arcs: number of arcs on this rank.
        n: vertices in the whole graph.
        comm: communicator of the ranks.

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
class ListedArcs:
    """This rank's listed edges as arcs of gids, produced one chunk at a time."""

    src: np.ndarray
    dst: np.ndarray
    weights: np.ndarray | None
    base: int
    dtype: np.dtype
    doubled: bool
    keep_loops: bool
    spent: bool
    """True if a chunk is lost once its arcs are in their buckets."""

    @property
    def size(self) -> int:
        """Listed edges on this rank."""
        return self.src.size

    def gids(self, ids):
        """Return ids as gids, in the dtype of the graph's gids."""
        return (ids - ids.dtype.type(self.base) if self.base else ids).astype(self.dtype, copy=False)

    def sample(self) -> np.ndarray:
        """Return up to :data:`SAMPLES` sources of arcs, evenly spaced."""
        positions = np.linspace(0, max(self.size - 1, 0), min(SAMPLES, self.size)).astype(np.int64)
        return self.gids(
            np.concatenate([self.src[positions], self.dst[positions]]) if self.doubled else self.src[positions]
        )

    def share(self, thread: int, threads: int) -> tuple:
        """Return sources, targets and weights of one of ``threads`` equal shares of the listed edges, as listed."""
        part = slice(self.size * thread // threads, self.size * (thread + 1) // threads)
        return self.src[part], self.dst[part], None if self.weights is None else self.weights[part]

    def arcs(self, step: int) -> tuple:
        """Return sources, targets and weights of the arcs of chunk ``step``, and its number of listed self-loops."""
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


def bucketed(listed: ListedArcs, cuts: np.ndarray, threads: int, comm: Comm, huge=True) -> tuple[BucketedArcs, int]:
    """Return the arcs of this rank's rows by bucket, and the number of self-loops listed here; collective.

    Arcs travel twice: the first pass counts them, the second appends them to their buckets. This avoids a buffer of all
    arcs in between. On one rank nothing travels, and threads take shares of the listed edges.
    """
    first, last = int(cuts[comm.rank]), int(cuts[comm.rank + 1])
    arcs = comm.total(listed.size * (1 + listed.doubled)) // comm.size
    threads = 1 if comm.size > 1 else max(1, min(threads, listed.size // CHUNK))
    buckets = BucketedArcs(first, last - first, arcs, threads)
    weight_type = None if listed.weights is None else listed.weights.dtype
    if comm.size == 1:
        form = listed.base, listed.keep_loops, listed.doubled
        parts = [listed.share(thread, threads) for thread in range(threads)]
        counted = in_order(lambda t: buckets.count(parts[t], *form, t), range(threads), threads)
        loops = sum(counted)
        buckets.end_counts(listed.dtype, weight_type, huge)

        def append(thread: int) -> None:
            part, step = parts[thread], min(SPENT, max(CHUNK, listed.size // 32))
            for first in range(0, part[0].size, step):
                piece = tuple(None if column is None else column[first : first + step] for column in part)
                buckets.append(piece, *form, thread)
                for column in piece if listed.spent else ():
                    if column is not None:
                        give_back(column)

        for _ in in_order(append, range(threads), threads):
            pass
        return buckets, loops
    steps, loops = comm.largest(-(-listed.size // CHUNK)), 0
    for step in range(steps):
        src, dst, _, loops_of_step = listed.arcs(step)
        loops += loops_of_step
        for piece in _send((src, dst), cuts, comm):
            buckets.count(piece, 0, True, False)
    buckets.end_counts(listed.dtype, weight_type)
    for step in range(steps):
        for piece in _send(listed.arcs(step)[:3], cuts, comm):
            buckets.append(piece, 0, True, False)
    return buckets, loops


def _send(columns, cuts, comm):
    """Send every arc to the rank of its row; return the received pieces, with columns as given."""
    if comm.size == 1:
        return [columns]
    counts, order = by_row(columns[0], cuts)
    ends = np.cumsum(counts)[:-1]
    parts = [
        [None] * comm.size if column is None else comm.alltoallv(np.split(column[order], ends)) for column in columns
    ]
    return list(zip(*parts, strict=True))


def _isolated(block, empty, threads, comm):
    """Return the number of rows here without an arc in either direction, of ``empty`` ones; collective."""
    if not block.directed or (comm.size == 1 and not empty.any()):
        return int(np.count_nonzero(empty))

    def mark(targets: np.ndarray) -> None:
        with machine_code(block.targets.size > MANY):
            clear(targets, block.first, empty)

    if comm.size == 1:
        shares(lambda part: mark(block.targets[part]), block.targets.size, threads)
        return int(np.count_nonzero(empty))
    cuts = np.append(comm.allgather(np.array([block.first], np.int64))[:, 0], block.n)
    for step in range(comm.largest(-(-block.targets.size // CHUNK))):
        targets = block.targets[step * CHUNK : (step + 1) * CHUNK]
        for (piece,) in _send((targets,), cuts, comm):
            mark(piece)
    return int(np.count_nonzero(empty))
