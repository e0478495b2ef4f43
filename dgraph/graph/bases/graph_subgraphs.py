"""Subgraphs of a graph, chosen by vertex, by edge, by distance or by peeling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dgraph._support.arguments import flag, integer
from dgraph.comm import collective
from dgraph.errors import UsageError, unknown
from dgraph.graph.bases.graph_values import OUT_DEGREE, VERTEX, GraphValues, solved
from dgraph.graph.build.rows_from_file import is_mirrored
from dgraph.graph.kept_columns import gids_of, read_column, vertex_array
from dgraph.graph.predicate import Predicate, chosen, chosen_arcs, columns_read, rows_with
from dgraph.graph.subgraph import rows_between, rows_of, subgraph, within


class GraphSubgraphs(GraphValues):
    """Subgraphs of a :class:`~dgraph.Graph`."""

    @collective
    def filter_vertices(self, keep: Predicate | str | Any) -> Self:
        """Return the graph of some vertices and the edges between them; collective.

        Args:
            keep: a function of the vertices' columns that returns one bool a vertex, such as ``lambda v:
                v.core_number >= 3``; the columns of :attr:`columns` are there, and ``vertex`` (id or name) and
                ``out_degree``. It must depend on them alone. Or the name of a bool column, or bool values as of
                :meth:`with_columns`.

        Returns:
            A graph on the same ranks, with the original ids or names, and the columns. Loops and parallel edges stay.

        Raises:
            UsageError: no vertex stays, or not one bool a vertex.
        """
        block = self.block
        if callable(keep):
            mask = self._chosen_vertices(keep)
        elif isinstance(keep, str):
            if keep not in self._columns:
                raise unknown("column to keep by (with_columns adds one)", keep, self._columns)
            mask = self._columns.stored[keep]
        else:
            mask = read_column("keep", keep, block, self.comm)
        if mask.dtype != bool:
            raise UsageError(f"keep: the values that choose vertices are {mask.dtype}; give bool, such as a comparison")
        return self._subgraph(np.flatnonzero(mask), None, "chosen by vertex")

    @collective
    def filter_edges(self, keep: Predicate) -> Self:
        """Return the graph of all vertices and some edges; collective.

        Args:
            keep: a function of edges that returns one bool an edge, such as ``lambda e: e.weight < 10``. It receives
                pieces of up to 262,144 arcs with ``source`` and ``target`` (ids, or names as str), ``weight`` (1 if the
                graph has no weights) and :attr:`edge_attributes`, and must depend on these values alone. The ``source``
                of an undirected edge is the smaller id. A window of time is ``lambda e: (e.time >= low) & (e.time <
                high)`` with ``np.datetime64`` or text as bounds; ``e.time == "2024-03"`` is a month. Text is compared
                by ``==`` and ``np.isin``.

        Parallel edges that the load merged are one edge with one value of an attribute; ``facts.warnings`` of the
        result says so if ``keep`` reads one. With ``keep_parallel=True`` each has its own.

        Raises:
            UsageError: not one bool an edge, or another one for each of the two arcs of an undirected edge.
        """
        block = self.block
        mask, read = chosen_arcs(block, keep, self.comm)
        chosen = self._subgraph(np.arange(block.rows), mask, "chosen by edge")
        facts = block.facts
        if facts.duplicates and not facts.duplicates_kept and (names := [n for n in read if n in block.attributes]):
            warning = (
                f"{facts.duplicates:,} parallel edges were merged before the filter read {', '.join(names)}; "
                "load with keep_parallel to filter each"
            )
            chosen.block.facts.warnings = [*facts.warnings, warning]
        return chosen

    @collective
    def induced(self, vertices: Sequence[int] | Sequence[str] | np.ndarray) -> Self:
        """Return the graph of the given vertices and the edges between them; collective.

        Args:
            vertices: original ids or names, on any ranks; each may occur more than once.

        Raises:
            UsageError: a vertex that the graph does not have, or none.
        """
        with self.comm.together():
            array = vertex_array("vertices", vertices)
        block = self.block
        return self._subgraph(rows_of(block, gids_of("vertices", array, block, self.comm), self.comm), None, "induced")

    @collective
    def ego(self, center: int | str | Sequence, radius: int = 1, undirected: bool = False) -> Self:
        """Return the graph of the vertices within some edges of a vertex, and all edges between them; collective.

        Args:
            center: the vertex, by original id or name, or several.
            radius: most edges on the way from ``center``; weights do not count.
            undirected: True follows the edges of a directed graph both ways.

        Raises:
            UsageError: a vertex that the graph does not have, or a negative radius.
        """
        with self.comm.together():
            radius, undirected = integer("radius", radius, 0), flag("undirected", undirected)
            centers = vertex_array("center", center)
        block = self.block
        searched = self.undirected().block if undirected else block  # type: ignore[attr-defined]
        rows = within(searched, gids_of("center", centers, block, self.comm), radius, self.comm)
        if searched is not block:
            rows = rows_of(block, rows + searched.first, self.comm)
        return self._subgraph(rows, None, f"within {radius} edges")

    @collective
    def k_core(self, k: int) -> Self:
        """Return the graph of the vertices of the k-core and all edges between them; collective.

        Edges of a directed graph stay as they are; a pair of them in both directions counts once (see ``kcore``).

        Args:
            k: least number of neighbours in the core.

        Raises:
            UsageError: the k-core is empty.
        """
        members = solved(self, "kcore", k=k)
        return self._left(read_column("in_core", members, self.block, self.comm) > 0, None, k, "core")

    @collective
    def k_truss(self, k: int) -> Self:
        """Return the graph of the edges of the k-truss and their vertices; collective.

        Edges of a directed graph stay as they are; triangles are those without directions (see ``ktruss``). Loops are
        in no truss; parallel edges that the graph keeps stay.

        Args:
            k: each edge lies in k - 2 triangles of the truss, at least 2.

        Raises:
            UsageError: the k-truss is empty, or k is below 2.
        """
        edges, block, comm = solved(self, "ktruss", k=k).edges, self.block, self.comm
        source, target = (block.ids.to_gid(ids, comm) for ids in (edges.source, edges.target))
        arcs = rows_between(block, source, target, comm)
        vertices = np.zeros(block.rows, bool)
        vertices[(block.sources()[arcs] - block.first).astype(np.int64)] = True
        vertices[rows_of(block, block.targets[arcs].astype(np.int64), comm)] = True
        return self._left(vertices, arcs, k, "truss")

    def _chosen_vertices(self, predicate: Predicate) -> np.ndarray:
        """Return the rows that a predicate chooses: bool (rows,); collective."""
        block, names = self.block, self.block.ids.names
        kinds = self._columns.kinds() | {
            VERTEX: np.dtype(np.int64 if names is None else object), OUT_DEGREE: np.dtype(np.int64)
        }  # fmt: skip
        read = columns_read(predicate, kinds, "vertices", self.comm)
        columns = {name: self._columns[name] for name in read if name in self._columns}
        if OUT_DEGREE in read:
            columns[OUT_DEGREE] = np.diff(block.offsets)
        if VERTEX in read:
            columns[VERTEX] = self.vertices()
        with self.comm.together():
            return chosen(predicate, rows_with(columns, block.rows, kinds, "vertices"), "vertices")

    def _left(self, vertices: np.ndarray, arcs: np.ndarray | None, k: int, kind: str) -> Self:
        """Return the graph of what a peeling left, if it left something; collective."""
        if not self.comm.total(int(np.count_nonzero(vertices))):
            raise UsageError(f"k = {k}: the {k}-{kind} is empty; give less")
        return self._subgraph(np.flatnonzero(vertices), arcs, f"{k}-{kind}")

    def _subgraph(self, rows: np.ndarray, arcs: np.ndarray | None, note: str) -> Self:
        block, comm = self.block, self.comm
        induced, gids = subgraph(block, rows, arcs, f"{note}: of {block.n:,} vertices and {block.m:,} edges", comm)
        if arcs is not None and not block.directed and not is_mirrored(induced, comm):
            raise UsageError(
                "the predicate answered differently for the two arcs of an undirected edge; it must depend on source, "
                "target and weight alone, not on its call or on where an edge stands in the arrays"
            )
        other = self._made(induced)
        other._columns = self._columns.moved(rows, gids, induced, comm)
        return other
