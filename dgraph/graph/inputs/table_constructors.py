"""Graphs of tables and NetworkX graphs: class methods of ``Graph``, and what all of its ``from_`` methods end with."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from dgraph.comm import Comm, collective, communicator
from dgraph.errors import UsageError, shown
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.attribute_columns import type_notes
from dgraph.graph.build.clean import assemble
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.build.rows_from_file import check_mirrored
from dgraph.graph.devices import Device
from dgraph.graph.formats.column_names import BY_NAME
from dgraph.graph.inputs.attribute_values import kept_columns
from dgraph.graph.inputs.edge_arrays import NAMES, edges_of
from dgraph.graph.inputs.edge_tables import SelectedColumns, table_columns
from dgraph.graph.inputs.networkx_graphs import list_graph
from dgraph.graph.inputs.weight_values import shared_notes
from dgraph.graph.kept_rules import keep_note, kept_rules
from dgraph.graph.load_options import LoadOptions, options_of

MERGING = ("keep_loops", "keep_parallel", "merge")
"""Options of a load that every constructor takes."""
KEEPING = (*MERGING, "keep")
"""Options of a load that the constructors of tables and of NetworkX graphs take."""
TABLE = ("source", "target", "weight", "n", "vertices")
"""Parameters of the constructors of tables."""


class TableConstructors:
    """Class methods of :class:`~dgraph.Graph` that make graphs of tables and of NetworkX graphs. All are collective."""

    @classmethod
    def _handle(cls, block: EdgeBlock, comm: Comm, policy: str, device: Device) -> Self:
        return cls(block, comm).on(policy, device)  # type: ignore[call-arg, attr-defined]

    @classmethod
    def _of_listed(cls, raw: RawEdges, comm: Comm, options: LoadOptions, policy: str, device: Device) -> Self:
        """Build the graph on a GPU, or on the host, as where attributes are kept; collective.

        Inputs that claim to list both arcs of every edge are checked.
        """
        if raw.attributes:
            raw.facts.notes.append(keep_note({name: column.rule for name, column in raw.attributes.items()}))
        else:
            graph, _ = cls.builder_of_listed(lambda: raw, raw.src.size, comm, policy, device, options)  # type: ignore[attr-defined]
            if graph is not None:
                return graph.on(policy, device)
        mirrored, name = raw.mirrored, raw.facts.name
        block = assemble(raw, comm, options)
        if mirrored:
            check_mirrored(block, comm, name)
        return cls._handle(block, comm, policy, device)

    @classmethod
    @collective
    def from_pandas(
        cls,
        df,
        source: Hashable = "source",
        target: Hashable = "target",
        weight: Hashable = BY_NAME,
        *,
        directed: bool = True,
        policy: str = "auto",
        device: Device = "auto",
        comm=None,
        **options: Any,
    ) -> Self:
        """Make the graph of a table with one edge a row; its vertices are the ids or names that occur.

        :meth:`from_pandas`, :meth:`from_polars` and :meth:`from_arrow` take the same tables: data frames, and anything
        with ``__arrow_c_stream__`` or ``__arrow_c_array__``, such as pyarrow's tables and DuckDB's relations. All but
        numbers of pandas and Polars needs pyarrow (``pip install 'dgraph-analytics[tables]'``).

        Args:
            df: the table; None on a rank without rows.
            source: label of the column of sources; an integer that is no label is its position from 0.
            target: as ``source``.
            weight: as ``source``; by default the column named weight, in any letter case, if there is one; None: every
                edge weighs 1.
            directed: as of :meth:`from_edges`.
            policy: as of :meth:`load`.
            device: as of :meth:`load`.
            comm: as of :meth:`load`.
            options: ``keep_loops``, ``keep_parallel``, ``merge``, ``vertices`` and ``n`` of :meth:`from_edges`.
                ``keep`` names columns that become attributes of the edges: ``["time", "amount:sum"]``, or a dict of
                name and rule. Merged parallel edges have the "first" (default), "min", "max" or "sum" of theirs. Values
                are numbers, booleans, times (those with a zone become UTC) or text; a missing one is NaN, which makes
                integers float64, NaT or None.

        Raises:
            UsageError: no such column, or one of another type.
            DataError: a value that is missing or wrong; the text names column and row.
        """
        return cls._of_table(df, SelectedColumns(source, target, weight), directed, policy, device, comm, options)

    @classmethod
    @collective
    def from_polars(
        cls,
        df,
        source: Hashable = "source",
        target: Hashable = "target",
        weight: Hashable = BY_NAME,
        *,
        directed: bool = True,
        policy: str = "auto",
        device: Device = "auto",
        comm=None,
        **options: Any,
    ) -> Self:
        """Make the graph of a Polars data frame or lazy frame: see :meth:`from_pandas`."""
        return cls._of_table(df, SelectedColumns(source, target, weight), directed, policy, device, comm, options)

    @classmethod
    @collective
    def from_arrow(
        cls,
        table,
        source: Hashable = "source",
        target: Hashable = "target",
        weight: Hashable = BY_NAME,
        *,
        directed: bool = True,
        policy: str = "auto",
        device: Device = "auto",
        comm=None,
        **options: Any,
    ) -> Self:
        """Make the graph of a table with Arrow's C interface, read batch by batch: see :meth:`from_pandas`."""
        return cls._of_table(table, SelectedColumns(source, target, weight), directed, policy, device, comm, options)

    @classmethod
    @collective
    def from_table(
        cls, table, *, directed: bool = True, policy: str = "auto", device: Device = "auto", comm=None, **options: Any
    ) -> Self:
        """Make the graph of a table whose columns are selected by name: source and target, src and dst, and so on.

        Without such names the first two of its two or three columns are source and target. The weight is the column
        named weight, in any letter case. See :meth:`from_pandas`.
        """
        return cls._of_table(table, None, directed, policy, device, comm, options)

    @classmethod
    def _of_table(
        cls, table, columns: SelectedColumns | None, directed: bool, policy: str, device: Device, comm, keywords: dict
    ) -> Self:
        """Make the graph of a table; ``columns`` None: selected by name (``formats/column_names.py``)."""
        comm = communicator(comm)
        n, vertices = keywords.pop("n", None), keywords.pop("vertices", None)
        options = replace(options_of(keywords, KEEPING, TABLE), sparse_ids=n is None)
        rules = kept_rules(options.keep)
        with comm.together():
            edges = table_columns(table, columns, tuple(rules))
        names = (*edges.titles, NAMES[3])
        raw = edges_of(
            edges.src, edges.dst, edges.weights, vertices,
            n=n, directed=directed, sparse_ids=n is None, comm=comm, names=names,
        )  # fmt: skip
        raw.attributes = kept_columns(edges.kept, rules, raw.src.size, comm)
        raw.facts.name = "table"
        chosen = f"columns {', '.join(edges.names[: 3 if edges.weights is not None else 2])}"
        own = [[chosen, *edges.notes, *type_notes(edges.kept)], list(edges.warnings)]
        notes, warnings = next(filter(None, comm.allgather_json(None if table is None else own)), own)
        raw.facts.notes, raw.facts.warnings = raw.facts.notes + notes, raw.facts.warnings + warnings
        return cls._of_listed(raw, comm, options, policy, device)

    @classmethod
    @collective
    def from_networkx(
        cls,
        graph,
        weight: str | None = "weight",
        *,
        policy: str = "auto",
        device: Device = "auto",
        comm=None,
        **options: Any,
    ) -> Self:
        """Make the graph of a NetworkX graph, with its direction, its nodes, its loops and its parallel edges.

        Args:
            graph: a Graph, DiGraph, MultiGraph or MultiDiGraph whose nodes are all integers from 0 or all strings; None
                on a rank without a part.
            weight: edge attribute with the weight; an edge without it weighs 1, and so do all if it is None.
            policy: as of :meth:`load`.
            device: as of :meth:`load`.
            comm: as of :meth:`load`.
            options: ``keep_loops``, ``keep_parallel`` and ``merge`` of :meth:`from_edges`; loops and parallel edges are
                kept by default, parallel ones unless ``merge`` is given; ``keep`` of :meth:`from_pandas`: edge
                attributes.

        Raises:
            UsageError: nodes of other types, or weights that are not numbers.
        """
        comm = communicator(comm)
        rules = kept_rules(options_of(options, KEEPING, ("weight",)).keep)
        options.pop("keep", None)
        keywords = {"keep_loops": True, "keep_parallel": "merge" not in options} | options
        with comm.together():
            try:
                hash(weight)
            except TypeError:
                raise UsageError(f"weight = {shown(weight)} is no name of an attribute; give one, or None") from None
            listed = None if graph is None else list_graph(graph, weight, tuple(rules))
        directed = _direction(listed, comm)
        keywords["keep_parallel"] = keywords["keep_parallel"] and comm.total(listed is not None and listed.parallel) > 0
        src, dst, weights, vertices = (None,) * 4 if listed is None else listed[:4]
        nodes = vertices if comm.size == 1 and isinstance(vertices, np.ndarray) else np.empty(0)
        dense = bool(nodes.size) and int(nodes.min()) == 0 and int(nodes.max()) == nodes.size - 1
        raw = edges_of(
            src, dst, weights, vertices, n=len(graph) if dense else None, directed=directed, sparse_ids=not dense,
            comm=comm, names=("source", "target", "weight", "node"), mirrored=not directed,
        )  # fmt: skip
        raw.attributes = kept_columns({} if listed is None else listed.kept, rules, raw.src.size, comm)
        raw.facts.name = "networkx"
        raw.facts.notes += shared_notes("" if listed is None else listed.note, comm)
        if weight not in (None, "weight") and not comm.total(int(weights is not None)):
            raw.facts.warnings.append(f"no edge has the attribute {weight!r}: every edge weighs 1")
        return cls._of_listed(raw, comm, LoadOptions(sparse_ids=not dense, **keywords), policy, device)


def _direction(listed: Any, comm: Comm) -> bool:
    """Return True if the ranks' NetworkX graphs are directed; collective."""
    every = {flag for flag in comm.allgather_json(None if listed is None else listed.directed) if flag is not None}
    if len(every) != 1:
        cause = "some ranks pass directed graphs, others undirected ones" if every else "no rank passes a graph"
        raise UsageError(f"from_networkx: {cause}; pass parts of one graph, or all of it on one rank")
    return every.pop()
