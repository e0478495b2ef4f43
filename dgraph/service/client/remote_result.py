"""``RemoteResult``: a result whose columns are fetched from a service, as Arrow, when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.algorithms import ALGORITHMS
from dgraph.comm import SerialComm
from dgraph.errors import UsageError
from dgraph.graph.names import Names, decode_names
from dgraph.result.columns import UNREACHED, Columns
from dgraph.result.named_columns import NamedColumns, decoded
from dgraph.result.result import Result
from dgraph.service.client.http_link import Link
from dgraph.service.client.problems import RowsGone

FILE = b"ARROW1"
"""First bytes of an Arrow file; a stream begins otherwise."""


class Threads(SerialComm):
    """Communicator of a client: calls of its threads do not wait for each other."""

    in_threads = True


class FetchedColumns(Columns):
    """Columns that are fetched without a lock: a fetch waits for the service, and other threads need not."""

    def __getitem__(self, name: str) -> np.ndarray:
        column = self._given.get(name)
        if callable(column):
            self[name] = column()
        return dict.__getitem__(self, name)


OF_EDGES = ("edge_bc", "ktruss", "similarity")
"""Algorithms whose results have values of edges or pairs."""


class UnsentEdges:
    """Stands for the values of edges of a run at a service, which sends rows of vertices."""

    alone = False

    def __init__(self, algorithm: str):
        self._algorithm = algorithm

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise UsageError(
            f"a service sends rows of vertices and no edges; dgraph.{self._algorithm}(graph) of a graph that "
            "Graph.load made has result.edges"
        )


class RemoteRows:
    """Rows of a job's result at the service, and the columns of them that were fetched.

    Args:
        link: the service.
        job: the :class:`~dgraph.service.client.remote_job.RemoteJob`; a patient client runs it again where its rows are
            gone.
        vertices: names of the columns that hold vertices.
    """

    def __init__(self, link: Link, job: Any, vertices: Collection[str]):
        self._link, self._job, self._vertices = link, job, vertices
        self._held: dict[str, Any] = {}

    @cached_property
    def schema(self) -> Any:
        """The ``pyarrow.Schema`` of the rows."""
        return self.table(limit=1).schema

    @cached_property
    def types(self) -> dict[str, Any]:
        """Name of each column → its Arrow type."""
        return dict(zip(self.schema.names, self.schema.types, strict=True))

    def __contains__(self, name: str) -> bool:
        return name in self._held

    def fetch(self, names: Sequence[str]) -> dict[str, Any]:
        """Return columns as Arrow's, in one request for those that are not here yet."""
        wanted = [name for name in names if name not in self._held]
        if wanted:
            table = self.table(columns=",".join(wanted))
            self._held |= {name: table.column(name) for name in wanted}
        return {name: self._held[name] for name in names}

    def table(self, **query: Any) -> Any:
        """Fetch rows as a ``pyarrow.Table`` that shares the memory of the answer."""
        pyarrow = extra("pyarrow", "a result of a service")
        ipc = extra("pyarrow.ipc", "a result of a service")
        raw = self._asked(lambda place: self._link.fetch("GET", f"{place}/result", format="arrow", **query))
        buffer = pyarrow.py_buffer(raw)
        reader = ipc.open_file(buffer) if bytes(raw[:6]) == FILE else ipc.open_stream(buffer)
        return reader.read_all()

    def null(self, name: str) -> float:
        """Return the number that stands for null in a column of ``Result.columns``."""
        if str(self.types[name]) in ("double", "float"):
            return np.inf
        return -1 if name in self._vertices else UNREACHED

    def numpy(self, name: str, column: Any) -> np.ndarray:
        """Return an Arrow column as ``Result.columns`` has it, names as bytes."""
        return _numpy(column, self.null(name))

    def of(self, vertices: Sequence[int | str]) -> dict[str, list]:
        """Fetch the rows of some vertices."""
        body = {"vertices": list(vertices)}
        return self._asked(lambda place: self._link.call("POST", f"{place}/lookup", body))["columns"]

    def _asked(self, ask: Callable[[str], Any]) -> Any:
        """Return the answer of a request for rows, of which ``ask`` takes the job's path."""
        try:
            return ask(f"/v1/jobs/{self._job.id}")
        except RowsGone:
            if not self._job.recover():
                raise
        return ask(f"/v1/jobs/{self._job.id}")


