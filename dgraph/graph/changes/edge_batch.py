"""The edges of a change, as users give them: an array of pairs or a table, on any ranks; all ranks then have all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph._support.arguments import refused
from dgraph.comm.base import Comm
from dgraph.comm.owner_directed import swap
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.collective_checks import unify_weights
from dgraph.graph.inputs.edge_arrays import ends_of
from dgraph.graph.inputs.edge_tables import is_table, table_columns
from dgraph.graph.inputs.vertex_columns import VertexColumn, vertex_column
from dgraph.graph.inputs.weight_values import weight_values
from dgraph.graph.inputs.word_codes import code_words


@dataclass(frozen=True)
class EdgeBatch:
    """Edges, equal on every rank.

    Attributes:
        src, dst: original ids, int64, or names as bytes (dtype S): shape (k,).
        weights: in their order, or None.
    """

    src: np.ndarray
    dst: np.ndarray
    weights: np.ndarray | None

    def __len__(self) -> int:
        return len(self.src)


def read_batch(what: str, edges: Any, weights: Any, named: bool, comm: Comm) -> EdgeBatch:
    """Return the edges of all ranks in their order; collective.

    Args:
        what: name of the argument, for messages.
        edges: pairs of vertices, shape (k, 2); or a table, whose columns are found by their names; None: no edges here.
        weights: one for each pair, or None.
        named: True if vertices have names.
        comm: communicator of the ranks.

    Raises:
        UsageError: another shape, or vertices of another kind than the graph's.
        DataError: a value that is missing or wrong, with its row.
    """
    with comm.together():
        lengthless = not hasattr(weights, "__len__") or isinstance(weights, (str, bytes))
        if weights is not None and (lengthless or getattr(weights, "ndim", 1) != 1):
            raise refused("weights", weights, "", "one number for each edge to add, or None")
        ends, numbers = _columns(what, edges, weights)
        for column in ends:
            if column.size and (column.kind == "strings") != named:
                kind = "names, which are strings" if named else "integers"
                raise UsageError(f"{column.name} holds {column.kind}, and the vertices of this graph are {kind}")
        size = ends[0].size
        if ends[1].size != size:
            raise UsageError(f"{what} has columns of different lengths; give source and target of every edge")
        if numbers is not None and numbers.size != size:
            raise UsageError(f"weights has {numbers.size} values, {what} {size}; give one for each edge")
        if named:
            codes, words = code_words(ends)
            pairs = [words[column] if column.size else np.zeros(0, "S1") for column in codes]
        else:
            pairs = [np.zeros(0, np.int64) if column.ids is None else column.ids.astype(np.int64) for column in ends]
    numbers = unify_weights(numbers, size, comm)
    if named:
        width = comm.largest(max(column.itemsize for column in pairs))
        pairs = [column.astype(f"S{width}") for column in pairs]
        gathered = [np.concatenate(swap(comm, [column] * comm.size)) for column in pairs]
    else:
        gathered = [np.concatenate(comm.allgatherv(column)) for column in pairs]
    every = None if numbers is None else np.concatenate(comm.allgatherv(numbers))
    return EdgeBatch(gathered[0], gathered[1], every)


def fitted_weights(batch: EdgeBatch, kind: np.dtype | None, counts: bool) -> np.ndarray | None:
    """Return the weights of new edges in the dtype of the graph's.

    Args:
        batch: the edges.
        kind: dtype of the graph's weights; None: it has none.
        counts: True if the graph's weights count parallel edges, so that a new one counts 1.

    Raises:
        UsageError: weights for a graph without, or none for one with weights.
        DataError: a weight that the dtype cannot hold.
    """
    if kind is None or not len(batch):
        if batch.weights is not None and len(batch):
            raise UsageError("the edges of this graph have no weights; leave those of the new edges out")
        return None if kind is None else np.zeros(0, kind)
    if batch.weights is None:
        if counts:
            return np.ones(len(batch), kind)
        raise UsageError(f"the edges of this graph have weights ({kind}); give one for every new edge, with weights=")
    with np.errstate(invalid="ignore", over="ignore"):
        fitted = batch.weights.astype(kind)
    if kind.kind == "i":
        wrong = np.flatnonzero(fitted != batch.weights)
        if wrong.size:
            raise DataError(
                f"weight {batch.weights[wrong[0]]} of a new edge does not fit this graph's weights, which are {kind}; "
                "give one that does, or load the graph with float weights"
            )
    return fitted


def _columns(what: str, edges: Any, weights: Any) -> tuple[list[VertexColumn], np.ndarray | None]:
    """Return columns of sources and targets, and the weights."""
    if edges is None:
        if weights is not None and len(weights):
            raise UsageError("weights without edges; give the edges with add=")
        return [VertexColumn(what, 0)] * 2, None
    if is_table(edges):
        table = table_columns(edges, None, what=f"{what}: the table")
        name = "weights" if weights is not None else f"{what}: {table.titles[2]}"
        weights = table.weights if weights is None else weights
        columns = [vertex_column(end, f"{what}: {title}") for end, title in zip(table[:2], table.titles, strict=False)]
    else:
        columns, name = [vertex_column(np.ascontiguousarray(end), what) for end in ends_of(edges, what)], "weights"
    return columns, weight_values(weights, name)[0]
