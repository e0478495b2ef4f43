"""Results as JSON, Arrow, Parquet and CSV, from the Arrow files that the ranks spool. Functions block: use threads."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from dgraph.errors import unknown
from dgraph.service.front.problem_documents import Problem

MAGIC = b"ARROW1"
ROWS_OF_JSON = 1 << 16
"""Rows that are converted to JSON at a time."""

MEDIA = {
    "json": "application/json",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
}


@dataclass(frozen=True)
class Selection:
    """Part of a result that a request asks for.

    Attributes:
        columns: names; None: all.
        offset, limit: rows; a limit of None: all.
        top: rows of largest value, largest first, those without a value left out; None: rows in their order.
    """

    columns: tuple[str, ...] | None = None
    offset: int = 0
    limit: int | None = None
    top: int | None = None

    @property
    def whole(self) -> bool:
        """True if it is the whole result."""
        return self.columns is None and not self.offset and self.limit is None and self.top is None


def stream_of(path: Path) -> tuple[int, int]:
    """Return offset and length of the Arrow stream in a spooled file.

    A file in Arrow's file format contains the stream, between the magic bytes and the footer.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return 0, size
        file.seek(size - len(MAGIC) - 4)
        footer = int.from_bytes(file.read(4), "little")
    return 8, size - 8 - footer - 4 - len(MAGIC)


def table(path: Path) -> Any:
    """Return the ``pyarrow.Table`` of a spooled file, mapped into memory."""
    import pyarrow

    source = pyarrow.memory_map(os.fspath(path))
    start = source.read(len(MAGIC))
    source.seek(0)
    opened = pyarrow.ipc.open_file(source) if start == MAGIC else pyarrow.ipc.open_stream(source)
    return opened.read_all()


def check_columns(names: Sequence[str] | None, columns: Sequence[str]) -> None:
    """Refuse an unknown or repeated column.

    Raises:
        Problem: 422.
    """
    for name in names or ():
        if name not in columns:
            raise Problem(422, str(unknown("column", name, columns)), "UsageError")
    if len(set(names or ())) < len(names or ()):
        raise Problem(422, f"got the columns {','.join(names or ())}, one of them twice; name each once", "UsageError")


def selected(rows: Any, chosen: Selection) -> Any:
    """Return the rows and columns of a table that a selection names."""
    check_columns(chosen.columns, rows.column_names)
    if chosen.top is not None:
        rows = _largest(rows, chosen.top)
        if chosen.columns is None:
            rows = rows.select(rows.column_names[:2])
    if chosen.columns is not None:
        rows = rows.select(list(chosen.columns))
    if chosen.offset or chosen.limit is not None:
        rows = rows.slice(min(chosen.offset, rows.num_rows), chosen.limit)
    return rows


def _largest(rows: Any, k: int) -> Any:
    """Return the ``k`` rows of largest first value column; ties by smallest vertex, as of ``Result.top``."""
    import pyarrow
    from pyarrow import compute

    name = rows.column_names[1]
    column = rows[name]
    keep = compute.is_valid(column)
    if pyarrow.types.is_floating(column.type):
        keep = compute.and_(keep, compute.is_finite(column))
    where = np.flatnonzero(keep.combine_chunks().to_numpy(zero_copy_only=False).astype(bool))
    if pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type):
        values = column.combine_chunks().take(pyarrow.array(where)).to_numpy(zero_copy_only=False)
        if k < values.size:
            least = np.partition(values, values.size - k)[values.size - k] if k else None
            near = np.flatnonzero(values >= least) if k else np.empty(0, int)
            where, values = where[near], values[near]
        order = np.argsort(values, kind="stable")
        where, values = where[order], values[order]
    part = rows.take(pyarrow.array(where))
    keys = [(name, "descending"), (rows.column_names[0], "ascending")]
    return part.sort_by(keys).slice(0, k)


