"""Files of a matrix whose rows are spread over the ranks: each rank writes its own rows, a piece at a time."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.result.arrow_tables import arrow_schema, arrow_table
from dgraph.result.files import npz
from dgraph.result.files.save import check
from dgraph.result.files.shared_file import SharedFile, output_errors, shared_file
from dgraph.result.files.table_file import TableFile, received
from partitioning.arrays.crc32 import crc32_combine

PIECE = 1 << 20
"""Entries that are written, or turned into rows of a table, at a time."""

SUFFIXES = (".npy", ".npz", ".parquet", ".arrow", ".feather")
"""Formats of a matrix."""


def save_matrix(path: str | os.PathLike, here: np.ndarray, ids: np.ndarray, first: int, comm: Comm, names: Any) -> None:
    """Write a matrix; collective.

    Args:
        path: the suffix determines the format.
        here: this rank's rows (k, n).
        ids: original ids of all vertices (n,).
        first: this rank's first row.
        comm: the ranks.
        names: table of names that ids number; None: there are none.

    Raises:
        UsageError: an unknown suffix, or pyarrow is not installed.
        OutputError: the system refused on some rank; the incomplete file is removed.
    """
    path = Path(path)
    with comm.together():
        if comm.rank == 0:
            check(path, SUFFIXES)
    with shared_file(path, comm) as file:
        if path.suffix == ".npy":
            header = npz.npy_header(here.dtype, (len(ids), len(ids)))
            file.write(0, [header] if comm.rank == 0 else [])
            file.write(len(header) + first * len(ids) * here.dtype.itemsize, _pieces(here))
        elif path.suffix == ".npz":
            _save_npz(file, here, ids if names is None else names.words(ids, comm), first)
        else:
            _save_pairs(file, ".parquet" if path.suffix == ".parquet" else ".arrow", here, ids, first, names)


def _pieces(rows: np.ndarray) -> Iterator[np.ndarray]:
    flat = rows.reshape(-1)
    return (flat[first : first + PIECE] for first in range(0, flat.size, PIECE))


def _save_npz(file: SharedFile, here: np.ndarray, vertex: np.ndarray, first: int) -> None:
    """Write ``vertex`` (n,) and ``distance`` (n, n)."""
    comm, n = file.comm, len(vertex)
    vertex = vertex if vertex.dtype.kind != "S" else np.array([name.decode() for name in vertex.tolist()], str)
    one = npz.member("vertex", vertex.dtype, (n,), 0)
    two = npz.member("distance", here.dtype, (n, n), one.end)
    file.write(one.data, [vertex] if comm.rank == 0 else [])
    file.write(two.data + first * n * here.dtype.itemsize, _pieces(here))
    mine = np.zeros(2, np.int64)
    for piece in _pieces(here):
        mine[:] = crc32_combine(int(mine[0]), zlib.crc32(piece.data), piece.nbytes), mine[1] + piece.nbytes
    sums = [
        zlib.crc32(vertex.data, zlib.crc32(one.head)),
        npz.combined_checksum(two.head, comm.allgather(mine).tolist()),
    ]
    head = comm.rank == 0
    for member, checksum in zip((one, two), sums, strict=True):
        file.write(member.begin, [member.record(checksum)] if head else [])
    file.write(two.end, [npz.directory((one, two), sums)] if head else [])


def _save_pairs(file: SharedFile, kind: str, here: np.ndarray, ids: np.ndarray, first: int, names: Any) -> None:
    """Write a table of the pairs with a path: rows of rank 0, then those of rank 1 and so on."""
    comm, words = file.comm, ids if names is None else names.words(ids, file.comm)
    step = max(PIECE // max(len(ids), 1), 1)
    none = {"source": words[:0], "target": words[:0], "distance": here.ravel()[:0]}

    def pairs(low: int) -> dict[str, np.ndarray]:
        rows = here[low : low + step]
        source, target = np.nonzero(rows < np.inf)
        return {"source": words[first + low + source], "target": words[target], "distance": rows[source, target]}

    writer, threads = None, rank_threads(comm)
    with comm.together():
        if comm.rank == 0:
            writer = TableFile(file, kind, arrow_schema(none, ()), threads)
    sizes = comm.allgather(np.array([len(here)]))[:, 0].tolist()
    try:
        for rank, size in enumerate(sizes):
            for begin in range(0, size, step):
                piece = received(pairs(begin) if comm.rank == rank else none, rank, comm)
                with comm.together(), output_errors(file.path):
                    if writer is not None:
                        writer.add(arrow_table(piece, ()))
    finally:
        with comm.together(), output_errors(file.path):
            if writer is not None:
                writer.end()
