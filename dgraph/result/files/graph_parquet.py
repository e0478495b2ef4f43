"""Graphs as Parquet tables: rank 0 writes what the ranks hand it, a piece of bounded size of each at a time."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock
from dgraph.result.files.shared_file import SharedFile
from partitioning.arrays import arcs


def save_parquet(file: SharedFile, block: EdgeBlock) -> None:
    """Columns source, target and weight if there is any, by original id; an undirected edge once, which is noted."""
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
    """The table that grows in the draft of ``file``."""

    def __init__(self, file: SharedFile, block: EdgeBlock):
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise UsageError("nothing here writes Parquet: pip install 'dgraph-analytics[parquet]'") from None
        self.arrow: Any = pyarrow
        fields = [("source", pyarrow.int64()), ("target", pyarrow.int64())]
        if block.weights is not None:
            fields.append(("weight", pyarrow.from_numpy_dtype(block.weights.dtype)))
        self.schema = pyarrow.schema(fields, metadata={"dgraph.directed": str(int(block.directed))})
        self.sink = os.fdopen(os.dup(file.descriptor), "wb")
        self.table = parquet.ParquetWriter(self.sink, self.schema)

    def add(self, parts: tuple[np.ndarray, ...]) -> None:
        if parts[0].size:
            self.table.write_batch(self.arrow.record_batch([self.arrow.array(part) for part in parts], self.schema))

    def end(self) -> None:
        self.table.close()
        self.sink.close()
