"""Write graphs as Parquet tables: rank 0 writes the other ranks' edges, received in pieces of bounded size."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph._support.threads import in_order
from dgraph.comm import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.graph.block import EdgeBlock
from dgraph.graph.ids import ConsecutiveIds
from dgraph.result.arrow_tables import arrow_schema, arrow_table
from dgraph.result.files.shared_file import SharedFile, output_errors
from dgraph.result.files.table_file import TableFile
from partitioning.arrays import arcs

IDS = ("source", "target")
"""Columns of ids."""
AHEAD = 4
"""Most threads that prepare pieces while one is written."""


def save_parquet(file: SharedFile, block: EdgeBlock) -> None:
    """Write columns source, target and optionally weight, by original id; collective.

    An undirected edge occurs once. The direction is stored in the table's metadata (``dgraph.directed``).
    """
    comm, writer, threads = file.comm, None, rank_threads(file.comm)
    with comm.together():
        if comm.rank == 0:
            names, schema = _schema(block)
            writer = TableFile(file, ".parquet", schema, threads, **_options(schema))
    try:
        ahead = min(threads, AHEAD) if comm.size == 1 and isinstance(block.ids, ConsecutiveIds) else 1
        for columns in in_order(partial(_columns, block, comm), range(arcs.rounds(block, comm)), ahead):
            gathered = [[column] for column in columns]
            if comm.size > 1:
                gathered = [comm.alltoallv([column] + [column[:0]] * (comm.size - 1)) for column in columns]
            with comm.together(), output_errors(file.path):
                if writer is not None:
                    for parts in zip(*gathered, strict=True):
                        table = arrow_table(dict(zip(names, parts, strict=True)), ())
                        writer.add(table.replace_schema_metadata(schema.metadata))
    finally:
        with comm.together(), output_errors(file.path):
            if writer is not None:
                writer.end()


def _columns(block: EdgeBlock, comm: Comm, number: int) -> list[np.ndarray]:
    """Return a piece of this rank's edges: original ids of sources and targets, and weights if there are any."""
    start, stop = arcs.span(block, number)
    src, dst = arcs.ends(block, start, stop)
    columns = [src, dst] if block.weights is None else [src, dst, block.weights[start:stop]]
    if not block.directed:
        kept = np.flatnonzero(dst <= src)
        columns = [column[kept] for column in columns]
    return [*(block.ids.to_original(column, comm) for column in columns[:2]), *columns[2:]]


def _schema(block: EdgeBlock) -> tuple[list[str], Any]:
    """Return the names of the columns, and the schema with the direction."""
    extra("pyarrow", "a .parquet file")
    columns = dict.fromkeys(IDS, np.empty(0, np.int64))
    if block.weights is not None:
        columns["weight"] = block.weights[:0]
    return list(columns), arrow_schema(columns, ()).with_metadata({"dgraph.directed": str(int(block.directed))})


def _options(schema: Any) -> dict[str, Any]:
    """Return pyarrow's options: ids as packed differences, half as large and twice as quick as compressed words."""
    return {
        "column_encoding": dict.fromkeys(IDS, "DELTA_BINARY_PACKED"),
        "use_dictionary": [name for name in schema.names if name not in IDS],
        "compression": {name: "NONE" if name in IDS else "SNAPPY" for name in schema.names},
    }