class RemoteResult(Result):
    """Result of a job of a service: the methods and columns of :class:`~dgraph.Result`.

    ``top``, ``value`` and ``repr`` fetch the rows that they show. Other calls fetch the columns that they read, whole
    and once; after that no request is made.

    Attributes:
        job: the :class:`~dgraph.service.client.remote_job.RemoteJob`.
    """

    job: Any
    _rows: RemoteRows

    def __init__(self, job: Any, link: Link):
        record = job.record
        declared = ALGORITHMS[record["algorithm"]].columns if record["algorithm"] in ALGORITHMS else {}
        vertices = {name for name, column in declared.items() if column.kind == "vertex"}
        converged = record.get("converged")
        vars(self).update(
            algorithm=record["algorithm"], comm=Threads(), summary=record.get("summary") or {},
            converged=converged is None or converged, limit=record.get("limit"), rounds=record.get("rounds") or 0,
            job=job, _rows=RemoteRows(link, job, vertices),
        )  # fmt: skip
        if self.algorithm in OF_EDGES:
            vars(self).update(edges=UnsentEdges(self.algorithm))

    @cached_property
    def report(self) -> dict:
        """The service's report of the run; of an earlier run, if the service answered from its cache."""
        return self.job.report()

    @cached_property
    def nullable(self) -> tuple[str, ...]:
        """Names of the columns that may have nulls."""
        return tuple(field.name for field in self._rows.schema if field.nullable)

    @cached_property
    def named(self) -> RemoteNames | None:
        """Numbers and names of the vertices; None if vertices are numbers."""
        words = [name for name, kind in self._rows.types.items() if _is_text(kind)]
        return RemoteNames(self._rows, words) if words else None

    @cached_property
    def columns(self) -> Columns:
        """Arrays by name, fetched when they are read."""
        rows = self._rows
        columns = {name: partial(_fetched, rows, name) for name in rows.types}
        return FetchedColumns(columns) if self.named is None else self.named.decoded()

    def count_rows(self) -> int:
        """Return the number of rows."""
        return self.job.record["rows"]

    def _here(self) -> Mapping[str, np.ndarray]:
        self._rows.fetch(list(self.columns))
        return super()._here()

    def first_rows(self, count: int) -> dict[str, np.ndarray]:
        """Return the first rows, names as bytes."""
        table = self._rows.table(limit=count)
        return {name: self._rows.numpy(name, table.column(name)) for name in table.column_names}

    def top(self, k: int, column: str | None = None, attributes: bool = False) -> dict[str, np.ndarray]:
        """Return the ``k`` rows of largest ``column``, as :meth:`dgraph.Result.top` does."""
        name = self._column(column)
        if attributes or name in self._rows or name != self._column(None) or k < 1:
            return super().top(k, column, attributes)
        table = self._rows.table(columns=f"vertex,{name}", top=k)
        rows = {key: self._rows.numpy(key, table.column(key)) for key in ("vertex", name)}
        return decoded(rows)

    def value(self, vertex: int | str, column: str | None = None) -> Any:
        """Return the value of one vertex, as :meth:`dgraph.Result.value` does."""
        name = self._column(column)
        if name in self._rows and "vertex" in self._rows:
            return super().value(vertex, column)
        text = _is_text(self._rows.types["vertex"])
        answer = self._rows.of([str(vertex) if text else self._number("vertex", vertex)])[name][0]
        kind = self._rows.types[name]
        return answer if answer is not None or _is_text(kind) else self._rows.null(name)


class RemoteNames(NamedColumns):
    """Columns of a result whose vertices have names: a vertex's number is its row.

    Args:
        rows: where the columns come from.
        words: names of the columns that hold names of vertices.
    """

    def __init__(self, rows: RemoteRows, words: Sequence[str]):
        columns = list(rows.types)
        fetched = {name: partial(_fetched, rows, name) for name in columns}
        texts = FetchedColumns({name: fetched[name] for name in words})
        numbers = {name: partial(self._numbered, name) if name in words else fetched[name] for name in columns}
        vars(self).update(words=texts, columns=FetchedColumns(numbers))

    @cached_property
    def names(self) -> Names:
        """Table of the names, which are the column ``vertex``."""
        here = self.words["vertex"]
        return Names(here, np.array([0, here.size]))

    def decoded(self) -> Columns:
        """Return the columns with names as str."""
        columns: dict[str, Any] = {name: partial(self.columns.__getitem__, name) for name in self.columns}
        return FetchedColumns(columns | {name: partial(_decoded, self.words, name) for name in self.words})

    def _numbered(self, name: str) -> np.ndarray:
        words, names = self.words[name], self.words["vertex"]
        if name == "vertex":
            return np.arange(names.size)
        return np.where(words == b"", -1, np.searchsorted(names, words))


def _fetched(rows: RemoteRows, name: str) -> np.ndarray:
    return rows.numpy(name, rows.fetch([name])[name])


def _decoded(words: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    return decode_names(words[name])


def _numpy(column: Any, null: float) -> np.ndarray:
    """Return an Arrow column with ``null`` for null, names as bytes.

    Numbers without null share the memory of the answer. Buffers are read as they are, because most conversions of
    pyarrow import pandas.
    """
    text, boolean = _is_text(column.type), str(column.type) == "bool"
    if text:
        column = column.cast("large_binary")
    parts = []
    for chunk in column.chunks:
        span = slice(chunk.offset, chunk.offset + len(chunk))
        validity, *buffers = chunk.buffers()
        validity_bits = None if validity is None or not chunk.null_count else _bits(validity)[span]
        if text:
            parts.append(_words(buffers, span, validity_bits))
        elif boolean:
            parts.append(_bits(buffers[0])[span].astype(bool))
        else:
            values = np.frombuffer(buffers[0], column.type.to_pandas_dtype())[span]
            parts.append(values if validity_bits is None else np.where(validity_bits, values, null))
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, "S1" if text else column.type.to_pandas_dtype())


def _bits(buffer: Any) -> np.ndarray:
    return np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little")


def _words(buffers: list, span: slice, validity_bits: np.ndarray | None) -> np.ndarray:
    """Return the words of Arrow's offsets and bytes, dtype S; empty if they are not known."""
    offsets = np.frombuffer(buffers[0], np.int64)[span.start : span.stop + 1]
    lengths = np.diff(offsets) if validity_bits is None else np.where(validity_bits, np.diff(offsets), 0)
    width = max(int(lengths.max(initial=0)), 1)
    table = np.zeros((lengths.size, width), np.uint8)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    if within.size:
        letters = np.frombuffer(buffers[1], np.uint8)
        table[np.repeat(np.arange(lengths.size), lengths), within] = letters[np.repeat(offsets[:-1], lengths) + within]
    return table.view(f"S{width}").ravel()


def _is_text(kind: Any) -> bool:
    return str(kind).endswith("string")
