"""Simple form of a graph: its rows without self-loops, and with one of parallel arcs.

Rows are whole, so each rank edits its own. A graph whose facts count no kept loop and no kept parallel edge is returned
unchanged. Entry: :func:`simplified`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgraph.comm import Comm
from dgraph.graph.block import EdgeBlock, LoadFacts
from dgraph.graph.build.clean import tally
from dgraph.graph.edge_attributes import Attributes, run_starts, selected
from dgraph.graph.rows import count_rows, merge_parallel


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
