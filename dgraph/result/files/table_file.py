"""Parquet and Arrow files: rank 0 writes the rows of all ranks, received in pieces of bounded size."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.comm.rank_threads import rank_threads
from dgraph.graph.names import exchange_bytes
from dgraph.result.arrow_tables import arrow_schema, arrow_table
from dgraph.result.files.parquet_groups import ParquetGroups
from dgraph.result.files.shared_file import SharedFile, output_errors

ROWS = 1 << 20
"""Rows of a piece: a record batch of Arrow."""


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


def save_table(
    file: SharedFile, kind: str, columns: Mapping[str, np.ndarray], nullable: Collection[str],
    metadata: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Write the rows of rank 0, then those of rank 1 and so on; collective."""
    comm, writer, threads = file.comm, None, rank_threads(file.comm)
    with comm.together():
        if comm.rank == 0:
            schema = arrow_schema(columns, nullable)
            described = {**(schema.metadata or {}), **(metadata or {})}
            writer = TableFile(file, kind, schema.with_metadata(described) if described else schema, threads)
    sizes = comm.allgather(np.array([len(next(iter(columns.values())))]))[:, 0].tolist()
    try:
        for rank, size in enumerate(sizes):
            for begin in range(0, size, ROWS):
                piece = received(columns, rank, begin, comm)
                with comm.together(), output_errors(file.path):
                    if writer is not None:
                        writer.add(arrow_table(piece, nullable))
    finally:
        with comm.together(), output_errors(file.path):
            if writer is not None:
                writer.end()


def received(columns: Mapping[str, np.ndarray], rank: int, begin: int, comm: Any) -> dict[str, np.ndarray]:
    """Return on rank 0 the rows of one rank from ``begin`` on; collective."""
    out = {}
    for name, values in columns.items():
        part = values[begin : begin + ROWS] if comm.rank == rank else values[:0]
        if comm.size > 1:
            sent = [np.ascontiguousarray(part) if to == 0 else values[:0] for to in range(comm.size)]
            came = exchange_bytes(sent, values.dtype, comm) if values.dtype.kind == "S" else comm.alltoallv(sent)
            part = came[rank]
        out[name] = part
    return out
