"""Write a result to a file; the suffix determines the format.

:func:`save` passes the rows to a writer of :data:`WRITERS`, which receives them in the order of the file, a piece at a
time (``file_rows.py``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph._support.threads import PIECE, in_order
from dgraph._support.writable import check_writable
from dgraph.comm import Comm
from dgraph.errors import UsageError, shown, unknown
from dgraph.graph.names import ENCODING, decoded_chunks
from dgraph.result.files import csv_text, npz, vertex_text
from dgraph.result.files.file_rows import FileRows
from dgraph.result.files.shared_file import SharedFile, shared_file
from dgraph.result.files.table_file import save_table
from dgraph.result.files.vertex_text import ROWS

Columns = Mapping[str, np.ndarray]
BREAKING = np.frombuffer(b' \t\n\v\f\r"', np.uint8)
"""Bytes of names at which readers of lines end a field or a line, or which they take for quotes around a field."""


def save_text(file: SharedFile, rows: FileRows) -> None:
    """Write LDBC Graphalytics' ``vertex value`` lines of the first column, or ``source target value`` lines."""
    if "vertex" not in rows.columns:
        _write_text(file, rows, lambda columns: csv_text.rows(columns, (), b" "))
        return

    def lines(columns: Columns) -> bytes:
        vertex, values, *_ = columns.values()
        return vertex_text.lines(vertex, values, rows.infinity)

    _write_text(file, rows, lines)


def save_csv(file: SharedFile, rows: FileRows) -> None:
    """Write every column as CSV below a line of column names; names are quoted if needed, missing values empty."""
    head = csv_text.header(rows.columns) if file.comm.rank == 0 else b""
    _write_text(file, rows, lambda columns: csv_text.rows(columns, rows.nullable), head)


def _write_text(file: SharedFile, rows: FileRows, text: Callable[[Columns], bytes], head: bytes = b"") -> None:
    """Write the text of all rows, each block of rows formatted by one thread; collective."""
    comm, end = file.comm, 0
    for _, columns in rows.pieces():
        blocks = chain([head], in_order(text, _blocks(columns), rows.threads))
        if comm.size == 1:
            file.write(0, blocks)
            return
        lines: list[bytes] = []
        with comm.together():
            lines += blocks
        sizes = comm.allgather(np.array([sum(map(len, lines))]))[:, 0].tolist()
        file.write(end + sum(sizes[: comm.rank]), lines)
        end, head = end + sum(sizes), b""


def _blocks(columns: Columns) -> Iterator[Columns]:
    """Return the rows in blocks that threads format as text one at a time."""
    for begin in range(0, len(next(iter(columns.values()))), ROWS):
        yield {name: values[begin : begin + ROWS] for name, values in columns.items()}


def save_npz(file: SharedFile, rows: FileRows) -> None:
    """Write every column for ``np.load``; names as text of one width (dtype U)."""
    comm = file.comm
    dtypes = {name: _file_dtype(values, comm) for name, values in rows.columns.items()}
    archive, sums = npz.members(dtypes, rows.total), []
    for first, columns in rows.scattered_pieces():
        mine = np.zeros((len(archive), 2), np.int64)
        for member, summed in zip(archive, mine, strict=True):
            dtype = dtypes[member.name]
            pieces = npz.summed(_pieces(columns[member.name], dtype), summed, rows.threads)
            file.write(member.data + first * dtype.itemsize, pieces)
        sums.append(comm.allgather(mine))
    by_member = np.concatenate(sums).swapaxes(0, 1).tolist()
    checksums = [npz.combined_checksum(member.head, ranks) for member, ranks in zip(archive, by_member, strict=True)]
    head = comm.rank == 0
    for member, checksum in zip(archive, checksums, strict=True):
        file.write(member.begin, [member.record(checksum)] if head else [])
    file.write(archive[-1].end, [npz.directory(archive, checksums)] if head else [])


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


WRITERS: dict[str, Callable[[SharedFile, FileRows], None]] = {
    ".txt": save_text, ".csv": save_csv, ".npz": save_npz, ".parquet": partial(save_table, kind=".parquet"),
    ".arrow": partial(save_table, kind=".arrow"), ".feather": partial(save_table, kind=".arrow"),
}  # fmt: skip
"""Writers by suffix: ``writer(file, rows)``, collective."""


def save(path: str | os.PathLike, columns: Columns, comm: Comm, key: np.ndarray | None = None, **more: Any) -> None:
    """Write columns into one file; collective. A rank holds its own rows and a piece of bounded size.

    Args:
        path: the suffix determines the format; an existing file is replaced.
        columns: on each rank arrays of one length, names as bytes. A text file holds all of them, or if the first is
            ``vertex``, this one and the second.
        comm: communicator of the ranks.
        key: ids by which the rows are sorted, int64, ascending here and distinct over all ranks. None: the rows are in
            order from rank to rank, such as edges by their ends.
        more: the other arguments of :class:`FileRows`.

    Raises:
        UsageError: an unknown suffix, or one whose writer is not installed; what :func:`refuse_names` refuses;
            durations in text.
        OutputError: the system refused on some rank; the incomplete file is removed.
    """
    _check_on_root(path, comm)
    for name, values in columns.items():
        if values.dtype.kind == "S":
            refuse_names(path, values, comm)
        elif values.dtype.kind == "m" and Path(path).suffix in (".csv", ".txt"):
            raise UsageError(
                f"{path}: column {name} holds durations, which have no form in {Path(path).suffix} that is read back; "
                "write .parquet or .arrow, or convert the column to numbers of a unit"
            )
    rows = FileRows(columns, comm, key, **more)
    with shared_file(Path(path), comm) as file:
        WRITERS[Path(path).suffix](file, rows)


def refuse_names(path: str | os.PathLike, names: np.ndarray, comm: Comm) -> None:
    """Raise a UsageError if a file is ``.txt`` and this rank has a name that breaks its line; collective.

    Args:
        path: the file.
        names: bytes (dtype S).
        comm: communicator of the ranks.
    """
    with comm.together():
        width = names.itemsize if Path(path).suffix == ".txt" and names.size else 0
        for first in range(0, names.size, ROWS) if width else ():
            part = np.ascontiguousarray(names[first : first + ROWS])
            broken = np.isin(part.view(np.uint8).reshape(part.size, width), BREAKING).any(axis=1)
            if broken.any():
                name = shown(part[broken.argmax()].decode(*ENCODING))
                raise UsageError(
                    f"{path}: vertex {name} has a blank, a line break or a quotation mark in its name, which a line of "
                    ".txt cannot hold; write .csv, .npz or .parquet"
                )


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
