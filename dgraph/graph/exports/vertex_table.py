"""Columns of a graph's vertices for the tables of its results."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.graph.exports.edge_table import sent_to
from dgraph.graph.names import decode_names


class VertexTable:
    """Columns of the vertices of one graph; all methods are collective.

    Args:
        graph: the graph; its rows are read when they are asked for.
    """

    def __init__(self, graph: Any):
        self.graph = graph

    def gathered(self, root: int) -> dict[str, np.ndarray]:
        """Return the columns of all vertices, by ascending id, on ``root``, text as bytes; elsewhere no rows."""
        block, comm, stored = self.graph.block, self.graph.comm, self.graph.columns.stored
        rows = {"": block.ids.to_original(np.arange(block.first, block.first + block.rows), comm)}
        gathered = {name: np.concatenate(sent_to(root, values, comm)) for name, values in (rows | stored).items()}
        order = np.argsort(gathered.pop(""), kind="stable")
        return {name: values[order] for name, values in gathered.items()}

    def values_of(self, vertices: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns of a few vertices on every rank, text as str or None.

        Args:
            vertices: original ids, or numbers of names, equal on all ranks.
        """
        block, comm = self.graph.block, self.graph.comm
        rows = np.array(block.ids.to_gid(vertices, comm)) - block.first
        places = np.flatnonzero((rows >= 0) & (rows < block.rows))
        order = np.argsort(np.concatenate(comm.allgatherv(places)))
        columns = {}
        for name, values in self.graph.columns.stored.items():
            part = np.ascontiguousarray(values[rows[places]])
            if values.dtype.kind == "S":
                parts = comm.allgather_json(decode_names(part).tolist())
                whole = np.array([text for texts in parts for text in texts], object)
            else:
                whole = np.concatenate(comm.allgatherv(part.view(f"i{part.itemsize}"))).view(values.dtype)
            columns[name] = whole[order]
        return columns
