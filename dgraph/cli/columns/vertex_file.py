"""Tables of vertices in ``.csv``, ``.parquet`` and ``.arrow`` files: labels to compare, attributes to join.

pyarrow infers the types of a ``.csv``. A column becomes text where a number would lose how it is written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.formats.kept_text import CODE, any_text, are_floats, without_blanks

SUFFIXES = (".csv", ".parquet", ".arrow", ".feather")

VERTEX = "vertex"
"""Name of the column of vertices in files of results."""

HEADER = 1 << 16
"""Most bytes of a header that are read to recognise it."""


def read_vertex_file(path: str | Path, named: bool, vertex: str | None = None) -> Any:
    """Return the ``pyarrow.Table`` of a file.

    Args:
        path: the file.
        named: True if its vertices are names, which a ``.csv`` may write like numbers.
        vertex: name of their column; None: the first.

    Raises:
        UsageError: another suffix, or pyarrow is not installed.
        DataError: the file is not a table, or two of its columns have one name.
        OutputError: it cannot be read.
    """
    try:
        table = _read(path)
        if len(set(table.column_names)) < table.num_columns:
            raise DataError(f"{path}: two columns have one name ({', '.join(table.column_names)}); rename one")
        return table if Path(path).suffix != ".csv" else _with_texts(path, table, named, vertex)
    except OSError as refused:
        raise OutputError(f"{path} cannot be read: {refused if Path(path).exists() else 'no such file'}") from None
    except ValueError as wrong:  # pyarrow's errors are ValueErrors
        raise DataError(f"{path} is not a table of vertices: {wrong}") from None


def vertex_columns(path: str | Path, named: bool) -> dict[str, np.ndarray]:
    """Return the columns of a result's file, which has one called ``vertex``, or of another table or ``.npz``.

    Raises:
        UsageError, DataError, OutputError: as of :func:`read_vertex_file`.
    """
    suffix = Path(path).suffix
    if suffix not in (".npz", *SUFFIXES):
        raise UsageError(f"{path}: labels are read from .csv, .npz, .parquet and .arrow; write one of these")
    if suffix != ".npz":
        table = read_vertex_file(path, named, VERTEX)
        return {name: table[name].to_numpy() for name in table.column_names}
    try:
        with np.load(path) as arrays:
            return dict(arrays)
    except OSError as refused:
        raise OutputError(f"{path} cannot be read: {refused}") from None
    except ValueError as wrong:
        raise DataError(f"{path} is not a table of labels: {wrong}") from None


def has_vertex_column(path: Path) -> bool:
    """Return True if a file is a table of vertices, as results are written; a ``.csv`` has a header with ``vertex``."""
    if path.suffix != ".csv":
        return path.suffix in (".npz", *SUFFIXES)
    with path.open("rb") as file:
        header = file.readline(HEADER).decode(errors="replace").removeprefix("\ufeff")
    return VERTEX in [word.strip().strip('"') for word in header.split(",")]


def _with_texts(path: str | Path, table: Any, named: bool, vertex: str | None) -> Any:
    """Return a table with columns as text whose numbers are names or codes (007, 0x10), or are rounded by float64."""
    from pyarrow import string, types

    texts = _read_csv(path, column_types=dict.fromkeys(table.column_names, string()))
    for place, name in enumerate(table.column_names):
        kind, written = table.field(name).type, texts[name]
        text = without_blanks(written)
        real = types.is_floating(kind)
        if name == vertex or (vertex is None and place == 0):
            as_text = named or any_text(text, "^[-+]?0[xX]")
        else:
            as_text = (real or types.is_integer(kind)) and any_text(text, CODE)
            as_text = as_text or (real and not are_floats(text, table[name]))
            as_text = as_text or (
                types.is_null(kind) and any_text(text, ".")
            )  # NA in every row, such as Namibia's code
        if as_text:
            table = table.set_column(place, name, written)
    return table


def _read(path: str | Path) -> Any:
    """Return the table as pyarrow reads it."""
    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: a table of vertices is read from .csv, .parquet and .arrow; write one of these")
    pyarrow = extra("pyarrow", f"{suffix} files")
    if suffix == ".csv":
        return _read_csv(path)
    if suffix == ".parquet":
        from pyarrow import parquet

        return parquet.read_table(path)
    return pyarrow.ipc.open_file(str(path)).read_all()


def _read_csv(path: str | Path, **convert: Any) -> Any:
    """Return the table of a ``.csv``; quoted fields may hold line breaks."""
    from pyarrow import csv

    return csv.read_csv(
        path, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=csv.ConvertOptions(**convert)
    )
