"""Shared by readers of fixed-size records: slices of a file as arrays, and rows distributed over the ranks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import numpy as np

from dgraph._support.threads import in_order
from dgraph.comm.base import Comm
from dgraph.comm.context_values import set_within
from dgraph.errors import DataError
from dgraph.graph.reading import Reading

STEP = 1 << 18
"""Records read at a time by :func:`columns_of`."""
PART = 1 << 26
"""Bytes read at a time by :func:`slice_of`."""


ColumnReader = Callable[[str, np.dtype, int, int], "list[Any] | None"]
"""``read(path, record, count, offset)`` reads as :func:`columns_of`, elsewhere than on the host; None: it cannot."""
_reader: ContextVar[ColumnReader | None] = ContextVar("reader", default=None)


def columns_by(reader: ColumnReader) -> AbstractContextManager[None]:
    """Let another reader than the host's read columns within the body."""
    return set_within(_reader, reader)


def slice_of(path: str, dtype: str | np.dtype, count: int, offset: int) -> np.ndarray:
    """Read ``count`` values from byte ``offset`` of a file, in this machine's byte order."""
    dtype = np.dtype(dtype)
    values, reading = np.empty(count, dtype), Reading(count * dtype.itemsize)
    raw = values.view(np.uint8)
    with open(path, "rb", buffering=0) as file:
        file.seek(offset)
        while reading.done < raw.size:
            size = file.readinto(raw[reading.done : reading.done + PART])  # type: ignore[arg-type]
            if not size:
                end = reading.done // dtype.itemsize
                raise DataError(f"{path}: ends at value {end} of {count} from byte {offset} on; was it cut short?")
            reading.add(size)
    return values.astype(dtype.newbyteorder("="), copy=False)


def columns_of(path: str, record: np.dtype, count: int, offset: int, threads: int) -> list[Any]:
    """Read the fields of ``count`` records from byte ``offset`` on, each into an array of its own; see columns_by."""
    reader = _reader.get()
    elsewhere = None if reader is None else reader(path, record, count, offset)
    if elsewhere is not None:
        return elsewhere
    columns = [np.empty(count, record[name].newbyteorder("=")) for name in record.names or ()]
    reading = Reading(count * record.itemsize)

    def read(start: int) -> int:
        part = np.fromfile(path, record, min(STEP, count - start), offset=offset + start * record.itemsize)
        if part.size != min(STEP, count - start):
            raise DataError(f"{path}: ends at record {start + part.size} of {count}; was it cut short?")
        for name, column in zip(record.names or (), columns, strict=True):
            column[start : start + part.size] = part[name]
        return part.nbytes

    for size in in_order(read, range(0, count, STEP), threads):
        reading.add(size)
    return columns


def share_of_rows(
    path: str, n: int, m: int, offset_at: Callable[[int], int], offsets_of: Callable[[int, int], np.ndarray], comm: Comm
) -> tuple[int, np.ndarray]:
    """Return the first of this rank's rows, and the rows' offsets in the file (rows + 1,).

    Every rank gets about equally many arcs plus rows.

    Args:
        path: the file, for messages.
        n: rows in the file.
        m: arcs in the file.
        offset_at: returns the offset of the first arc of a row.
        offsets_of: returns these offsets for rows ``low .. high``, both included.
        comm: communicator of the ranks.

    Raises:
        DataError: offsets that do not ascend from 0 to m. Not collective: the caller raises it on all ranks.
    """
    low, high = (_first_row(rank, n, m, offset_at, comm) for rank in (comm.rank, comm.rank + 1))
    ends = offsets_of(low, high) if low <= high else np.zeros(0, np.int64)
    right = ends.size and (low > 0 or ends[0] == 0) and (high < n or ends[-1] == m)
    if not right or ends[0] < 0 or ends[-1] > m or (np.diff(ends) < 0).any():
        raise DataError(f"{path}: the offsets of its {n} rows do not ascend from 0 to {m}; write it again")
    return low, ends


def _first_row(rank: int, n: int, m: int, offset_at: Callable[[int], int], comm: Comm) -> int:
    """Return the first row of a rank by binary search, assuming that offsets ascend."""
    goal, low, high = rank * (n + m) // comm.size, 0, n
    if rank in (0, comm.size):
        return n if rank else 0
    while low < high:
        middle = (low + high) // 2
        if offset_at(middle) + middle >= goal:
            high = middle
        else:
            low = middle + 1
    return low
