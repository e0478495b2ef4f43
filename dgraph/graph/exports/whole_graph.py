"""A graph whole on one rank, as an object of another library: NetworkX, SciPy, igraph.

Vertex i of it is the i-th of ``Graph.vertices()``, rank after rank.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.comm.base import Comm
from dgraph.graph.block import EdgeBlock
from dgraph.graph.exports.edge_table import sent_to
from dgraph.graph.kept_columns import VertexColumns
from dgraph.graph.names import decode_names


@dataclass(frozen=True)
class WholeGraph:
    """All arcs and vertices; arrays have no rows on other ranks.

    Attributes:
        directed: False: each edge stands in both directions.
        parallel: True if the graph keeps parallel edges, of which it may have none.
        vertices: original ids, int64, or names as bytes.
        offsets: int64 (vertices + 1,).
        targets: positions of vertices (arcs,).
        weights: of arcs; None: every edge weighs 1.
        columns: name → values of vertices; text as bytes.
        edge_columns: name → values of arcs; text as str and None (dtype object).
    """

    directed: bool
    parallel: bool
    vertices: np.ndarray
    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None
    columns: dict[str, np.ndarray]
    edge_columns: dict[str, np.ndarray]

    def once(self) -> tuple[np.ndarray, np.ndarray, dict[str, list]]:
        """Return sources, targets, and ``weight`` and attributes of edges; an undirected edge once."""
        sources = np.repeat(np.arange(len(self.vertices)), np.diff(self.offsets))
        kept = slice(None) if self.directed else np.flatnonzero(sources <= self.targets)
        columns = ({} if self.weights is None else {"weight": self.weights}) | self.edge_columns
        return sources[kept], self.targets[kept], {name: _listed(values[kept]) for name, values in columns.items()}

    def attributes(self) -> dict[str, list]:
        """Return the columns as lists."""
        return {name: _listed(values) for name, values in self.columns.items()}


def gathered(block: EdgeBlock, columns: VertexColumns, comm: Comm, root: int) -> WholeGraph:
    """Gather a graph on ``root``; collective."""

    def on_root(values: np.ndarray) -> np.ndarray:
        return np.concatenate(sent_to(root, values, comm))

    ids = block.ids.to_original(np.arange(block.first, block.first + block.rows), comm)
    names = block.ids.names
    lengths = on_root(np.diff(block.offsets))
    return WholeGraph(
        block.directed, block.facts.duplicates_kept,
        on_root(ids if names is None else names.words(ids, comm)),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), on_root(block.targets.astype(np.int64)),
        None if block.weights is None else on_root(block.weights),
        {name: on_root(values) for name, values in columns.stored.items()},
        {name: replace(column, values=on_root(column.values)).shown() for name, column in block.attributes.items()},
    )  # fmt: skip


def networkx_graph(graph: WholeGraph) -> Any:
    """Return a graph of ``networkx``; edges have ``weight``, where there are weights, and their attributes."""
    networkx = extra("networkx", "a NetworkX graph")
    kind = f"{'Multi' if graph.parallel else ''}{'Di' if graph.directed else ''}Graph"
    nx_graph = getattr(networkx, kind)()
    nodes, (sources, targets, columns) = _listed(graph.vertices), graph.once()
    nx_graph.add_nodes_from(nodes)
    ends = [list(map(nodes.__getitem__, numbers.tolist())) for numbers in (sources, targets)]
    if columns:
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        nx_graph.add_edges_from(zip(*ends, rows, strict=True))
    else:
        nx_graph.add_edges_from(zip(*ends, strict=True))
    for name, values in graph.attributes().items():
        networkx.set_node_attributes(nx_graph, dict(zip(nodes, values, strict=True)), name)
    return nx_graph


def scipy_matrix(graph: WholeGraph) -> Any:
    """Return a ``scipy.sparse.csr_array``, with ones where the graph has no weights."""
    sparse, n = extra("scipy.sparse", "a sparse matrix"), len(graph.vertices)
    weights = np.ones(len(graph.targets), np.int64) if graph.weights is None else graph.weights
    return sparse.csr_array((weights, graph.targets, graph.offsets), shape=(n, n))


def igraph_graph(graph: WholeGraph) -> Any:
    """Return an ``igraph.Graph``: ids or names as the vertex attribute ``name``; edges as in :func:`networkx_graph`."""
    igraph, (sources, targets, columns) = extra("igraph", "a graph of igraph"), graph.once()
    attributes = {"name": _listed(graph.vertices), **graph.attributes()}
    edges = list(zip(sources.tolist(), targets.tolist(), strict=True))
    return igraph.Graph(
        len(graph.vertices), edges, directed=graph.directed, vertex_attrs=attributes,
        edge_attrs=columns,
    )  # fmt: skip


def _listed(values: np.ndarray) -> list:
    """Return values as Python's own: names as str, times as datetime or None."""
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]").tolist()
    return (decode_names(values) if values.dtype.kind == "S" else values).tolist()
