"""Effect of a change on each arc: inserted, merged with an existing one, or removed."""

from __future__ import annotations

import numpy as np

from dgraph.errors import DataError
from dgraph.graph.block import GraphFacts
from dgraph.graph.changes.merge_rows import Arcs
from dgraph.graph.changes.numbered_batch import pair_numbers


def distinct(arcs: Arcs, rule: str, keep: bool) -> Arcs:
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
    return Arcs(merged.src, merged.dst, weights)


def merged_weights(old: np.ndarray, new: np.ndarray, rule: str) -> np.ndarray:
    """Return the weights of edges that are there with ``old`` weights and are added with ``new`` ones."""
    if rule in ("sum", "count"):
        return _within(old + new, old.astype(float) + new)
    return {"min": np.minimum(old, new), "max": np.maximum(old, new), "first": old}[rule]


def repetitions(
    known: GraphFacts, n: int, gone: tuple[Arcs, np.ndarray], come: tuple[Arcs, np.ndarray]
) -> tuple[int, int]:
    """Return the numbers of loops and of duplicate edges after a change; those of the load where they were dropped.

    Args:
        known: facts before the change.
        n: vertices after it.
        gone: pairs whose arcs all go, and how many these are.
        come: arcs that are added, and how many of the same ends there were.
    """
    facts = known.facts
    if not facts.loops_kept and not facts.duplicates_kept:
        return facts.loops, facts.duplicates
    arcs = Arcs(*(np.concatenate([getattr(come[0], end), getattr(gone[0], end)]) for end in ("src", "dst")))
    pairs, first, inverse = np.unique(pair_numbers(arcs, n), return_index=True, return_inverse=True)
    before = np.concatenate([come[1], gone[1]])[first]
    stays = np.ones(pairs.size, bool)
    stays[inverse[len(come[0]) :]] = False
    after = before * stays + np.bincount(inverse[: len(come[0])], minlength=pairs.size)
    same = arcs.src[first] == arcs.dst[first]
    share = np.where(same | known.directed, 2, 1)  # of an edge, in halves: an undirected one is two arcs
    extra = (np.maximum(after - 1, 0) - np.maximum(before - 1, 0)) * share
    loops = facts.loops + int((after - before)[same].sum()) if facts.loops_kept else facts.loops
    return loops, facts.duplicates + int(extra.sum()) // 2 if facts.duplicates_kept else facts.duplicates


def _within(sums: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Refuse sums of integers that do not fit their dtype."""
    if sums.dtype.kind == "i" and sums.size and np.abs(exact).max() > np.iinfo(sums.dtype).max * (1 - 2.0**-20):
        raise DataError(
            f"a sum of parallel edges' weights does not fit {sums.dtype}; load the graph with float weights"
        )
    return sums
