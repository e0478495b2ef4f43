"""Graph500's packed edges, as its reference code stores them: records without a header.

A record of 12 bytes holds the low 32 bits of both ends, then their high 16 bits; one of 16 bytes holds two 64-bit
integers. Optional weights are 32-bit floats in NAME.weights. Little-endian. graph500 3.0, generator/graph_generator.h.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import DataError
from dgraph.graph.build.array_input import check_range
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.formats.binary import columns_of, slice_of
from dgraph.graph.formats.counted_header import check_size, set_direction
from dgraph.graph.formats.sniff import file_size

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions

PACKED = np.dtype([("low0", "<u4"), ("low1", "<u4"), ("high0", "<i2"), ("high1", "<i2")])
WIDE = np.dtype([("v0", "<i8"), ("v1", "<i8")])


def read_packed(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read Graph500's edges of 12 bytes, ids from 0 to the largest; undirected."""
    return _read(path, comm, options, PACKED)


def read_wide(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read Graph500's edges of 16 bytes (two 64-bit integers), ids from 0 to the largest; undirected."""
    return _read(path, comm, options, WIDE)


def _read(path: str, comm: Comm, options: LoadOptions, record: np.dtype) -> RawEdges:
    threads = rank_threads(comm)
    with comm.together():
        size, weights_at = file_size(path), f"{path}.weights"
        edges, rest = divmod(size, record.itemsize)
        if rest or not edges:
            raise DataError(
                f"{path}: {size} bytes are not a whole number of edges of {record.itemsize} bytes; was it cut short?"
            )
        low, high = (edges * rank // comm.size for rank in (comm.rank, comm.rank + 1))
        columns = columns_of(path, record, high - low, low * record.itemsize, threads)
        src, dst = columns if record is WIDE else _join_halves(columns)
        for name, ids in (("source", src), ("target", dst)):
            check_range(ids, 0, np.iinfo(np.int64).max - 1, f"{path}: {name}", low, threads)
        weights = None
        if os.path.exists(weights_at):
            if (stored := file_size(weights_at)) != 4 * edges:
                raise DataError(f"{weights_at}: {stored} bytes, but {edges} edges have 4 each; was it cut short?")
            weights = slice_of(weights_at, "<f4", high - low, 4 * low)
    largest = comm.largest(max(int(src.max(initial=0)), int(dst.max(initial=0))))
    with comm.together():
        check_size(path, largest + 1, edges, options)
    if largest < 1 << 32:
        src, dst = src.astype(np.uint32), dst.astype(np.uint32)
    raw = RawEdges(src, dst, weights, n=largest + 1)
    set_direction(raw, path, False, "Graph500's edges have no direction")
    return raw


def _join_halves(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends as int64."""
    low0, low1, high0, high1 = columns
    return low0 | (high0.astype(np.int64) << 32), low1 | (high1.astype(np.int64) << 32)
