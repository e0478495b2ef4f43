"""``Result``: the distributed answer of a run; each rank holds the rows of its own masters.

``columns.py`` has the lazy columns, ``result_tables.py`` the tables, ``paths.py`` the walk behind :meth:`Result.path`,
``files/`` the writers behind :meth:`Result.save`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dgraph._support.arguments import choice, flag, integer, root_rank
from dgraph._support.arguments import path as path_of
from dgraph._support.peer_names import descriptor_of, hint
from dgraph._support.threads import copied, shares
from dgraph.comm import Comm, collective
from dgraph.comm.base import Make
from dgraph.errors import FORMER_COLUMNS, UsageError
from dgraph.graph.build.attribute_columns import refuse_rounded
from dgraph.result import arrow_tables, notebook
from dgraph.result.columns import ROWS, UNREACHED, Columns, UnknownColumn, rows_at
from dgraph.result.edge_values import EdgeValues
from dgraph.result.files import save
from dgraph.result.files.file_rows import order_of_ranks
from dgraph.result.files.matrix_file import SUFFIXES
from dgraph.result.largest_rows import descending, largest_rows
from dgraph.result.matrix import DistanceMatrix
from dgraph.result.named_columns import NamedColumns, decoded, vertex_number
from dgraph.result.paths import followed, refuse_without_predecessors
from dgraph.result.result_picture import plotted
from dgraph.result.result_tables import ResultTables
from dgraph.result.walks import Walks

__all__ = ["UNREACHED", "Result"]

_reading = threading.RLock()
"""Lock held while a report is made."""

INFINITY = {"sssp": b"Infinity"}
"""LDBC Graphalytics' text for an unreached vertex, by algorithm; other algorithms write the number."""


