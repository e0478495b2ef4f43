"""Columns of values, subgraphs, and the table of edges of a graph."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np

from dgraph._support.arguments import flag, integer, root_rank
from dgraph.comm import Comm, collective
from dgraph.errors import UsageError, unknown
from dgraph.graph.block import EdgeBlock, GraphFacts
from dgraph.graph.build.rows_from_file import is_mirrored
from dgraph.graph.change_record import shifted
from dgraph.graph.changes.change import change
from dgraph.graph.changes.edge_batch import fitted_weights, read_batch
from dgraph.graph.changes.numbered_batch import numbered
from dgraph.graph.changes.undirected_change import undirected_change
from dgraph.graph.exports.edge_table import arrow_edges, edge_columns, pandas_edges
from dgraph.graph.exports.graph_picture import plotted
from dgraph.graph.exports.vertex_table import VertexTable
from dgraph.graph.exports.whole_graph import WholeGraph, gathered, igraph_graph, networkx_graph, scipy_matrix
from dgraph.graph.inputs.edge_tables import vertex_table
from dgraph.graph.kept_columns import VertexColumns, gids_of, placed, read_column, vertex_array
from dgraph.graph.predicate import Predicate, chosen, chosen_arcs, columns_read, rows_with
from dgraph.graph.subgraph import rows_between, rows_of, subgraph, within

VERTEX, OUT_DEGREE = "vertex", "out_degree"
"""Columns that the vertices of every graph have."""


class GraphValues:
    """Columns, subgraphs and table of edges of a :class:`~dgraph.Graph`."""

    comm: Comm
    policy: str
    version: Any
    partitions: dict[str, Any]
    _known: EdgeBlock | GraphFacts
    _rows: EdgeBlock | None
    _undirected: Any
    _arc_sum: int | None
    _columns = VertexColumns({})

    @property
    def block(self) -> EdgeBlock:
        """This rank's rows."""
        raise NotImplementedError

    def _made(self, block: EdgeBlock) -> Self:
        """Return a graph of other rows, with this handle's policy and device."""
        raise NotImplementedError

    def on_host(self) -> Any:
        """Return a handle of this graph whose partition is in the host's memory; collective."""
        return self

    def _check_open(self) -> None:
        """Raise an error if the graph was closed."""

    def drop_rows(self) -> None:
        """Drop this rank's rows by gid where a partition has copies of them; what reads rows assembles them again.

        On one rank the partition uses the arrays of the rows, and nothing is dropped; nor where columns are kept, since
        assembled rows may lie on other ranks, nor attributes of edges, which partitions do not have.
        """
        block = self._known
        kept = self._columns or self.edge_attributes
        if isinstance(block, EdgeBlock) and self.comm.size > 1 and self.partitions and not kept:
            sizes = block.n, block.m, block.arcs, block.directed
            self._known = GraphFacts(*sizes, block.weight_type, block.ids, block.facts)
            self._rows = None

    @collective
    def hub(self) -> int | str:
        """Return the vertex with most out-edges, by original id or name; the one of smallest id among equals."""
        degrees = np.diff(self.block.offsets)
        row = int(np.argmax(degrees)) if degrees.size else 0
        mine = np.array([degrees[row] if degrees.size else -1, self.block.first + row], np.int64)
        hubs = self.comm.allgather(mine)
        ids = self.block.ids
        number = ids.to_original(hubs[np.argmax(hubs[:, 0]), 1:], self.comm)
        return int(number[0]) if ids.names is None else ids.names.of(number, self.comm)[0]

    def degrees(self) -> Any:
        """Return the degrees of all vertices: the result of ``dgraph.degrees`` on this graph; collective."""
        return _solved(self, "degrees")

    @property
    def columns(self) -> VertexColumns:
        """Columns of :meth:`with_columns`: name → this rank's array, in the order of :meth:`vertices`.

        Text is str (dtype object), None where there is no value.
        """
        self._check_open()
        return self._columns

    @property
    def edge_attributes(self) -> dict[str, np.dtype]:
        """Columns that are kept with the edges (``keep=`` of the load): name → dtype, object for text."""
        self._check_open()
        return {name: column.kind for name, column in getattr(self._known, "attributes", {}).items()}

    @collective
    def vertices(self) -> np.ndarray:
        """Return the vertices of this rank's rows: original ids, int64, or names, str (dtype object); collective."""
        block, names = self.block, self.block.ids.names
        numbers = block.ids.to_original(np.arange(block.first, block.first + block.rows), self.comm)
        return numbers if names is None else names.of(numbers, self.comm)

    @collective
    def to_arrow(self, root: int | None = 0) -> Any:
        """Return the edges as a ``pyarrow.Table``: source, target, weight if they have weights, attributes; collective.

        An undirected edge is one row, with the smaller id as source. Vertices without an edge are in :meth:`vertices`.

        Args:
            root: the rank that receives all rows; None: each rank gets its own.

        Returns:
            The table; None on ranks other than ``root``.

        Raises:
            UsageError: pyarrow is not installed.
            DataError: a name is not UTF-8.
        """
        return self._edges_as(arrow_edges, root)

    @collective
    def to_pandas(self, root: int | None = 0) -> Any:
        """Return the table of :meth:`to_arrow` as a ``pandas.DataFrame``; collective."""
        return self._edges_as(pandas_edges, root)

    @collective
    def to_networkx(self, root: int = 0) -> Any:
        """Return the graph as a ``networkx`` Graph or DiGraph on ``root``, None elsewhere; collective.

        Nodes are original ids or names, with :attr:`columns` as attributes; edges have ``weight`` where the graph has
        weights, and :attr:`edge_attributes`. A graph that keeps parallel edges becomes a MultiGraph or MultiDiGraph.

        Raises:
            UsageError: NetworkX is not installed.
        """
        return self._whole_as(networkx_graph, root)

    @collective
    def to_scipy(self, root: int = 0) -> Any:
        """Return the adjacency matrix as a ``scipy.sparse.csr_array`` on ``root``, None elsewhere; collective.

        Row and column i are of the i-th vertex of :meth:`vertices`, rank after rank: the i-th smallest id, unless the
        graph was loaded with ``order="degree"``. Entries are weights, or 1 (int64). An undirected edge is two entries;
        parallel edges are an entry each.

        Raises:
            UsageError: SciPy is not installed.
        """
        return self._whole_as(scipy_matrix, root)

    @collective
    def to_igraph(self, root: int = 0) -> Any:
        """Return the graph as an ``igraph.Graph`` on ``root``, None elsewhere; collective.

        Vertices are in the order of :meth:`to_scipy`; ``vs["name"]`` has their ids or names, other attributes are
        :attr:`columns`. ``es["weight"]`` has the weights, where the graph has some.

        Raises:
            UsageError: igraph is not installed.
        """
        return self._whole_as(igraph_graph, root)

    def _whole_as(self, make: Callable[[WholeGraph], Any], root: int) -> Any:
        root, theirs = root_rank(root, self.comm.size), None
        whole = gathered(self.block, self._columns, self.comm, root)
        with self.comm.together():
            if root == self.comm.rank:
                theirs = make(whole)
        return theirs

    def _edges_as(self, make: Callable[[dict[str, np.ndarray]], Any], root: int | None) -> Any:
        root = None if root is None else root_rank(root, self.comm.size, ", or None")
        columns, table = edge_columns(self.block, self.comm, root), None
        with self.comm.together():
            if root in (None, self.comm.rank):
                table = make(columns)
        return table

    @collective
    def with_columns(self, **columns: Any) -> Self:
        """Return a handle of the same edges with more columns; subgraphs keep them for their vertices; collective.

        Args:
            columns: name → values of the vertices, numbers, bool or text: a ``Result`` (its column of that name, else
                its first); an array by ascending id, of which each rank passes a share, rank 0 the first (rank 0 may
                pass all); a pair (vertices, values) in any order, any share a rank; a dict vertex → value; or a pandas
                Series, or the column of that name of a DataFrame, with the vertices as its index.

        Vertices that have no value there have NaN, which makes integers float64, or None for text.

        Raises:
            UsageError: too few or too many values, values of another type, a vertex that the graph does not have.
        """
        for name in columns:
            if name in (VERTEX, OUT_DEGREE):
                raise UsageError(f"a column cannot be called {name}, which every graph has; give it another name")
        block, stored = self.block, dict(self._columns.stored)
        for name, values in columns.items():
            stored[name] = read_column(name, values, block, self.comm)
        other = copy.copy(self)
        other._columns = VertexColumns(stored)
        return other

    @collective
    def with_vertex_attributes(
        self, table: Any, vertex: Hashable = "vertex", keep: Sequence[str] | None = None
    ) -> Self:
        """Return a handle with columns of a table of vertices; results join them (``attributes=True``); collective.

        Args:
            table: a data frame or Arrow table with one row a vertex; on several ranks each passes a share, or rank 0
                all and the others None.
            vertex: label of the column of ids or names.
            keep: labels of the columns to take; None: all others.

        A vertex without a row has NaN, NaT or None, as in :meth:`with_columns`.

        Raises:
            UsageError: no such column, a vertex that the graph does not have, or that has two rows.
        """
        with self.comm.together():
            columns = vertex_table(table, vertex, keep)
        names = list(dict.fromkeys(name for part in self.comm.allgather_json(list(columns)) for name in part))
        none = (np.zeros(0, np.int64 if self.block.ids.names is None else object), np.zeros(0))
        return self.with_columns(**{name: columns.get(name, none) for name in names})

    def vertex_table(self) -> VertexTable:
        """Return :attr:`columns` for results to join."""
        return VertexTable(self)

    @collective
    def with_edges(self, add: Any = None, remove: Any = None, *, weights: Any = None) -> Self:
        """Return the graph with edges added and removed; this one is not modified; collective.

        The partition is kept and its rows are copied once; ``remove`` goes first, so an edge in both gets the new
        weight. An added edge that is there merges with it by the rule of the load (default: the smaller weight), or is
        one more if parallel edges are kept. A self-loop is dropped unless they are kept.

        Ends of added edges that the graph lacks become vertices. Where ids are 0 .. n-1, so do the ids between; else
        the vertex gets its place among the others by id or name. Columns of :attr:`columns` lack a value for it.

        On several ranks each passes a share, or rank 0 all and the others None.

        Args:
            add: vertices, shape (k, 2): original ids or names; or a table of :meth:`from_table`, with its weights.
            remove: as ``add``; all parallel edges between these ends. Its weights are not read.
            weights: of the edges to add, shape (k,), if the graph has weights.

        Raises:
            UsageError: a graph that keeps attributes of edges; an edge to remove that the graph does not have; weights
                for a graph without, or none for one with weights; vertices of another kind.
            DataError: a missing value, a weight that the dtype of the graph's cannot hold, more than 16 ids
                that no edge has between all others and those of an added edge.
        """
        comm, source = self.comm, self.on_host()
        if self.edge_attributes:
            raise UsageError(
                f"with_edges: the edges keep {', '.join(self.edge_attributes)}, and changes have no values for these; "
                "change the table and load it again, or load the graph without keep"
            )
        graph, ids, facts = source._known, source.ids, source.facts
        named = ids.names is not None
        batch = read_batch("add", add, weights, named, comm)
        gone = read_batch("remove", remove, None, named, comm)
        with comm.together():
            fitted = fitted_weights(batch, graph.weight_type, facts.merge == "count")
        what = numbered(ids, graph.n, facts.name, batch, fitted, gone, comm)
        changed = change(graph, source.partition().local, what, comm)
        ends = what.ids.to_original(np.concatenate([what.add.src, what.add.dst]), comm)
        version = self.version.after(
            ends.reshape(2, -1).T, len(what.remove) > 0, changed.raised, what.below if named else None
        )  # fmt: skip
        hashed = self._arc_sum if ids.ascending and not what.shifts else None
        other = source._changed(changed, version, None if hashed is None else changed.arc_sum(hashed, comm))
        both = self._undirected.get("min")
        if both is not None and self.policy in both.partitions:
            both = both.on(self.policy)
            before = both._known, both.partitions[self.policy].local

            def make() -> Any:
                of_both = undirected_change(what, changed.local, comm)
                return both._changed(change(*before, of_both, comm, lenient=True), version, None)

            other._undirected_from = make
        if self._columns:
            gids = shifted(np.arange(self.block.first, self.block.first + self.block.rows), what.below)
            stored = self._columns.stored.items()
            other._columns = VertexColumns(
                {name: placed(name, gids, values, other.block, comm) for name, values in stored}
            )
        return other

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
                high)`` with ``np.datetime64`` bounds; text is compared by ``==`` and ``np.isin``.

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
        members = _solved(self, "kcore", k=k)
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
        edges, block, comm = _solved(self, "ktruss", k=k).edges, self.block, self.comm
        source, target = (block.ids.to_gid(ids, comm) for ids in (edges.source, edges.target))
        arcs = rows_between(block, source, target, comm)
        vertices = np.zeros(block.rows, bool)
        vertices[(block.sources()[arcs] - block.first).astype(np.int64)] = True
        vertices[rows_of(block, block.targets[arcs].astype(np.int64), comm)] = True
        return self._left(vertices, arcs, k, "truss")

    @collective
    def plot(self, kind: str | None = None, *, color: str | None = None, ax: Any = None, root: int = 0) -> Any:
        """Draw a small graph, or the degrees of a large one, with matplotlib; from what the ranks gather.

        ``graph.with_columns(community=dgraph.leiden(graph)).ego(3).plot(color="community")`` draws the neighbourhood
        of a vertex in the colours of communities.

        Args:
            kind: "degrees" (how many vertices have each out-degree), or "network" (the graph, of at most 400 vertices,
                laid out by NetworkX); None: "network" with a colour or for at most 200 vertices, else "degrees".
            color: column of :meth:`with_columns` whose values colour the vertices.
            ax: matplotlib axes to draw on; None: those of a new figure.
            root: the rank that draws.

        Returns:
            The axes; None on ranks other than ``root``.

        Raises:
            UsageError: matplotlib or NetworkX is not installed, an unknown kind or column, or too large a graph.
        """
        return plotted(self, kind, color, ax, root_rank(root, self.comm.size))

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


def _solved(graph: GraphValues, algorithm: str, **parameters: Any) -> Any:
    """Run an algorithm by ``dgraph.run``, which lies above graphs and imports the pipeline at first use."""
    return sys.modules["dgraph"].run(algorithm, graph, **parameters)
