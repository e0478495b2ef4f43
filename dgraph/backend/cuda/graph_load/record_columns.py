"""Fields of fixed-size records as arrays on a GPU, for ``binary.columns_of``; threads read them into pinned memory."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dgraph.errors import DataError
from dgraph.graph.formats.binary import ColumnReader

LEAST = 1 << 22
"""Bytes of records that are worth it."""
SHARE = 4
"""Part of the free memory that records and columns may take, 1 / SHARE."""


def column_reader(device: Any) -> ColumnReader:
    """Return a reader for ``binary.columns_by``. Values are not checked."""

    def read(path: str, record: np.dtype, count: int, offset: int) -> list[Any] | None:
        size, names = count * record.itemsize, record.names or ()
        able = all(record[name] in ("<i4", "<f4") for name in names) and size >= LEAST
        if not (able and 2 * SHARE * size <= device.free(2 * SHARE * size)):
            return None
        records = device.xp.empty(size, np.uint8)
        file = os.open(path, os.O_RDONLY)

        def fill(place: np.ndarray, first: int) -> None:
            length = os.preadv(file, [place.data], offset + first)
            if length < place.size:
                end = (first + length) // record.itemsize
                raise DataError(f"{path}: ends at record {end} of {count}; was it cut short?")

        try:
            device.fill(records, fill)
        finally:
            os.close(file)
        fields = records.view(np.uint32).reshape(count, len(names))
        return [device.xp.ascontiguousarray(fields[:, k]).view(record[name]) for k, name in enumerate(names)]

    return read
