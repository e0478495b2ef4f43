"""Write a result to a file; the suffix determines the format.

:func:`save` sorts the rows over all ranks and passes them to a writer of :data:`WRITERS`.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dgraph._support.extras import extra
from dgraph.comm import Comm
from dgraph.errors import OutputError, UsageError, unknown
from dgraph.graph.names import decoded_chunks
from dgraph.result.files import csv_text, npz, vertex_text
from dgraph.result.files.sample_sort import SampleSort
from dgraph.result.files.shared_file import SharedFile, shared_file
from dgraph.result.files.table_file import save_table


@dataclass(frozen=True)
class Rows:
    """This rank's rows of a file.

    Attributes:
        columns: arrays by name, ``vertex`` first; names as bytes.
        first: number of the first row in the file.
        total: rows over all ranks.
        infinity: text for an unreached vertex in a text file; b"" writes the number.
        nullable: columns whose missing values a table shows as null.
    """

    columns: Mapping[str, np.ndarray]
    first: int
    total: int
    infinity: bytes
    nullable: Collection[str]


def save_text(file: SharedFile, rows: Rows) -> None:
    """Write LDBC Graphalytics' ``vertex value`` lines of the first column."""
    vertex, values, *_ = rows.columns.values()
    _write_text(file, lambda: vertex_text.lines(vertex, values, rows.infinity))


def save_csv(file: SharedFile, rows: Rows) -> None:
    """Write every column as CSV below a line of column names; names are quoted if needed, missing values empty."""
    head = csv_text.header(rows.columns) if file.comm.rank == 0 else b""
    _write_text(file, lambda: csv_text.rows(rows.columns, rows.nullable), head)


def _write_text(file: SharedFile, made: Callable[[], Iterator[bytes]], head: bytes = b"") -> None:
    """Write the text of all ranks in the order of ranks; collective."""
    blocks = [head]
    with file.comm.together():
        blocks += made()
    file.write(file.comm.before(sum(map(len, blocks))), blocks)


def save_parquet(file: SharedFile, rows: Rows) -> None:
    """Write every column as a Parquet table; missing values are null."""
    save_table(file, ".parquet", rows.columns, rows.nullable)


def save_arrow(file: SharedFile, rows: Rows) -> None:
    """Write every column as an Arrow IPC file (Feather version 2); missing values are null."""
    save_table(file, ".arrow", rows.columns, rows.nullable)


def save_npz(file: SharedFile, rows: Rows) -> None:
    """Write every column for ``np.load``; names as text of one width (dtype U)."""
    dtypes = {name: _file_dtype(values, file.comm) for name, values in rows.columns.items()}
    archive = npz.members(dtypes, rows.total)
    checksums = []
    for member in archive:
        dtype, mine = dtypes[member.name], np.zeros(2, np.int64)
        pieces = _checksummed(rows.columns[member.name], dtype, mine)
        file.write(member.data + rows.first * dtype.itemsize, pieces)
        checksums.append(npz.combined_checksum(member.head, file.comm.allgather(mine).tolist()))
    first = file.comm.rank == 0
    for member, checksum in zip(archive, checksums, strict=True):
        file.write(member.begin, [member.record(checksum)] if first else [])
    file.write(archive[-1].end, [npz.directory(archive, checksums)] if first else [])


def _file_dtype(values: np.ndarray, comm: Comm) -> np.dtype:
    """Return the dtype that a column is written in; collective."""
    if values.dtype.kind != "S":
        return values.dtype
    longest = max((max(map(len, names)) for _, names in decoded_chunks(values)), default=0)
    return np.dtype(f"U{max(1, comm.largest(longest))}")


def _checksummed(values: np.ndarray, dtype: np.dtype, mine: np.ndarray) -> Iterator[memoryview]:
    """Yield the bytes of a column in pieces; set ``mine`` to their CRC-32 and length."""
    pieces = (np.array(names, dtype) for _, names in decoded_chunks(values)) if values.dtype.kind == "S" else [values]
    for part in pieces:
        raw = part.view(np.uint8).data if part.size else memoryview(b"")
        mine[:] = zlib.crc32(raw, int(mine[0])), mine[1] + len(raw)
        yield raw


WRITERS = {
    ".txt": save_text, ".csv": save_csv, ".npz": save_npz, ".parquet": save_parquet, ".arrow": save_arrow,
    ".feather": save_arrow,
}  # fmt: skip
"""Writers by suffix: ``writer(file, rows)``, collective."""


Columns = Mapping[str, np.ndarray]


def save(
    path: str | os.PathLike,
    columns: Columns,
    comm: Comm,
    infinity: bytes = b"",
    to_names: Callable[[Columns], Columns] = lambda columns: columns,
    nullable: Collection[str] = (),
) -> None:
    """Write columns by ascending ``vertex`` into one file; collective.

    Args:
        path: the suffix determines the format; an existing file is replaced.
        columns: on each rank arrays of one length; ``vertex`` (int64, ascending here, distinct over all ranks) and at
            least one other. A text file holds the first of them.
        comm: communicator of the ranks.
        infinity: text for the integer distance of an unreached vertex; b"" writes the number.
        to_names: collective; converts columns for the file, such as numbers to names.
        nullable: columns whose missing values are null in tables (``arrow_tables.missing``).

    Raises:
        UsageError: an unknown suffix, or one whose writer is not installed.
        OutputError: the system refused on some rank; the incomplete file is removed.
    """
    path = Path(path)
    with comm.together():
        if comm.rank == 0:
            check(path)
    order = SampleSort(columns["vertex"], comm)
    sorted_ = {name: order.column(np.ascontiguousarray(values)) for name, values in columns.items() if name != "vertex"}
    named = dict(to_names({"vertex": order.vertex, **sorted_}))
    rows = Rows(named, order.first, order.total, infinity, nullable)
    with shared_file(path, comm) as file:
        WRITERS[path.suffix](file, rows)


def check(path: str | os.PathLike) -> None:
    """Raise early what :func:`save` would raise: an unknown suffix, or a folder that cannot be written."""
    path = Path(path)
    if path.suffix not in WRITERS and not path.is_dir():
        raise unknown("output format", path.suffix or path.name, WRITERS)
    if path.suffix in (".parquet", ".arrow", ".feather"):
        extra("pyarrow", f"a {path.suffix} file")
    check_writable(path)


def check_writable(path: Path) -> None:
    """Refuse a path at which no file can be created."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path} cannot be written: the folder {path.parent} is not writable; choose another")
