"""Write a result to a file; the suffix determines the format.

:func:`save` sorts the rows over all ranks and passes them to a writer of :data:`WRITERS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from dgraph._support.extras import extra
from dgraph._support.threads import PIECE, in_order
from dgraph.comm import Comm
from dgraph.errors import OutputError, UsageError, unknown
from dgraph.graph.names import decoded_chunks
from dgraph.result.files import csv_text, npz, vertex_text
from dgraph.result.files.sample_sort import SampleSort
from dgraph.result.files.shared_file import SharedFile, shared_file
from dgraph.result.files.table_file import save_table
from dgraph.result.files.vertex_text import ROWS


@dataclass(frozen=True)
class FileRows:
    """This rank's rows of a file.

    Attributes:
        columns: arrays by name, first ``vertex``, or ``source`` and ``target``; names as bytes.
        first: number of the first row in the file.
        total: rows over all ranks.
        infinity: text for an unreached vertex in a text file; b"" writes the number.
        nullable: columns whose missing values a table shows as null.
        threads: threads of this rank.
        metadata: words of a table's schema; None: none.
    """

    columns: Mapping[str, np.ndarray]
    first: int
    total: int
    infinity: bytes
    nullable: Collection[str]
    threads: int
    metadata: Mapping[str, str] | None = None

    def blocks(self) -> list[slice]:
        """Return the slices of rows that threads format as text one at a time."""
        return [slice(start, start + ROWS) for start in range(0, len(next(iter(self.columns.values()))), ROWS)]


def save_text(file: SharedFile, rows: FileRows) -> None:
    """Write LDBC Graphalytics' ``vertex value`` lines of the first column, or ``source target value`` lines."""
    if "vertex" not in rows.columns:
        every = rows.columns.items()
        _write_text(file, rows, lambda part: csv_text.rows({name: v[part] for name, v in every}, (), b" "))
        return
    vertex, values, *_ = rows.columns.values()
    _write_text(file, rows, lambda part: vertex_text.lines(vertex[part], values[part], rows.infinity))


def save_csv(file: SharedFile, rows: FileRows) -> None:
    """Write every column as CSV below a line of column names; names are quoted if needed, missing values empty."""
    head = csv_text.header(rows.columns) if file.comm.rank == 0 else b""
    columns = rows.columns.items()
    _write_text(file, rows, lambda part: csv_text.rows({name: v[part] for name, v in columns}, rows.nullable), head)


def _write_text(file: SharedFile, rows: FileRows, text: Callable[[slice], bytes], head: bytes = b"") -> None:
    """Write the text of all ranks in the order of ranks, each block of rows formatted by one thread; collective."""
    blocks = chain([head], in_order(text, rows.blocks(), rows.threads))
    if file.comm.size == 1:
        file.write(0, blocks)
        return
    pieces: list[bytes] = []
    with file.comm.together():
        pieces += blocks
    file.write(file.comm.before(sum(map(len, pieces))), pieces)


def save_parquet(file: SharedFile, rows: FileRows) -> None:
    """Write every column as a Parquet table; missing values are null."""
    save_table(file, ".parquet", rows.columns, rows.nullable, rows.metadata)


def save_arrow(file: SharedFile, rows: FileRows) -> None:
    """Write every column as an Arrow IPC file (Feather version 2); missing values are null."""
    save_table(file, ".arrow", rows.columns, rows.nullable, rows.metadata)


def save_npz(file: SharedFile, rows: FileRows) -> None:
    """Write every column for ``np.load``; names as text of one width (dtype U)."""
    dtypes = {name: _file_dtype(values, file.comm) for name, values in rows.columns.items()}
    archive = npz.members(dtypes, rows.total)
    checksums = []
    for member in archive:
        dtype, mine = dtypes[member.name], np.zeros(2, np.int64)
        pieces = npz.summed(_pieces(rows.columns[member.name], dtype), mine, rows.threads)
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


def _pieces(values: np.ndarray, dtype: np.dtype) -> Iterator[np.ndarray]:
    """Return a column in pieces."""
    if values.dtype.kind == "S":
        return (np.array(names, dtype) for _, names in decoded_chunks(values))
    raw = values.view(np.uint8)
    return (raw[first : first + PIECE] for first in range(0, raw.size, PIECE))


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
    threads: int = 1,
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
        threads: threads of this rank.

    Raises:
        UsageError: an unknown suffix, or one whose writer is not installed.
        OutputError: the system refused on some rank; the incomplete file is removed.
    """
    _check_on_root(path, comm)
    order = SampleSort(columns["vertex"], comm)
    sorted_ = {name: order.column(np.ascontiguousarray(values)) for name, values in columns.items() if name != "vertex"}
    named = dict(to_names({"vertex": order.vertex, **sorted_}))
    rows = FileRows(named, order.first, order.total, infinity, nullable, threads)
    _write(path, rows, comm)


def save_in_order(
    path: str | os.PathLike, columns: Columns, comm: Comm, threads: int = 1, nullable: Collection[str] = (),
    metadata: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Write rows that are in order from rank to rank, such as edges by their ends; collective.

    Args:
        path: as of :func:`save`.
        columns: on each rank arrays of one length; names as bytes. A text file holds them all.
        comm: communicator of the ranks.
        threads: threads of this rank.
        nullable: as of :func:`save`.
        metadata: words that the schema of a table gets; other formats leave them out.

    Raises:
        UsageError, OutputError: as :func:`save` does.
    """
    _check_on_root(path, comm)
    mine = len(next(iter(columns.values())))
    _write(path, FileRows(columns, comm.before(mine), comm.total(mine), b"", nullable, threads, metadata), comm)


def save_lines(path: str | os.PathLike, text: Sequence[bytes], comm: Comm) -> None:
    """Write this rank's lines after those of lower ranks; collective.

    Raises:
        OutputError: the system refused on some rank; the incomplete file is removed.
    """
    _check_on_root(path, comm)
    with shared_file(Path(path), comm) as file:
        file.write(comm.before(sum(map(len, text))), text)


def _check_on_root(path: str | os.PathLike, comm: Comm) -> None:
    with comm.together():
        if comm.rank == 0:
            check(path)


def _write(path: str | os.PathLike, rows: FileRows, comm: Comm) -> None:
    path = Path(path)
    with shared_file(path, comm) as file:
        WRITERS[path.suffix](file, rows)


def check(path: str | os.PathLike, suffixes: Collection[str] = WRITERS) -> None:
    """Raise early what :func:`save` would raise: an unknown suffix, or a folder that cannot be written."""
    path = Path(path)
    check_suffix(path, suffixes)
    if path.suffix in (".parquet", ".arrow", ".feather"):
        extra("pyarrow", f"a {path.suffix} file")
    check_writable(path)


def check_suffix(path: Path, suffixes: Collection[str] = WRITERS) -> None:
    """Refuse a suffix that names no output format."""
    if path.suffix not in suffixes and not path.is_dir():
        raise unknown_format("output format", path, suffixes)


def unknown_format(kind: str, path: Path, suffixes: Collection[str]) -> UsageError:
    """Make the error for a suffix that has no writer; of ``.graphml`` and ``.gexf``, NetworkX has one."""
    refused = unknown(kind, path.suffix or f"path {path.name}", suffixes)
    if path.suffix not in (".graphml", ".gexf"):
        return refused
    return UsageError(f"{refused}; NetworkX writes it: networkx.write_{path.suffix[1:]}(graph.to_networkx(), path)")


def check_writable(path: Path) -> None:
    """Refuse a path at which no file can be created."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path} cannot be written: the folder {path.parent} is not writable; choose another")
