"""Rows of a graph with an attribute of its edges as weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError, UsageError, unknown
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.array_input import as_weights
from dgraph.graph.edge_attributes import Attributes, order_by_weight, run_starts, selected


def weighted_rows(block: EdgeBlock, name: str, comm: Comm) -> EdgeBlock:
    """Return the rows of ``block`` with the attribute ``name`` as weights; they share its other arrays; collective.

    Parallel edges that the graph keeps are in the order of these weights. Its rule of parallel edges becomes the
    attribute's.

    Raises:
        UsageError: the edges have no such attribute, or it is not a number.
        DataError: an edge lacks a value.
    """
    weights, attributes = _weights_of(block.attributes, name, comm), block.attributes
    facts = block.facts
    if facts.duplicates_kept and facts.duplicates:
        order = order_by_weight(run_starts(block.offsets, block.targets), weights)
        weights, attributes = weights[order], selected(attributes, order)
    facts = replace(facts, merge=attributes[name].rule, notes=[*facts.notes, f"the weight is {name}"])
    return replace(block, weights=weights, attributes=attributes, facts=facts, fingerprint=None)


def _weights_of(attributes: Attributes, name: str, comm: Comm) -> np.ndarray:
    """Return an attribute as the weights of a graph; collective.

    Raises:
        UsageError: there is no such attribute, or it is not a number.
        DataError: a missing value.
    """
    if not attributes:
        raise UsageError(
            f"weight = {name!r}: the graph keeps no columns with its edges, so none has this name; make it with "
            f"keep=[{name!r}]; a run without weight= takes the graph's own weights"
        )
    if name not in attributes:
        refused = unknown("attribute of the edges (keep= of the load keeps columns)", name, attributes)
        raise UsageError(f"{refused}; a run without weight= takes the graph's own weights")
    column = attributes[name]
    if column.kind.kind not in "biuf":
        raise UsageError(
            f"weight = {name!r}: the column is {'text' if column.words is not None else column.kind}, and weights are "
            "numbers; keep a column of numbers"
        )
    missing = comm.total(int(np.count_nonzero(np.isnan(column.values)))) if column.kind.kind == "f" else 0
    if missing:
        raise DataError(
            f"weight = {name!r}: {missing:,} arcs have no value in this column; fill it in, or leave them out by "
            f"graph.filter_edges(lambda e: e.{name} == e.{name})"
        )
    weights = as_weights(column.values, f"weight {name}")
    wide = comm.largest(weights.dtype == np.float64)  # uint64 beyond 63 bits on some rank
    return weights.astype(np.float64, copy=False) if wide else weights
