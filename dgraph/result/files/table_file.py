"""Parquet and Arrow files: rank 0 writes the rows of all ranks, received in pieces of bounded size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.comm.owner_directed import swap
from dgraph.comm.rank_threads import rank_threads
from dgraph.result.arrow_tables import arrow_schema, arrow_table
from dgraph.result.files.file_rows import FileRows
from dgraph.result.files.parquet_groups import ParquetGroups
from dgraph.result.files.shared_file import SharedFile, output_errors

ROWS = 1 << 20
"""Rows of a record batch of Arrow, and of a group of Parquet; fewer in the last."""

Columns = Mapping[str, np.ndarray]


class TableFile:
    """Writer of tables on the draft of ``file``; on one rank.

    Args:
        file: the draft.
        kind: ``.parquet`` or ``.arrow``.
        schema: a ``pyarrow.Schema``.
        threads: that encode Parquet.
        options: of pyarrow's writer of Parquet.
    """

    def __init__(self, file: SharedFile, kind: str, schema: Any, threads: int, **options: Any):
        encoded = kind == ".parquet"
        self._table: Any = (
            ParquetGroups(file.descriptor, schema, threads, **options) if encoded else _Batches(file.descriptor, schema)
        )

    def add(self, table: Any) -> None:
        """Append the rows of a ``pyarrow.Table``."""
        self._table.add(table)

    def end(self) -> None:
        """Write the footer and close the file."""
        self._table.end()


class _Batches:
    """Writer of an Arrow file into an open, empty file."""

    def __init__(self, descriptor: int, schema: Any):
        self.sink = os.fdopen(os.dup(descriptor), "wb")
        self.writer = extra("pyarrow.ipc", "a .arrow file").new_file(self.sink, schema)

    def add(self, table: Any) -> None:
        for batch in table.to_batches():
            self.writer.write_batch(batch)

    def end(self) -> None:
        self.writer.close()
        self.sink.close()


def save_table(file: SharedFile, rows: FileRows, kind: str, begin: int = 0, end: int | None = None) -> None:
    """Write the rows from ``begin`` to before ``end`` (None: all), batches of ``ROWS`` of them; collective."""
    comm, writer, threads = file.comm, None, rank_threads(file.comm)
    with comm.together():
        if comm.rank == 0:
            schema = arrow_schema(rows.columns, rows.nullable)
            described = {**(schema.metadata or {}), **(rows.metadata or {})}
            writer = TableFile(file, kind, schema.with_metadata(described) if described else schema, threads)
    batch: list[Columns] = []
    try:
        for _, mine in rows.pieces(begin, end):
            for rank in range(comm.size):
                piece = received(mine, rank, comm)
                with comm.together(), output_errors(file.path):
                    if writer is not None:
                        for full in _full_batches(batch, piece):
                            writer.add(arrow_table(full, rows.nullable))
        with comm.together(), output_errors(file.path):
            if writer is not None and batch:
                writer.add(arrow_table(_joined(batch), rows.nullable))
    finally:
        with comm.together(), output_errors(file.path):
            if writer is not None:
                writer.end()


def _full_batches(batch: list[Columns], piece: Columns) -> Iterator[Columns]:
    """Append a piece's rows to ``batch``, which has fewer than ``ROWS``, and yield and empty it when it has as many."""
    size, begin = _count(piece), 0
    while begin < size:
        end = begin + ROWS - sum(map(_count, batch))
        batch.append({name: values[begin:end] for name, values in piece.items()})
        if end <= size:
            yield _joined(batch)
        begin = end


def _joined(batch: list[Columns]) -> Columns:
    """Return the rows of a batch, and empty it."""
    pieces = batch.copy()
    batch.clear()
    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _count(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def received(columns: Columns, rank: int, comm: Any) -> dict[str, np.ndarray]:
    """Return on rank 0 the rows of one rank; collective."""
    if comm.size == 1:
        return dict(columns)
    parts = {}
    for name, values in columns.items():
        sent = [values if to == 0 and comm.rank == rank else values[:0] for to in range(comm.size)]
        parts[name] = swap(comm, sent)[rank]
    return parts
