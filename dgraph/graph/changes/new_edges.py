"""Effect of a change on each arc: inserted, merged with an existing one, or removed."""

from __future__ import annotations

import numpy as np

from dgraph.errors import DataError
from dgraph.graph.block import GraphFacts
from dgraph.graph.changes.merge_rows import ChangedArcs
from dgraph.graph.changes.numbered_batch import pair_numbers


def distinct(arcs: ChangedArcs, rule: str, keep: bool) -> ChangedArcs:
    """Return arcs by source, target and weight; parallel ones are merged by a rule unless they are kept."""
    listed = np.arange(len(arcs))
    if arcs.weights is None or rule == "first":
        order = np.lexsort((listed, arcs.dst, arcs.src))
    else:
        order = np.lexsort((arcs.weights, arcs.dst, arcs.src))
    arcs = arcs[order]
    if keep or not len(arcs):
        return arcs
    new = np.ones(len(arcs), bool)
    new[1:] = (arcs.src[1:] != arcs.src[:-1]) | (arcs.dst[1:] != arcs.dst[:-1])
    starts = np.flatnonzero(new)
    merged = arcs[starts]
    if arcs.weights is None:
        return merged
    weights = merged.weights
    if rule == "max":
        weights = np.maximum.reduceat(arcs.weights, starts)
    elif rule in ("sum", "count"):
        weights = _within(np.add.reduceat(arcs.weights, starts), np.add.reduceat(arcs.weights.astype(float), starts))
    return ChangedArcs(merged.src, merged.dst, weights)


def merged_weights(old: np.ndarray, new: np.ndarray, rule: str) -> np.ndarray:
    """Return the weights of edges that are there with ``old`` weights and are added with ``new`` ones."""
    if rule in ("sum", "count"):
        return _within(old + new, old.astype(float) + new)
    return {"min": np.minimum(old, new), "max": np.maximum(old, new), "first": old}[rule]


def repetitions(
    before: GraphFacts, n: int, removed: tuple[ChangedArcs, np.ndarray], added: tuple[ChangedArcs, np.ndarray]
) -> tuple[int, int]:
    """Return the numbers of loops and of duplicate edges after a change; those of the load where they were dropped.

    Args:
        before: facts before the change.
        n: vertices after it.
        removed: pairs of ends whose arcs are all removed, and the number of these arcs.
        added: arcs that are added, and the number of arcs of the same ends before.
    """
    facts = before.facts
    if not facts.loops_kept and not facts.duplicates_kept:
        return facts.loops, facts.duplicates
    arcs = ChangedArcs(*(np.concatenate([getattr(added[0], end), getattr(removed[0], end)]) for end in ("src", "dst")))
    pairs, first, inverse = np.unique(pair_numbers(arcs, n), return_index=True, return_inverse=True)
    old = np.concatenate([added[1], removed[1]])[first]
    stays = np.ones(pairs.size, bool)
    stays[inverse[len(added[0]) :]] = False
    new = old * stays + np.bincount(inverse[: len(added[0])], minlength=pairs.size)
    loops = arcs.src[first] == arcs.dst[first]
    halves = np.where(loops | before.directed, 2, 1)  # of an edge: an undirected one is two arcs
    duplicates = int(((np.maximum(new - 1, 0) - np.maximum(old - 1, 0)) * halves).sum()) // 2
    return (
        facts.loops + int((new - old)[loops].sum()) if facts.loops_kept else facts.loops,
        facts.duplicates + duplicates if facts.duplicates_kept else facts.duplicates,
    )


def _within(sums: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Refuse sums of integers that do not fit their dtype."""
    if sums.dtype.kind == "i" and sums.size and np.abs(exact).max() > np.iinfo(sums.dtype).max * (1 - 2.0**-20):
        raise DataError(
            f"a sum of parallel edges' weights does not fit {sums.dtype}; load the graph with float weights"
        )
    return sums