@dataclass(frozen=True, eq=False, repr=False)
class Result(ResultTables):
    """Result of :func:`dgraph.run`, on every rank. Its methods are collective; reading columns is not.

    Attributes:
        algorithm: name of the algorithm.
        columns: arrays of one length, this rank's rows. ``vertex`` is first: original ids, int64, ascending. The others
            are named as in cuGraph: ``distance`` (``UNREACHED`` or infinity if there is no path), ``predecessor`` (-1
            if there is none), ``labels``, ``pagerank``, ``core_number``. They are copied from a GPU at first access. If
            vertices have names, columns of vertices are str (dtype object, as in pandas), ascending by their UTF-8
            bytes, and None if there is no predecessor; so are those of ``gather`` and ``top``.
        comm: communicator of the ranks.
        summary: figures of the whole answer, such as ``reached``, ``depth``, ``components``.
        converged: False if a limit ended the run before the algorithm's own end.
        limit: the limit that ended the run; None if it converged.
        rounds: rounds run.
        report: timings and choices, as ``dgraph/report/schema.json`` describes them; made when it is first read.
        named: the numeric columns, if vertices have names.
        attributes: the columns of the graph's vertices, a ``VertexTable``; None: it has none.
        threads: threads of this rank that copy and write its rows.
        version: the version of the graph that the run had, for ``previous=`` of a later run.
        nullable: columns whose missing values (``UNREACHED``, infinity, -1) are null in tables, .csv, .parquet, .arrow;
            or a dict of column → the value that is null, None for these.
        matrix: distances between all pairs, of ``apsp``; None for other algorithms.
        edges: a value for each edge, of ``edge_bc`` and ``ktruss``; None for other algorithms.
        walks: the walks, of ``random_walks``; None for other algorithms.
    """

    algorithm: str
    columns: Mapping[str, np.ndarray]
    comm: Comm
    summary: dict = field(default_factory=dict)
    converged: bool = True
    limit: str | None = None
    rounds: int = 0
    report: Any = field(default_factory=dict, repr=False)
    named: NamedColumns | None = field(default=None, repr=False)
    nullable: Collection[str] = ("distance", "predecessor")
    version: Any = field(default=None, repr=False)
    attributes: Any = field(default=None, repr=False)
    threads: int = field(default=1, repr=False)
    matrix: DistanceMatrix | None = field(default=None, repr=False)
    edges: EdgeValues | None = field(default=None, repr=False)
    walks: Walks | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if callable(self.report):
            object.__setattr__(self, "_report", self.report)
            del self.__dict__["report"]

    def __getattr__(self, name: str) -> Any:
        """Make the report, the only attribute that may be missing."""
        if name != "report" or "_report" not in self.__dict__:
            if (own := descriptor_of(self, name)) is not None:
                return own.__get__(self, type(self))
            column, there = FORMER_COLUMNS.get(name, name), self.__dict__.get("columns", ())
            mend = f"; read columns[{column!r}]" if column in there else hint(name, "result")
            mend = mend or f"; its columns are {', '.join(there)}"
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{mend}")
        with _reading:
            if "report" not in self.__dict__:
                object.__setattr__(self, "report", self.__dict__.pop("_report")())
        return self.__dict__["report"]

    __iter__ = None

    def __len__(self) -> int:
        return self.count_rows()

    def __bool__(self) -> bool:
        return True  # also without rows

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self.columns[name]
        except UnknownColumn as error:
            raise UnknownColumn(f"{error}; result.value(vertex) is that of a vertex") from None

    def __repr__(self) -> str:
        return notebook.text(self)

    def _repr_html_(self) -> str:
        return notebook.html(self)

    @collective
    def plot(
        self, kind: str | None = None, column: str | None = None, *, ax: Any = None,
        path: str | os.PathLike | None = None, root: int = 0,
    ) -> Any:  # fmt: skip
        """Draw a column or the rounds with matplotlib, from counts that the ranks gather.

        ``result.plot(path="sizes.svg")`` makes a file. On one rank with a service's result, the column is fetched.

        Args:
            kind: "values" (how many vertices have each value, or a histogram), "sizes" (of the classes of equal value,
                such as components and communities), "profile" (vertices of a value or more, such as the k-core
                profile), "rounds" (time and frontier of each recorded round), or "convergence" (residual of each
                round, which ``Options(record="residual")`` records); None: by the column.
            column: as of :meth:`top`.
            ax: matplotlib axes to draw on; None: those of a new figure.
            path: file to write the picture to; its suffix names the format. None: none.
            root: the rank that draws.

        Returns:
            The axes; None on ranks other than ``root``.

        Raises:
            UsageError: matplotlib is not installed, an unknown kind or column, no rounds or residuals were recorded, or
                a suffix of no format.
            OutputError: the system refused to write the file.
        """
        name, file = self._column(column), None if path is None else path_of("path", path)
        return plotted(self, self._numbers[name], kind, name, ax, root_rank(root, self.comm.size), file)

    def rounds_table(self) -> dict[str, np.ndarray]:
        """Return a row for each round that the report keeps, as columns; not collective.

        ``pandas.DataFrame(result.rounds_table())`` makes a table. Columns are the fields of ``rounds.kept`` in the
        report: ``round`` (from 1), ``direction``, ``frontier_vertices``, ``frontier_edges``, ``seconds``, and those of
        GPUs; a value that a round lacks is None (dtype object).
        """
        rows = self.report.get("rounds", {}).get("kept", [])
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: np.array([row.get(name) for row in rows]) for name in names}

    def device_column(self, name: str) -> Any:
        """Return one of this rank's columns in the memory of the device that computed it; not collective.

        After a run on a GPU this is a CuPy array, which has ``__dlpack__``, ``__dlpack_device__`` and
        ``__cuda_array_interface__``. It is not copied to the host; a column that has been read on the host before, such
        as ``vertex``, is copied to the GPU. After a run on a CPU it is the NumPy array of ``columns``. Rows are in the
        order of ``columns["vertex"]``; missing values are as in ``columns``.

        Raises:
            UsageError: there is no such column, or it holds names.
        """
        name = choice("name", name, self.columns, f"name of a column of {self.algorithm}")
        if self.named is not None and name in self.named.words:
            raise UsageError(f"column {name} holds names, which arrays of a device cannot hold; use to_arrow()")
        columns = self._numbers
        return columns.on_device(name) if isinstance(columns, Columns) else columns[name]

    @collective
    def path(self, target: int | str) -> list:
        """Return a shortest path of bfs or sssp, from the source to ``target``; equal on all ranks.

        After a search from several sources with ``min_only`` it begins at the nearest of them.

        Returns:
            Original ids, or names, of its vertices; ``[]`` if ``target`` is not reached.

        Raises:
            UsageError: no predecessors in the result; ``target`` is not a vertex; or a limit ended the run before the
                path was complete.
        """
        end = self._number("target", target)
        refuse_without_predecessors(self.algorithm, self.columns)
        path = followed(self._numbers, end, self.comm)
        if path is None:
            raise UsageError(f"target {target!r} is not a vertex of the graph; pass one of its ids")
        nearest = "source" in self.columns
        source = self.value(target, "source") if nearest else self.summary.get("source", path[0])
        names = self.named.names.of(np.array(path), self.comm).tolist() if self.named else path
        if names[0] == source:
            return names
        if len(path) > 1:
            raise UsageError(
                f"the run ended before the path from {source} to {target} was complete; allow more than {self.limit}"
            )
        return []

    @collective
    def value(self, vertex: int | str, column: str | None = None) -> Any:
        """Return the value of one vertex as a number, or as a name, on every rank.

        Args:
            vertex: its original id or name.
            column: as of :meth:`top`.

        Raises:
            UsageError: not a vertex or not a column.
        """
        name, number = self._column(column), self._number("vertex", vertex)
        ids = self._numbers["vertex"]
        row = int(np.searchsorted(ids, number))
        present = row < ids.size and ids[row] == number
        here = rows_at(self._numbers, name, np.arange(row, row + present))
        cells = np.concatenate(self.comm.allgatherv(here))
        if not cells.size:
            raise UsageError(f"vertex {vertex!r} is not a vertex of the graph; pass one of its ids")
        shown = decoded(self._with_names({name: cells}))[name]
        return shown[0] if shown.dtype == object else shown[0].item()

    def _number(self, argument: str, vertex: int | str) -> int:
        """Return the number of a vertex; collective."""
        return vertex_number(argument, vertex, None if self.named is None else self.named.names, self.comm)

    def first_rows(self, count: int) -> dict[str, np.ndarray]:
        """Return this rank's first rows, names as bytes; columns on a GPU stay there. Not collective."""
        words, rows = {} if self.named is None else self.named.words, np.arange(min(count, self.count_rows()))
        columns = self._numbers
        return {name: words[name][:count] if name in words else rows_at(columns, name, rows) for name in columns}

    def count_rows(self) -> int:
        """Return the number of this rank's rows; not collective."""
        return len(next(iter(self.named.words.values())) if self.named else self.columns["vertex"])

    @collective
    def gather(self, root: int = 0) -> dict[str, np.ndarray] | None:
        """Gather all rows by ascending vertex on ``root``; return None on the other ranks.

        ``root`` needs memory for the whole answer. The arrays are new, except that on one rank numbers of vertices are
        a read-only view of ``columns["vertex"]``.
        """
        root = root_rank(root, self.comm.size)
        rows = self._copied() if self.comm.size == 1 else self._gathered(root)
        return decoded(rows) if self.comm.rank == root else None

    def _copied(self) -> dict[str, np.ndarray]:
        """Return copies of this rank's columns, names as bytes; a column on a GPU stays there. Not collective."""
        columns, copies = self._numbers, {}
        for name in columns:
            if self.named is not None and name in self.named.words:
                copies[name] = self.named.words[name]  # decoded into new arrays
            elif name == "vertex":
                copies[name] = columns[name].view()
                copies[name].flags.writeable = False
            else:
                copy = columns.fetched(name) if isinstance(columns, Columns) else None
                copies[name] = copied(columns[name], self.threads) if copy is None else copy
        return copies

    def _gathered(self, root: int) -> dict[str, np.ndarray]:
        """Gather all rows on ``root``, names as bytes; no rows elsewhere; collective."""
        numbers, rank, threads = self._numbers["vertex"], self.comm.rank, self.threads
        counts, in_order, first = order_of_ranks(len(numbers), numbers, self.comm)
        ids = {}
        if first is not None and self.named is None:  # consecutive ids need not be sent
            ids["vertex"] = vertex = np.empty(counts.sum() * (rank == root), np.int64)
            shares(lambda part: _count(vertex[part], first + part.start), vertex.size, threads)
        columns = ids | {
            name: self.comm.gathered_rows(partial(self._rows_in, name), counts, root, threads)
            for name in self._numbers
            if name not in ids
        }
        order = slice(None) if in_order or rank != root else np.argsort(columns["vertex"], kind="stable")
        return {name: values[order] for name, values in columns.items()}

    def _rows_in(self, name: str, make: Make) -> np.ndarray:
        """Return this rank's rows of a column, names as bytes; a column on a GPU stays there. Not collective."""
        if self.named is not None and name in self.named.words:
            return self.named.words[name]
        columns = self._numbers
        rows = columns.fetched(name, make) if isinstance(columns, Columns) else None
        return columns[name] if rows is None else rows

    @collective
    def top(self, k: int, column: str | None = None, attributes: bool = False) -> dict[str, np.ndarray]:
        """Return the ``k`` rows of largest ``column`` on every rank, largest first; ties by smallest vertex.

        Rows without a value (unreached, infinite, not a number) are left out, so there may be fewer than ``k``. Values
        of an edge, of ``similarity`` and ``edge_bc``, have its ``target``.

        Args:
            k: rows.
            column: name of a column of numbers; None: the first.
            attributes: True joins the columns of the graph's vertices, missing text as None.

        Raises:
            UsageError: an unknown column; ``attributes`` as of :meth:`to_arrow`.
        """
        with self.comm.together():
            if flag("attributes", attributes):
                self._check_attributes(0)
        name, k = self._column(column), integer("k", k, 0)
        rows = largest_rows(self._numbers, name, k, arrow_tables.null_of(name, self.nullable))
        parts = {
            key: np.concatenate(self.comm.allgatherv(np.ascontiguousarray(rows_at(self._numbers, key, rows))))
            for key in ("vertex", name, *({"target"} & {*self._numbers}))
        }
        order = np.lexsort((parts["vertex"], descending(parts[name])))[:k]
        largest = decoded(self._with_names({key: values[order] for key, values in parts.items()}))
        return self._joined(largest, self.attributes.values_of(parts["vertex"][order])) if attributes else largest

    @collective
    def save(self, path: str | os.PathLike, column: str | None = None, attributes: bool = False) -> None:
        """Write the rows by ascending vertex into one file, all ranks at once.

        The suffix determines the format. ``.txt`` has LDBC Graphalytics' ``vertex value`` lines of one column:
        ``column``, or else the first. ``.csv``, ``.parquet``, ``.arrow`` (or ``.feather``) and ``.npz`` have every
        column, or ``vertex`` and ``column``. A missing value is an empty field in ``.csv`` and null in ``.parquet`` and
        ``.arrow``; in the others it is the number that ``columns`` has.

        Names are text, and empty if there is no predecessor: no vertex has an empty name. A matrix is written as
        :meth:`DistanceMatrix.save` describes, except into ``.txt`` and ``.csv``; values of edges that are the answer
        alone, of ``edge_bc``, as :meth:`EdgeValues.save` does; walks as :meth:`Walks.save`. All three need ``column``
        to be left out.

        Args:
            path: file to write.
            column: the only column to write; None: all of them.
            attributes: True joins the columns of the graph's vertices (``Graph.with_columns``), for which rank 0 holds
                all rows; not into ``.txt``.

        Raises:
            UsageError: an unknown suffix or column, or pyarrow is not installed; ``attributes`` as of :meth:`to_arrow`,
                with ``.txt``, or for a matrix, values of edges and walks.
            DataError: a name is not UTF-8, in ``.parquet`` and ``.arrow``.
            OutputError: the system refused, such as a full disk; the incomplete file is removed.
        """
        spelt = path_of("path", path)
        if flag("attributes", attributes):
            self._save_joined(spelt, column)
            return
        if self.matrix is not None and column is None and os.path.splitext(spelt)[1] in SUFFIXES:
            self.matrix.save(path)
            return
        if self.edges is not None and self.edges.alone and column is None:
            self.edges.save(path)
            return
        if self.walks is not None and column is None:
            self.walks.save(path)
            return
        names = [self._column(column)] if column is not None or spelt.endswith(".txt") else list(self.columns)
        rows, ids = self._here(), self._numbers["vertex"]
        chosen = {name: rows[name] for name in ["vertex", *names]}
        infinity = INFINITY.get(self.algorithm, b"")
        save(path, chosen, self.comm, ids, infinity=infinity, nullable=self.nullable, threads=self.threads)

    def kept_column(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices, names as bytes, and a column as ``Graph.with_columns`` keeps it; collective.

        Missing numbers are NaN, which makes integers float64 on all ranks.

        Raises:
            UsageError: no column of that name.
            DataError: an integer that float64 rounds.
        """
        name = choice("column", column, list(self.columns), f"column of {self.algorithm}")
        columns = self._with_names({key: self._numbers[key] for key in ("vertex", name)})
        values = columns[name]
        absent = arrow_tables.missing(name, values, self.nullable) if values.dtype.kind in "iuf" else None
        if self.comm.total(absent is not None):
            with self.comm.together():
                refuse_rounded(values if absent is None else np.where(absent, 0, values), name)
            values = values.astype(values.dtype if values.dtype.kind == "f" else np.float64)
            if absent is not None:
                values[absent] = np.nan
        return columns["vertex"], values

    def _save_joined(self, path: str, column: str | None) -> None:
        """Write the rows with the columns of the graph's vertices, from rank 0; collective."""
        alone = self.matrix is not None or self.walks is not None or (self.edges is not None and self.edges.alone)
        with self.comm.together():
            self._check_attributes(0)
            if alone and column is None:
                raise UsageError("attributes=True joins columns of vertices, and this answer has no such rows; drop it")
            if path.endswith(".txt"):
                raise UsageError(f"attributes=True: {path} has room for one column; write .csv, .parquet or .npz")
        name = None if column is None else self._column(column)
        rows = self._here() if self.comm.size == 1 else self._gathered(0)
        chosen = {key: values for key, values in rows.items() if name is None or key in ("vertex", name)}
        joined = self.attributes.gathered(0)
        floats = {key: np.nan for key, values in joined.items() if values.dtype.kind == "f"}
        described = self.nullable if isinstance(self.nullable, Mapping) else dict.fromkeys(self.nullable)
        nullable = {**described, **floats}
        save(path, self._joined(chosen, joined), self.comm, nullable=nullable, threads=self.threads)

    @property
    def _numbers(self) -> Mapping[str, np.ndarray]:
        """Columns with numbers of vertices, which are sorted and sent in place of names."""
        return self.columns if self.named is None else self.named.columns

    def _here(self) -> Mapping[str, np.ndarray]:
        """Return this rank's columns, names as bytes; not collective."""
        return self.columns if self.named is None else self.named.here()

    def _with_names(self, columns: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """Return the columns with names as bytes in place of numbers of vertices; collective."""
        return columns if self.named is None else self.named.with_names(columns, self.comm)

    def _column(self, name: str | None) -> str:
        values = [key for key in self.columns if key != "vertex"]
        if not values:
            raise UsageError(f"{self.algorithm} has no column beside vertex: all fields of the program are hidden")
        if name is None:
            return values[0]
        return choice("column", name, values, f"column of {self.algorithm}")


def _count(numbers: np.ndarray, first: int) -> None:
    """Fill an array with consecutive numbers, a piece in a core's cache at a time."""
    ramp = np.arange(min(ROWS, numbers.size))
    for start in range(0, numbers.size, ROWS):
        piece = numbers[start : start + ROWS]
        np.add(ramp[: piece.size], first + start, piece)
