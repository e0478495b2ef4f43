"""GAPBS's serialised graphs: ``.sg``, and with weights ``.wsg``.

``u8 directed``, ``i64 arcs``, ``i64 vertices``, ``i64 offsets[n + 1]``, then per arc ``i32 target`` or ``i32 target,
i32 weight``. In a directed graph, offsets and arcs of its reverse follow. Little-endian, without padding, magic or
version: the size must match exactly. Beamer, Asanović, Patterson: The GAP benchmark suite, arXiv:1508.03619.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.array_input import check_range
from dgraph.graph.build.rows_from_file import RawRows
from dgraph.graph.formats.binary import columns_of, share_of_rows, slice_of
from dgraph.graph.formats.counted_header import check_size
from dgraph.graph.formats.sniff import file_size, name_of

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions

HEADER = 17
WEIGHTED = {kind: np.dtype([("v", "<i4"), ("w", kind)]) for kind in ("int32", "float32")}
SAMPLE = 1024
"""First weights by which those of a build of GAPBS with float weights are recognised; the file does not say it."""
FLOATS = (1e-6, 1e9)
"""Weights of sizes between these floats are integers above 830 million or below -830 million, if they are integers."""


def read_sg(path: str, comm: Comm, options: LoadOptions) -> RawRows:
    """Read GAPBS's binary graph as rows of targets; the reverse of a directed one is skipped."""
    return _read(path, comm, options, np.dtype([("v", "<i4")]))


def read_wsg(path: str, comm: Comm, options: LoadOptions) -> RawRows:
    """Read GAPBS's binary graph with integer weights, or float32 by ``edge_data``.

    Raises:
        DataError: the first weights look like float32, and ``edge_data`` does not say which they are.
    """
    kind = options.edge_data or "int32"
    with comm.together():
        if kind not in WEIGHTED:
            raise UsageError(f"{path}: edge data as {kind} were asked for; of a .wsg they are int32 or float32")
        if options.edge_data is None and options.weights is None:
            _refuse_floats(path)
    return _read(path, comm, options, WEIGHTED[kind])


def _refuse_floats(path: str) -> None:
    """Refuse a file whose first weights are all float32 numbers of ordinary size, from its first bytes."""
    _, m, n = _header(path, file_size(path), WEIGHTED["int32"].itemsize)
    first = slice_of(path, WEIGHTED["int32"], min(m, SAMPLE), HEADER + 8 * (n + 1))["w"]
    floats = first.view(np.float32)
    sizes = np.abs(floats[floats != 0])
    if sizes.size and FLOATS[0] <= sizes.min() and sizes.max() <= FLOATS[1]:
        raise DataError(
            f"{path}: its first weights look like float32 ({floats.min():g} .. {floats.max():g}; as integers they are "
            f"{first.min()} .. {first.max()}), and the file does not say; say --edge-data float32 or int32 (edge_data=)"
        )


def _read(path: str, comm: Comm, options: LoadOptions, record: np.dtype) -> RawRows:
    threads = rank_threads(comm)
    with comm.together():
        directed, m, n = _header(path, file_size(path), record.itemsize)
        check_size(path, n, m, options)
        arcs_at = HEADER + 8 * (n + 1)
        first, ends = share_of_rows(
            path, n, m,
            lambda row: int(slice_of(path, "<i8", 1, HEADER + 8 * row)[0]),
            lambda low, high: slice_of(path, "<i8", high - low + 1, HEADER + 8 * low),
            comm,
        )  # fmt: skip
        begin, arcs = arcs_at + int(ends[0]) * record.itemsize, int(ends[-1] - ends[0])
        targets, *weights = columns_of(path, record, arcs, begin, threads)
        if isinstance(targets, np.ndarray):  # a GPU checks its own
            check_range(targets, 0, n - 1, f"{path}: target", int(ends[0]), threads)
    raw = RawRows(n, first, ends - ends[0], targets.view(np.uint32), weights[0] if weights else None, directed)
    raw.why, raw.facts.name = f"its header says directed = {int(directed)}", name_of(path)
    return raw


def _header(path: str, size: int, width: int) -> tuple[bool, int, int]:
    if size < HEADER:
        raise DataError(f"{path}: {size} bytes, fewer than the header has; is it the right file, written to its end?")
    flag = int(slice_of(path, "u1", 1, 0)[0])
    m, n = (int(value) for value in slice_of(path, "<i8", 2, 1))
    if flag > 1 or m < 0 or not 0 <= n <= 1 << 31:
        raise DataError(f"{path}: its header says directed {flag}, {m} arcs, {n} vertices; this is not a GAPBS graph")
    expected = HEADER + (1 + flag) * (8 * (n + 1) + width * m)
    if size != expected:
        cause = "was it cut short" if size < expected else "is it of the other kind (.sg, .wsg)"
        kind = "directed" if flag else "undirected"
        raise DataError(f"{path}: {size} bytes, but {m} {kind} arcs of {n} vertices need {expected}; {cause}?")
    return bool(flag), m, n
