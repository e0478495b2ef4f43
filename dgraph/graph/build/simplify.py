"""Other forms of a graph that is loaded: without self-loops, with one of parallel arcs, or undirected.

Rows are whole, so for :func:`simplified` each rank edits its own. A graph whose facts count no kept loop and no kept
parallel edge is returned unchanged. :func:`symmetrised` returns the undirected graph of a directed one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.graph.block import EdgeBlock, LoadFacts
from dgraph.graph.build.bucketed_arcs import FEW
from dgraph.graph.build.clean import ListedArcs, assemble, bucketed, note_found, tally
from dgraph.graph.build.parallel_edges import HALVED
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.edge_attributes import Attributes, run_starts, selected
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.rows import count_rows, merge_parallel, sources_of

SYMMETRISED = "symmetrised: every arc goes both ways"


def removable(facts: LoadFacts, loops: bool = True, parallel: bool = True) -> tuple[bool, bool]:
    """Return which of ``loops`` and ``parallel`` edges are requested and occur in a graph of these facts."""
    return loops and facts.loops_kept and facts.loops > 0, parallel and facts.duplicates_kept and facts.duplicates > 0


def simple_facts(facts: LoadFacts, loops: bool, parallel: bool) -> LoadFacts:
    """Return the facts of a graph without ``loops``, and with one of ``parallel`` edges."""
    notes = ["loops were left out"] * loops + ["parallel edges were merged"] * parallel
    return replace(
        facts,
        loops_kept=facts.loops_kept and not loops,
        duplicates_kept=facts.duplicates_kept and not parallel,
        notes=[*facts.notes, *notes],
    )


def simplified(block: EdgeBlock, comm: Comm, loops: bool = False, parallel: bool = False) -> EdgeBlock:
    """Return the graph without its loops, or with one of parallel arcs, or both; collective.

    Args:
        block: this rank's rows; not modified.
        comm: communicator of the ranks.
        loops: leave out self-loops.
        parallel: merge arcs of equal ends into one, of the smallest weight.
    """
    loops, parallel = removable(block.facts, loops, parallel)
    if not loops and not parallel:
        return block
    with comm.together():
        offsets, targets, weights, attributes = _copied(block, loops)
        if parallel:
            starts = run_starts(offsets, targets)
            attributes = {name: column.merged(starts) for name, column in attributes.items()}
            targets, weights, *_ = merge_parallel(offsets, targets, weights, block.first, keep=False)
    facts = simple_facts(block.facts, loops, parallel)
    simple = EdgeBlock(
        block.n, 0, 0, block.first, offsets, targets, weights, block.directed, block.ids, facts, attributes=attributes
    )
    tally(simple, comm)
    return simple


def _copied(block: EdgeBlock, loops: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, Attributes]:
    """Return a copy of the rows; without self-arcs if ``loops``."""
    if not loops:
        weights = None if block.weights is None else block.weights.copy()
        return block.offsets.copy(), block.targets.copy(), weights, block.attributes
    sources = block.sources()
    between = sources != block.targets
    offsets = np.zeros(block.rows + 1, np.int64)
    count_rows(sources[between], block.first, offsets)
    weights = None if block.weights is None else block.weights[between]
    return np.cumsum(offsets), block.targets[between], weights, selected(block.attributes, between)


def symmetrised(block: EdgeBlock, comm: Comm, keep_parallel: bool = False, rule: str = "min") -> EdgeBlock:
    """Return the undirected graph of a directed one; collective.

    An edge exists if either arc does. Parallel edges, also u → v and v → u, merge by ``rule`` (see ``LoadOptions``)
    unless ``keep_parallel``; loops stay if the block kept them. Merged by the rule of its load, a graph becomes what
    the load makes with ``directed=False``, but for ``first``: the arc from the smaller gid is first, as the order of
    the input is lost. By ``min`` the facts stay those of the load.
    """
    if not block.directed:
        return block
    loaded = block.facts.merge
    merging = "sum" if rule == loaded == "count" else rule  # the weights are counts
    sources = sources_of(block.offsets, block.first, block.targets.dtype, rank_threads(comm))
    plain = merging == "min" and not keep_parallel and not block.attributes
    if plain and comm.size == 1 and block.targets.size > FEW:
        both = _both_ways(block, sources, comm)
    else:
        raw = RawEdges(sources, block.targets, block.weights, directed=False, n=block.n, attributes=block.attributes)
        del sources
        raw.halves = block.facts.both_listed and rule == loaded
        both = assemble(raw, comm, LoadOptions(keep_loops=True, keep_parallel=keep_parallel, merge=merging))
        both.ids = block.ids
    notes = [*block.facts.notes, SYMMETRISED]
    if not keep_parallel and rule != "min":
        notes.append(HALVED if HALVED in both.facts.notes else f"u → v and v → u merged by {rule}")
    before, duplicates = block.facts.duplicates, both.facts.duplicates
    if not keep_parallel and not block.facts.duplicates_kept:
        if rule == loaded:
            duplicates = before + (duplicates if rule != "min" else 0)
        elif before:
            notes.append(f"parallel edges merged before, by {loaded}: {before:,}")
    both.facts = replace(
        block.facts,
        duplicates=duplicates,
        merge=loaded if keep_parallel else rule,
        both_listed=False,
        largest_degree=both.facts.largest_degree,
        duplicates_kept=keep_parallel,
        notes=notes,
    )
    return both


def _both_ways(block: EdgeBlock, sources: np.ndarray, comm: Comm) -> EdgeBlock:
    """Return the undirected graph of a directed one that one rank has; of parallel arcs the smallest weight counts.

    ``sources``: of its arcs. Rows of it and of the reverses ascend, so that they are merged, and not sorted.
    """
    threads = rank_threads(comm)
    reverses = ListedArcs(block.targets, sources, block.weights, 0, block.targets.dtype, False, False, False)
    buckets, _ = bucketed(reverses, np.array([0, block.n]), threads, comm)
    rows, facts = (block.offsets, block.targets, block.weights), LoadFacts()
    offsets, targets, weights, equal, equal_loops = buckets.rows_beside(rows, threads)
    note_found(facts, 0, equal, equal_loops, 2, comm)
    both = EdgeBlock(block.n, 0, 0, 0, offsets, targets, weights, False, block.ids, facts)
    tally(both, comm)
    return both
