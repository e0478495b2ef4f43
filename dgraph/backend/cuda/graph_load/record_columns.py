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
"""Part of the free memory that columns, and records of a piece, may take, 1 / SHARE."""
PIECE, PARTS = 1 << 20, 32
"""Records on the GPU at a time: at least PIECE, and of many a share, 1 / PARTS."""


def column_reader(device: Any) -> ColumnReader:
    """Return a reader for ``binary.columns_by``. Values are not checked."""

    def read(path: str, record: np.dtype, count: int, offset: int) -> list[Any] | None:
        size, names = count * record.itemsize, record.names or ()
        able = all(record[name] in ("<i4", "<f4") for name in names) and size >= LEAST
        piece = min(max(PIECE, count // PARTS), count)
        need = SHARE * (size + piece * record.itemsize)
        if not (able and need <= device.free(need)):
            return None
        columns = [device.xp.empty(count, record[name]) for name in names]
        records = device.xp.empty((piece, len(names)), np.uint32)
        file = os.open(path, os.O_RDONLY)

        def fill(place: np.ndarray, first: int) -> None:
            length = os.preadv(file, [place.data], offset + first)
            if length < place.size:
                end = (first + length) // record.itemsize
                raise DataError(f"{path}: ends at record {end} of {count}; was it cut short?")

        try:
            with device.streamed(size, fill) as take:
                for first in range(0, count, piece):
                    part = records[: count - first]
                    take(part)
                    for k, column in enumerate(columns):
                        column.view(np.uint32)[first : first + piece] = part[:, k]
        finally:
            os.close(file)
        return columns

    return read
