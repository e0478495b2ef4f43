"""Rows in the host's memory brought to a GPU by position, piece by piece (``placed_rows.cuh``).

Threads copy the weights and targets of a piece through pinned memory, and the kernel moves them to their places, which
the rows' lengths determine before. So no second copy of the rows lies on the GPU.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of

NAME = "placed_rows"
LEAST, PARTS = 1 << 20, 32
"""Entries of a piece: at least LEAST, and of many a share, 1 / PARTS."""


@cache
def text() -> str:
    """Return the text of the kernel."""
    return own_text((Path(__file__).parent / f"{NAME}.cuh").read_text())


def piece_of(entries: int) -> int:
    """Return the entries of a piece, an even number."""
    return max(LEAST, entries // PARTS) & ~1


def placed(
    device: Any, offsets: Any, starts: Any, place: Any, targets: np.ndarray, weights: np.ndarray | None
) -> tuple[Any, Any, tuple[int, int]]:
    """Return targets and weights by position, and counts of wrong values and of loops.

    Args:
        device: the GPU.
        offsets: of the rows in the order of ``targets``, int64 or uint64 (rows + 1,) on the GPU.
        starts: of the rows by position, likewise.
        place: position of each row and target, uint32 (rows,) on the GPU; None: their number.
        targets: numbers of rows; others are wrong, and are counted.
        weights: of four or eight bytes each, or None; NaN is wrong.
    """
    xp, entries, rows = device.xp, targets.size, offsets.size - 1
    width = 0 if weights is None else weights.itemsize
    piece, wrong = piece_of(entries), []

    def read(memory: np.ndarray, first: int) -> None:
        while memory.size:
            number, offset = divmod(first, piece * (width + 4))
            count = min(piece, entries - number * piece)
            if weights is not None and offset < width * count:
                column, kind = weights, weights.dtype
            else:
                column, kind, offset = targets, np.dtype(np.uint32), offset - width * count
            size = min(memory.size, kind.itemsize * count - offset)
            begin = number * piece + offset // kind.itemsize
            values = column[begin : begin + size // kind.itemsize]
            if kind.kind == "f":
                wrong.extend([begin] * bool(np.isnan(values).any()))
            elif values.itemsize > kind.itemsize and not 0 <= values.min() <= values.max() < 1 << 32:
                wrong.append(begin)
            memory[:size].view(kind)[:] = values
            memory, first = memory[size:], first + size

    here, moved = xp.empty(max(entries, 1), np.uint32), None
    if weights is not None:
        moved = xp.empty(max(entries, 1), weights.dtype)
    part, figures = xp.empty(min(piece, entries) * (width + 4), np.uint8), xp.zeros(2, np.uint64)
    module = device.module(text(), NAME)
    with device.streamed(entries * (width + 4), read) as fill:
        for begin in range(0, entries, piece):
            count = min(piece, entries - begin)
            fill(part[: count * (width + 4)])
            entered, listed = part[count * width :], part if width else None
            module.set_environment(words_of(device, [
                offsets, rows, starts, place, begin, count, entered, listed, here, moved, width, figures
            ]))  # fmt: skip
            module.launch("place_rows", device.blocks * module.resident("place_rows"))
    counted = device.get(figures).astype(np.int64).tolist()
    return here, moved, (counted[0] + len(wrong), counted[1])
