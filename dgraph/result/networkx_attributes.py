"""Results as attributes of NetworkX nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from dgraph._support.arguments import refused
from dgraph._support.extras import extra
from dgraph.errors import UsageError
from dgraph.graph.names import decode_names
from dgraph.result.arrow_tables import missing


def with_attributes(columns: Mapping[str, np.ndarray], nullable: Collection[str], target: Any = None) -> Any:
    """Set each column as an attribute of the nodes of ``target``, or of a new graph, and return that graph.

    A new graph is a ``networkx.DiGraph`` of all vertices; its edges lead from predecessors to their vertices.
    Missing values set no attribute.

    Args:
        columns: ``vertex`` and others, of one length; names as bytes.
        nullable: columns in which values may be missing.
        target: a NetworkX graph whose nodes are the vertices; None: a new one.

    Raises:
        UsageError: NetworkX is not installed, or a vertex is not a node of ``target``.
    """
    networkx = extra("networkx", "a NetworkX graph")
    nodes = _listed(columns["vertex"])
    graph = networkx.DiGraph() if target is None else target
    if target is None:
        graph.add_nodes_from(nodes)
    else:
        if not isinstance(target, networkx.Graph):
            raise refused("G", target, "", "a NetworkX graph, or None")
        unknown = set(nodes).difference(graph)
        if unknown:
            raise UsageError(
                f"{len(unknown)} of {len(nodes)} vertices of the result are not nodes of the graph G, such as "
                f"{next(iter(unknown))!r}; pass the graph of the run, with the same ids, or none for a new graph"
            )
    for name, values in columns.items():
        if name == "vertex":
            continue
        mask = missing(name, values, nullable)
        rows = nodes if mask is None else _listed(columns["vertex"][~mask])
        cells = _listed(values if mask is None else values[~mask])
        networkx.set_node_attributes(graph, dict(zip(rows, cells, strict=True)), name)
        if target is None and name == "predecessor":
            graph.add_edges_from(zip(cells, rows, strict=True))
    return graph


def _listed(values: np.ndarray) -> list:
    return (decode_names(values) if values.dtype.kind == "S" else values).tolist()
