"""Write graphs as Parquet tables: rank 0 writes the other ranks' edges, received in pieces of bounded size."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock
from dgraph.result.files.shared_file import SharedFile
from partitioning.arrays import arcs


def save_parquet(file: SharedFile, block: EdgeBlock) -> None:
    """Write columns source, target and optionally weight, by original id; collective.

    An undirected edge occurs once. The direction is stored in the table's metadata (``dgraph.directed``).
    """
    comm, writer = file.comm, None
    with comm.together():
        if comm.rank == 0:
            writer = _Writer(file, block)
    try:
        for number in range(arcs.rounds(block, comm)):
            start, stop = arcs.span(block, number)
            src, dst = arcs.ends(block, start, stop)
            columns = [src, dst] if block.weights is None else [src, dst, block.weights[start:stop]]
            if not block.directed:
                kept = np.flatnonzero(dst <= src)
                columns = [column[kept] for column in columns]
            columns[:2] = (block.ids.to_original(column, comm) for column in columns[:2])
            gathered = [
                comm.alltoallv([column if rank == 0 else column[:0] for rank in range(comm.size)]) for column in columns
            ]
            with comm.together():
                if writer is not None:
                    for parts in zip(*gathered, strict=True):
                        writer.add(parts)
    finally:
        with comm.together():
            if writer is not None:
                writer.end()


class _Writer:
    """Parquet writer on the draft of ``file``."""

    def __init__(self, file: SharedFile, block: EdgeBlock):
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise UsageError("writing Parquet needs pyarrow: pip install 'dgraph-analytics[parquet]'") from None
        self.arrow: Any = pyarrow
        fields = [("source", pyarrow.int64()), ("target", pyarrow.int64())]
        if block.weights is not None:
            fields.append(("weight", pyarrow.from_numpy_dtype(block.weights.dtype)))
        self.schema = pyarrow.schema(fields, metadata={"dgraph.directed": str(int(block.directed))})
        self.sink = os.fdopen(os.dup(file.descriptor), "wb")
        self.table = parquet.ParquetWriter(self.sink, self.schema)

    def add(self, parts: tuple[np.ndarray, ...]) -> None:
        """Append a batch of rows, one array a column."""
        if parts[0].size:
            self.table.write_batch(self.arrow.record_batch([self.arrow.array(part) for part in parts], self.schema))

    def end(self) -> None:
        """Write the footer and close the file."""
        self.table.close()
        self.sink.close()