def columns_of(rows: Any) -> dict[str, list]:
    """Return a table's columns as lists; missing values, infinity included, are None."""
    return {name: _list(rows[name]) for name in rows.column_names}


def _finite(column: Any) -> Any:
    """Return a column with null where a number is not finite: both mean that there is no value."""
    import pyarrow
    from pyarrow import compute

    if pyarrow.types.is_floating(column.type):
        return compute.if_else(compute.is_finite(column), column, None)
    return column


def _list(column: Any) -> list:
    import pyarrow

    column = _finite(column)
    if column.null_count or not pyarrow.types.is_primitive(column.type):
        return column.to_pylist()
    return column.to_numpy().tolist()


def json_parts(rows: Any, total: int) -> Iterator[bytes]:
    """Yield the JSON text ``{"columns": {…}, "rows": total}``, some rows of a column at a time."""
    yield b'{"columns":{'
    for number, name in enumerate(rows.column_names):
        yield (b"," if number else b"") + json.dumps(name).encode() + b":["
        for start in range(0, rows.num_rows, ROWS_OF_JSON):
            text = json.dumps(_list(rows[name].slice(start, ROWS_OF_JSON)), separators=(",", ":"))
            yield (b"," if start else b"") + text[1:-1].encode()
        yield b"]"
    yield b'},"rows":%d}' % total


def written(rows: Any, form: str, folder: Path) -> IO[bytes]:
    """Write a table as an Arrow stream, Parquet or CSV to a file without a name; return it, open for reading."""
    import pyarrow

    path = folder / f".{secrets.token_hex(12)}"
    try:
        if form == "parquet":
            from pyarrow import parquet

            parquet.write_table(rows, path)
        elif form == "csv":
            from pyarrow import csv

            csv.write_csv(_without_infinity(rows), path)
        else:
            with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_table(rows)
        return path.open("rb")
    finally:
        path.unlink(missing_ok=True)


def _without_infinity(rows: Any) -> Any:
    """Return a table with null for infinity in all columns."""
    for number, column in enumerate(rows.columns):
        rows = rows.set_column(number, rows.column_names[number], _finite(column))
    return rows


class Lookup:
    """Rows by vertex of one spooled file.

    Args:
        path: the file.
    """

    def __init__(self, path: Path):
        self.rows = table(path)
        self.vertices = self.rows[self.rows.column_names[0]].combine_chunks()
        self.numbers: np.ndarray | None = None
        if str(self.vertices.type).startswith(("int", "uint")) and not self.vertices.null_count:
            numbers = self.vertices.to_numpy()
            if (numbers[1:] >= numbers[:-1]).all():
                self.numbers = numbers

    def find(self, vertices: Sequence[int | str]) -> dict[str, list]:
        """Return the rows of vertices, in the order given.

        Raises:
            Problem: 422 with the first that is not a vertex.
        """
        import pyarrow

        words = pyarrow.types.is_string(self.vertices.type) or pyarrow.types.is_large_string(self.vertices.type)
        for vertex in vertices:
            if isinstance(vertex, str) != words:
                kind = "words" if words else "integers"
                raise Problem(422, f"got the vertex {vertex!r}, but ids of this graph are {kind}", "UsageError")
        wanted = pyarrow.array(vertices, self.vertices.type)
        if self.numbers is not None:
            asked = wanted.to_numpy()
            where = np.minimum(np.searchsorted(self.numbers, asked), max(self.numbers.size - 1, 0))
            missing = np.ones(asked.size, bool) if not self.numbers.size else self.numbers[where] != asked
        else:
            positions = pyarrow.compute.index_in(wanted, value_set=self.vertices)
            missing = positions.is_null().to_numpy(zero_copy_only=False)
            where = positions.fill_null(0).to_numpy()
        if missing.any():
            wrong = vertices[int(np.argmax(missing))]
            raise Problem(422, f"{wrong!r} is not a vertex of the graph; give one of its ids", "UsageError")
        return columns_of(self.rows.take(pyarrow.array(where)))
