"""Columns of values, subgraphs, and the table of edges of a graph."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from dgraph._support.arguments import is_integer, root_rank
from dgraph._support.arguments import path as path_of
from dgraph.comm import collective
from dgraph.errors import UsageError
from dgraph.graph.bases.graph_identity import GraphIdentity
from dgraph.graph.block import EdgeBlock, GraphFacts
from dgraph.graph.build.array_input import host_array
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
from dgraph.graph.kept_columns import VertexColumns, gids_if_there, placed, read_column, vertex_array

VERTEX, OUT_DEGREE = "vertex", "out_degree"
"""Columns that the vertices of every graph have."""


class GraphValues(GraphIdentity):
    """Columns, changes and table of edges of a :class:`~dgraph.Graph`."""

    policy: str
    version: Any
    _undirected: Any
    _columns = VertexColumns({})

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
        return solved(self, "degrees")

    @property
    def columns(self) -> VertexColumns:
        """Columns of :meth:`with_columns`: name → this rank's array, read-only, in the order of :meth:`vertices`.

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
    def has(self, vertices: Any) -> np.ndarray:
        """Return True for the vertices that the graph has, bool, shape (k,); collective.

        ``people[graph.has(people.name)]`` are the rows of a table that :meth:`with_vertex_attributes` takes.

        Args:
            vertices: original ids or names, any share a rank: a list, an array, or a column of a data frame.

        Raises:
            UsageError: integers for a graph whose vertices have names, or names for one of integers.
        """
        with self.comm.together():
            array = vertex_array(
                "vertices", host_array(vertices, "vertices") if hasattr(vertices, "dtype") else vertices
            )
        return gids_if_there("vertices", array, self.block, self.comm) >= 0

    def __contains__(self, vertex: int | str) -> bool:
        word = isinstance(vertex, str)
        if not (word or is_integer(vertex)) or word != (self.block.ids.names is not None):
            return False
        return bool(self.has([vertex])[0])

    def __iter__(self) -> Iterator[int | str]:
        if self.comm.size > 1:
            raise UsageError("a rank of several has some of the vertices; graph.vertices() returns those of its rows")
        return iter(self.vertices().tolist())

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
        weights, and :attr:`edge_attributes`. A graph that was made with ``keep_parallel`` becomes a MultiGraph or
        MultiDiGraph, also where it has no parallel edges.

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

        Vertices that have no value there, or a missing one of a ``Result`` (an unreached vertex's distance), have NaN,
        which makes integers float64, or None for text. A comparison with a missing value is False, ``!=`` True.

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
    def plot(
        self, kind: str | None = None, *, color: str | None = None, ax: Any = None,
        path: str | os.PathLike | None = None, root: int = 0,
    ) -> Any:  # fmt: skip
        """Draw a small graph, or the degrees of a large one, with matplotlib; from what the ranks gather.

        ``graph.with_columns(community=dgraph.leiden(graph)).ego(3).plot(color="community")`` draws the neighbourhood
        of a vertex in the colours of communities.

        Args:
            kind: "degrees" (how many vertices have each out-degree), or "network" (the graph, of at most 400 vertices,
                laid out by NetworkX); None: "network" with a colour or for at most 200 vertices, else "degrees".
            color: column of :meth:`with_columns` whose values colour the vertices.
            ax: matplotlib axes to draw on; None: those of a new figure.
            path: file to write the picture to, such as "graph.svg"; its suffix names the format. None: none.
            root: the rank that draws.

        Returns:
            The axes; None on ranks other than ``root``.

        Raises:
            UsageError: matplotlib or NetworkX is not installed, an unknown kind or column, too large a graph, or a
                suffix of no format.
            OutputError: the system refused to write the file.
        """
        file = None if path is None else path_of("path", path)
        return plotted(self, kind, color, ax, file, root_rank(root, self.comm.size))


def solved(graph: GraphValues, algorithm: str, **parameters: Any) -> Any:
    """Run an algorithm by ``dgraph.run``, which lies above graphs and imports the pipeline at first use."""
    return sys.modules["dgraph"].run(algorithm, graph, **parameters)
