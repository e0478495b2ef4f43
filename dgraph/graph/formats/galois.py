"""Galois's binary ``.gr``, versions 1 and 2; distinguished from DIMACS's text by the first eight bytes.

``u64 version, edge data size, vertices, arcs``, then ``u64 end[n]``, the end of each row. Targets follow as ``u32``
(version 2: ``u64``), padded to 8 bytes, then the edge data. Galois's own code is inconsistent about padding in version
2, so the size of the file decides. Little-endian. Galois, libgalois/src/FileGraph.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError, UsageError
from dgraph.graph.block import gid_type
from dgraph.graph.build.array_input import check_range
from dgraph.graph.build.rows_from_file import RawRows
from dgraph.graph.formats.binary import share_of_rows, slice_of
from dgraph.graph.formats.counted_header import check_size
from dgraph.graph.formats.sniff import file_size, name_of

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions

HEADER = 32
MAGIC = {version.to_bytes(8, "little") for version in (1, 2)}
KINDS = {4: ("int32", "float32"), 8: ("int64", "float64")}
"""Possible types of edge data by their size in bytes; the file does not store the type."""
SMALL = {4: 1 << 23, 8: 1 << 52}
"""Integers below this are, read as floats, 0 or subnormal: then the data must be integers."""
LARGEST = np.iinfo(np.int64).max


def read_galois(path: str, comm: Comm, options: LoadOptions) -> RawRows:
    """Read rows of targets, with edge data of 4 or 8 bytes as weights; directed."""
    with comm.together():
        size = file_size(path)
        if size < HEADER:
            raise DataError(f"{path}: {size} bytes, fewer than the header has; was it cut short?")
        version, width, n, m = (int(value) for value in slice_of(path, "<u8", 4, 0))
        data_at = _layout(path, size, version, width, n, m)
        check_size(path, n, m, options)
        ends_at, wide = HEADER, 4 * version
        first, ends = share_of_rows(
            path, n, m,
            lambda row: int(slice_of(path, "<u8", 1, ends_at + 8 * (row - 1))[0]) if row else 0,
            lambda low, high: _offsets(path, low, high, m),
            comm,
        )  # fmt: skip
        low, count = int(ends[0]), int(ends[-1] - ends[0])
        targets = slice_of(path, f"<u{wide}", count, HEADER + 8 * n + wide * low)
        check_range(targets, 0, n - 1, f"{path}: target", low)
        weights = _weights(path, width, count, data_at + width * low) if width else None
    weights = _converted(weights, path, width, options.edge_data, comm)
    raw = RawRows(n, first, ends - low, targets.astype(gid_type(n), copy=False), weights)
    raw.why, raw.facts.name = "the default for Galois's .gr", name_of(path)
    if weights is not None:
        raw.facts.notes.append(f"edge data of {width} bytes read as {weights.dtype}")
    return raw


def _layout(path: str, size: int, version: int, width: int, n: int, m: int) -> int:
    """Check the size of the file, and return the offset of the edge data."""
    if width not in (0, 4, 8):
        raise DataError(
            f"{path}: edge data of {width} bytes; supported are 0, 4 and 8; write them as one number an edge"
        )
    plain = HEADER + 8 * n + 4 * version * m
    starts = {plain + 4 * (m % 2)} if version == 1 else {plain, plain + 8 * (m % 2)}
    fitting = [start for start in starts if size == start + width * m]
    if not fitting:
        expected = " or ".join(str(start + width * m) for start in sorted(starts))
        cause = "was it cut short" if size < min(starts) + width * m else "was something appended"
        raise DataError(
            f"{path}: {size} bytes, but {m} arcs of {n} vertices, {width} bytes of data each, take {expected}; {cause}?"
        )
    return fitting[0]


def _offsets(path: str, low: int, high: int, m: int) -> np.ndarray:
    """Return the offsets of the first arcs of rows ``low .. high``; a number past 2^63 comes out negative."""
    ends = slice_of(path, "<u8", high - max(low, 1) + 1, HEADER + 8 * (max(low, 1) - 1)).view(np.int64)
    return ends if low else np.concatenate([np.zeros(1, np.int64), ends])


def _weights(path: str, width: int, count: int, offset: int) -> np.ndarray:
    return slice_of(path, f"<i{width}", count, offset)


def _converted(weights: np.ndarray | None, path: str, width: int, kind: str | None, comm: Comm) -> np.ndarray | None:
    """Return edge data in their type, given or inferred from their values; collective."""
    if weights is None:
        if kind is not None:
            raise UsageError(f"{path}: edge data as {kind} were asked for, but it has none")
        return None
    kinds = KINDS[width]
    if kind is not None and kind not in kinds:
        raise UsageError(f"{path}: edge data as {kind} were asked for; of {width} bytes they are {' or '.join(kinds)}")
    if kind is None:
        largest = comm.largest(min(max(-int(weights.min(initial=0)), int(weights.max(initial=0))), LARGEST))
        if largest >= SMALL[width]:
            raise UsageError(
                f"{path}: its edge data may be {kinds[0]} (up to {largest}) or {kinds[1]}, and the file does not say; "
                "say it with --edge-data (edge_data=)"
            )
    return weights.view(kind or kinds[0])
