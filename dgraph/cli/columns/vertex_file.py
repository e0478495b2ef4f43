"""Tables of vertices in ``.csv``, ``.parquet`` and ``.arrow`` files: labels to compare, attributes to join."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dgraph._support.extras import extra
from dgraph.errors import DataError, OutputError, UsageError

SUFFIXES = (".csv", ".parquet", ".arrow")


def read_vertex_file(path: str | Path) -> Any:
    """Return the ``pyarrow.Table`` of a file.

    Raises:
        UsageError: another suffix, or pyarrow is not installed.
        DataError: the file is not a table.
        OutputError: it cannot be read.
    """
    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: a table of vertices is read from .csv, .parquet and .arrow; write one of these")
    pyarrow = extra("pyarrow", f"{suffix} files")
    try:
        if suffix == ".csv":
            from pyarrow import csv

            return csv.read_csv(path)
        if suffix == ".parquet":
            from pyarrow import parquet

            return parquet.read_table(path)
        with pyarrow.OSFile(str(path)) as file:
            return pyarrow.ipc.open_file(file).read_all()
    except OSError as refused:
        raise OutputError(f"{path} cannot be read: {refused}") from None
    except ValueError as wrong:  # pyarrow's errors are ValueErrors
        raise DataError(f"{path} is not a table of vertices: {wrong}") from None
