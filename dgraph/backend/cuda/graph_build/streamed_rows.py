"""Rows in the host's memory placed on a GPU piece by piece: no list of them lies there.

Threads copy a piece's weights and targets through pinned memory. ``place_rows`` (``listed_rows.cuh``) moves them to
their places in the rows by position, which the rows' lengths determine before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.graph_build.build_kernels import WRONG, BuildKernels
from dgraph.graph.build.rows_from_file import RawRows

LEAST, PARTS = 1 << 20, 32
"""Entries of a piece: at least LEAST, and of many a share, 1 / PARTS."""


class WrongList(Exception):
    """A list that the host is to refuse: it names the place."""


def piece_of(entries: int) -> int:
    """Return the entries of a piece, an even number."""
    return max(LEAST, entries // PARTS) & ~1


def place_rows(raw: RawRows, kernels: BuildKernels, starts: Any, offsets: Any) -> tuple[Any, Any]:
    """Return targets and weights by position, loops among them, where rows begin at ``starts[1:]``.

    Args:
        raw: the rows.
        kernels: with the numbers of the vertices.
        starts: uint64 (n + 2,).
        offsets: of the rows by gid, uint64 (n + 1,) on the GPU.

    Raises:
        WrongList: a target that is no vertex, or a weight that is NaN.
    """
    device, xp, entries = kernels.device, kernels.device.xp, raw.targets.size
    width = 0 if raw.weights is None else raw.weights.itemsize
    piece, wrong = piece_of(entries), []

    def read(place: np.ndarray, first: int) -> None:
        while place.size:
            number, offset = divmod(first, piece * (width + 4))
            count = min(piece, entries - number * piece)
            weighs = offset < width * count
            column, kind = (raw.weights, raw.weights.dtype) if weighs else (raw.targets, np.dtype(np.uint32))
            offset -= 0 if weighs else width * count
            size = min(place.size, kind.itemsize * count - offset)
            begin = number * piece + offset // kind.itemsize
            values = column[begin : begin + size // kind.itemsize]
            if (
                np.isnan(values).any()
                if weighs and kind.kind == "f"
                else values.itemsize == 8 and not weighs and (values.min() < 0 or values.max() >= 1 << 32)
            ):
                wrong.append(begin)
            place[:size].view(kind)[:] = values
            place, first = place[size:], first + size

    targets = xp.empty(max(entries, 1), np.uint32)
    weights = None if raw.weights is None else xp.empty(max(entries, 1), raw.weights.dtype)
    part = xp.empty(min(piece, entries) * (width + 4), np.uint8)
    kernels.take(starts=offsets, counts=starts, targets=targets, weights=weights)
    kernels.set(row_end=offsets.size - 1)
    with device.streamed(entries * (width + 4), read) as fill:
        for begin in range(0, entries, piece):
            count = min(piece, entries - begin)
            fill(part[: count * (width + 4)])
            kernels.take(entered=part[count * width :], listed=part if width else None)
            kernels.set(begin=begin, end=begin + count)
            kernels.launch("place_rows")
    kernels.take(counts=None, entered=None, listed=None)
    if wrong or kernels.counted()[WRONG]:
        raise WrongList
    return targets, weights
