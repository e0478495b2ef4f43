"""``as_graph``: whatever names or holds a graph becomes a :class:`Graph`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dgraph._support.arguments import refused
from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.graph.build.simplify import simplified, symmetrised
from dgraph.graph.inputs.edge_tables import is_table
from dgraph.graph.inputs.matrices import is_matrix
from dgraph.graph.inputs.networkx_graphs import is_networkx
from dgraph.graph.load import graph_spec
from dgraph.graph.stored_graph import Graph


def as_graph(value: Any, comm: Comm) -> Graph:
    """Return the graph of a value, with the defaults of the class method that takes it; collective.

    Args:
        value: a :class:`Graph`; a file, store or generator; a NetworkX graph; a sparse matrix; or a table, whose
            columns are selected by their names (see :meth:`Graph.from_table`). None on a rank without a part.
        comm: communicator of the ranks.

    Raises:
        UsageError: anything else, or different kinds on the ranks.
    """
    if isinstance(value, Graph):
        return value
    kinds = {kind for kind in comm.allgather_json(_detect_kind(value)) if kind}
    if len(kinds) > 1:
        raise UsageError(
            f"graph is {' and '.join(sorted(kinds))} on the ranks; pass parts of one kind, or all on one rank"
        )
    kind = next(iter(kinds), "no graph")
    if kind == "name":
        return Graph.load(graph_spec(value), comm=comm)
    if kind == "networkx":
        return Graph.from_networkx(value, comm=comm)
    if kind == "matrix":
        return Graph.from_scipy(value, comm=comm)
    if kind == "table":
        if hasattr(value, "to_list") or (hasattr(value, "to_pylist") and not hasattr(value, "column_names")):
            raise refused("graph", value, "", "a table with the columns source and target; this is one column")
        return Graph.from_table(value, comm=comm)
    if isinstance(value, (list, tuple, np.ndarray)):
        raise UsageError(
            f"graph={value!r:.60} is not a graph; make one by Graph.from_edges(sources, targets, weights), or, of an "
            "array of edges of shape (m, 2), by Graph.from_edges(*array.T)"
        )
    raise UsageError(
        f"graph={value!r:.60} is not a graph; give a file, a generator NAME:SIZE, or a dgraph.Graph, a data frame, an "
        "Arrow table, a NetworkX graph or a sparse matrix"
    )


def both_ways(graph: Graph) -> Graph:
    """Return a directed graph with every arc and its reverse: an edge in both directions is there twice; collective.

    Parallel arcs of one direction count once.
    """
    block = symmetrised(simplified(graph.block, graph.comm, parallel=True), graph.comm, keep_parallel=True)
    return Graph(block, graph.comm).on(graph.policy, graph.device)


def name_of_input(value: Any) -> str:
    """Return the name of a graph's value in the report: the file or generator, or the type."""
    return os.fsdecode(value) if isinstance(value, (str, os.PathLike)) else type(value).__name__


def _detect_kind(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (str, os.PathLike)):
        return "name"
    kinds = {"networkx": is_networkx, "matrix": is_matrix, "table": is_table}
    return next((kind for kind, fits in kinds.items() if fits(value)), "no graph")
