"""Parquet and Arrow files: rank 0 writes the rows of all ranks, received in pieces of bounded size."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.graph.names import exchange_bytes
from dgraph.result.arrow_tables import arrow_schema, arrow_table
from dgraph.result.files.shared_file import SharedFile, output_errors

ROWS = 1 << 20
"""Rows of a piece: a row group of Parquet, a record batch of Arrow."""


class TableFile:
    """Writer of batches on the draft of ``file``; on one rank.

    Args:
        file: the draft.
        kind: ``.parquet`` or ``.arrow``.
        schema: a ``pyarrow.Schema``.
        options: of pyarrow's writer.
    """

    def __init__(self, file: SharedFile, kind: str, schema: Any, **options: Any):
        writer = {".parquet": ("pyarrow.parquet", "ParquetWriter"), ".arrow": ("pyarrow.ipc", "new_file")}[kind]
        make = getattr(extra(writer[0], f"a {kind} file"), writer[1])
        self.sink = os.fdopen(os.dup(file.descriptor), "wb")
        self.table = make(self.sink, schema, **options)

    def add(self, table: Any) -> None:
        """Append the rows of a ``pyarrow.Table``."""
        for batch in table.to_batches():
            self.table.write_batch(batch)

    def end(self) -> None:
        """Write the footer and close the file."""
        self.table.close()
        self.sink.close()


def save_table(
    file: SharedFile, kind: str, columns: Mapping[str, np.ndarray], nullable: Collection[str],
    metadata: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Write the rows of rank 0, then those of rank 1 and so on; collective."""
    comm, writer = file.comm, None
    with comm.together():
        if comm.rank == 0:
            schema = arrow_schema(columns, nullable)
            described = {**(schema.metadata or {}), **(metadata or {})}
            writer = TableFile(file, kind, schema.with_metadata(described) if described else schema)
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
