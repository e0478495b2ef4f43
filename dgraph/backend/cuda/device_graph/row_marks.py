"""Figures and lists of rows on a GPU (``row_marks.cuh``): one small module for all graphs, quickly compiled.

CuPy compiles a kernel for each operation and dtypes, one after the other: its compiler reads long headers under a lock.
So the first graph of a machine waits for none of these.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of

NAME = "row_marks"
ENDLESS = 2**62


@cache
def text() -> str:
    """Return the text of the kernels."""
    return own_text("", NAME)


def _launch(
    device: Any, kernel: str, rows: int, offsets: Any = None, *, neighbours: Any = None, ids: Any = None,
    degrees: Any = None, least: int = 0, most: int = ENDLESS, marks: Any = None, figures: Any = None, argument: int = 0,
) -> None:  # fmt: skip
    arrays = offsets, ids, degrees
    wide = (int(array is not None and array.dtype.itemsize == 8) for array in arrays)
    module = device.module(text(), NAME)
    module.set_environment(
        words_of(device, [offsets, neighbours, ids, degrees, rows, *wide, least, most, marks, figures])
    )
    module.launch(kernel, device.blocks * module.resident(kernel), argument)


def _figure(device: Any, kernel: str, rows: int, offsets: Any = None, **values: Any) -> int:
    figures = device.xp.zeros(1, np.uint64)
    _launch(device, kernel, rows, offsets, figures=figures, **values)
    return int(figures[0])


def lengths(device: Any, offsets: Any) -> Any:
    """Return the lengths of rows, below 2**32: uint32 (rows,)."""
    marks = device.xp.empty(len(offsets) - 1, np.uint32)
    _launch(device, "write_lengths", marks.size, offsets, marks=marks)
    return marks


def smallest_id(device: Any, degrees: Any, ids: Any, degree: int) -> int:
    """Return the smallest id of a row with this degree, which some row has."""
    return 2**64 - 1 - _figure(device, "find_busiest", len(degrees), ids=ids, degrees=degrees, least=degree)


def behind_last(device: Any, rows: int, least: int, offsets: Any = None, degrees: Any = None) -> int:
    """Return 1 + the last of ``rows`` rows with at least ``least`` entries, or of that degree; 0: there is none."""
    return _figure(device, "find_last", rows, offsets, degrees=degrees, least=least)


def heads(device: Any, offsets: Any, neighbours: Any) -> Any:
    """Return the first entry of each row, or ``NO_HEAD``: uint32 (rows,)."""
    marks = device.xp.empty(len(offsets) - 1, np.uint32)
    _launch(device, "write_heads", marks.size, offsets, neighbours=neighbours, marks=marks)
    return marks


def bits(device: Any, offsets: Any, least: int) -> Any:
    """Return a bitmap of the rows with at least ``least`` entries: uint32 (rows / 32, rounded up)."""
    rows = len(offsets) - 1
    marks = device.xp.empty((rows + 31) // 32, np.uint32)
    _launch(device, "write_bits", rows, offsets, least=least, marks=marks)
    return marks


def places(device: Any, ids: Any) -> tuple[Any, Any]:
    """Return each row's place in the order of ids, and the row at each place: uint32."""
    rows = len(ids)
    marks = device.xp.empty(2 * rows, np.uint32)
    _launch(device, "write_places", rows, ids=device.xp.argsort(ids), marks=marks)
    return marks[rows:], marks[:rows]


def listed(device: Any, offsets: Any, least: int, most: int = ENDLESS) -> Any:
    """Return the rows of ``least`` to ``most`` entries, ascending: uint32."""
    rows = len(offsets) - 1
    marks = device.xp.empty(_figure(device, "list_rows", rows, offsets, least=least, most=most), np.uint32)
    if marks.size:
        _figure(device, "list_rows", rows, offsets, least=least, most=most, marks=marks)
        device.sort(marks)
    return marks


def spans(device: Any, offsets: Any, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts and lengths of some rows, on the host: int64."""
    figures = device.xp.empty(2 * rows.size, np.uint64)
    if rows.size:
        _launch(device, "read_rows", len(offsets) - 1, offsets, marks=rows, figures=figures, argument=rows.size)
    first, length = device.get(figures).view(np.int64).reshape(2, -1)
    return first, length
