"""Merge parallel edges by a rule other than the smallest weight: ``max``, ``sum``, ``first`` or ``count``.

:func:`prepare` readies listed edges before they become arcs, :func:`merge` merges the entries of sorted rows. Between
them, entries carry the weights, or for ``first`` the positions in the input, of which the smallest survives.

Each edge of an undirected graph counts once. An input lists both arcs of every edge if its format does so, or if every
arc has its reverse of the same weight, equally often; then the arcs from the smaller to the larger id are the edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.build.array_input import check_weights
from dgraph.graph.build.fingerprint import pair_sums, weight_bits
from dgraph.graph.edge_attributes import listed_values, run_starts, sums
from dgraph.graph.rows import merge_parallel

HALVED = "every arc has its reverse, so both arcs of each edge are listed: each edge counts once"
TWICE = (
    "every arc has its reverse of the same weight, and both are kept as parallel edges: if the input lists both arcs "
    "of each edge, every edge is there twice; list each once, or do not keep parallel edges"
)


@dataclass
class ListedEdges:
    """This rank's edges, of which parallel ones will be merged.

    Attributes:
        src, dst: ids, shape (edges here,).
        carried: what their entries carry: weights or positions, or None.
        weights: their weights, or None.
        halved: True if both arcs of every edge were listed, and one of them is left.
        both: True if both arcs of every edge are listed, as far as the rule needs to know.
        counted: bool, for the edges that :func:`prepare` took: those that are left; None: all.
    """

    src: np.ndarray
    dst: np.ndarray
    carried: np.ndarray | None
    weights: np.ndarray | None
    halved: bool
    both: bool
    counted: np.ndarray | None = None


def prepare(
    src: np.ndarray,
    dst: np.ndarray,
    weights: np.ndarray | None,
    rule: str,
    doubled: bool,
    mirrored: bool,
    comm: Comm,
    halves: bool = True,
) -> ListedEdges:
    """Return one listing of each edge, with what its entries carry; collective.

    Args:
        src: ids, on this rank.
        dst: as ``src``.
        weights: in the order of ``src``, or None.
        rule: as :attr:`LoadOptions.merge`.
        doubled: True if each listed edge becomes two arcs.
        mirrored: True if the format lists both arcs of every edge.
        comm: communicator of the ranks.
        halves: False: each listed edge counts, also where both arcs of every edge are listed.

    Raises:
        DataError: ``mirrored``, and some arc lacks its reverse.
    """
    halved = both = mirrored
    if mirrored or rule in ("sum", "count"):
        reversed_too = are_mirrored(src, dst, weights, comm)
        if mirrored and not reversed_too:
            raise DataError(
                "some arc lacks its reverse of the same weight, so the graph is not undirected; read it as directed "
                "(directed=True, --directed), or add the reverses"
            )
        both = reversed_too and comm.total(int(np.count_nonzero(src != dst))) > 0
        halved = both and halves and (mirrored or doubled)
    counted = src <= dst if halved else None
    if counted is not None:
        src, dst, weights = src[counted], dst[counted], None if weights is None else weights[counted]
    carried = weights
    if rule == "first" and weights is not None:
        carried = comm.before(src.size) + np.arange(src.size)
    elif rule == "sum" and weights is not None:
        carried = weights.astype(np.int64 if weights.dtype.kind == "i" else np.float64, copy=False)
    elif rule == "count":
        carried = None
    return ListedEdges(src, dst, carried, weights, halved, both, counted)


def are_mirrored(src: np.ndarray, dst: np.ndarray, weights: np.ndarray | None, comm: Comm) -> bool:
    """Return True if every listed arc has its reverse of the same weight, equally often; collective."""
    sums = np.array(pair_sums(src, dst, weight_bits(weights)), np.uint64)
    there, back = comm.allgather(sums).sum(axis=0, dtype=np.uint64)
    return bool(there == back)


def merge(
    offsets: np.ndarray, targets: np.ndarray, carried: np.ndarray | None, rule: str, edges: ListedEdges, comm: Comm
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return offsets, targets and weights of sorted rows without repeated targets; collective.

    Sums and counts are int64, or float64 where weights are floats; an edge without a weight weighs 1.

    Raises:
        DataError: a sum that does not fit, or of opposite infinities.
    """
    starts = run_starts(offsets, targets)
    weights: np.ndarray | None
    if rule == "count" or (rule == "sum" and carried is None):
        weights = np.diff(starts, append=targets.size)
    elif carried is None:
        weights = None
    elif rule == "sum":
        merge_parallel(offsets, targets, carried, 0, keep=True)  # sorted, so float sums are equal on any ranks
        with comm.together():
            weights = _sums(carried, starts)
    else:
        extreme = np.minimum if rule == "first" else np.maximum
        weights = extreme.reduceat(carried, starts) if starts.size else carried
        if rule == "first" and edges.weights is not None:
            weights = listed_values(weights, edges.weights, comm)
    return np.searchsorted(starts, offsets).astype(np.int64), targets[starts], weights


def _sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    if not starts.size:
        return values
    totals = sums(values, starts, "weights")
    check_weights(totals, "sum of parallel edges")
    return totals
