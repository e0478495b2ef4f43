"""Rows of a whole graph, filled on a GPU with those that ranks send one after another.

Rows of one vertex may come from several ranks. Entry: :class:`RowAssembly`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of
from dgraph.backend.cuda.transports import bulk_moves

PIECE = 1 << 22
"""Arcs sorted at a time."""

ITEM = 48
"""Scratch bytes for each item of a piece that is placed or sorted."""


@cache
def text() -> str:
    """Return the text of the kernel that places arcs; CuPy's has no positions of 2**31 and more."""
    return own_text("", "place_rows")


class RowAssembly:
    """Rows that are being filled.

    Args:
        device: this GPU.
        lengths: arcs of each row, int64 on the device.

    Attributes:
        starts: of the rows in ``targets``, int64 (rows + 1,); ``targets``: uint32.
    """

    def __init__(self, device: Any, lengths: Any):
        xp = device.xp
        self.device, self.starts = device, xp.zeros(len(lengths) + 1, np.int64)
        xp.cumsum(lengths, out=self.starts[1:])
        self.targets = xp.empty(int(device.get(self.starts[-1:])[0]), np.uint32)
        self._filled = self.starts[:-1].copy()
        self._rows: tuple[Any, Any] | None = None

    def begin(self, rows: Any, lengths: Any) -> None:
        """Make room for arcs of some rows.

        Args:
            rows: their numbers, each once, uint32.
            lengths: numbers of arcs, uint32.
        """
        xp = self.device.xp
        first = xp.zeros(len(rows) + 1, np.int64)
        xp.cumsum(lengths, out=first[1:])
        self._rows = first, self._filled[rows] - first[:-1]
        self._filled[rows] += lengths

    def fill(self, first: int, targets: Any) -> None:
        """Place the targets, uint32, of the arcs from number ``first`` on of the rows given to :meth:`begin`."""
        begins, moved = self._rows  # type: ignore[misc]
        module = self.device.module(text(), "place_rows")
        words = begins, moved, len(moved), first, len(targets), targets, self.targets
        module.set_environment(words_of(self.device, words))
        module.launch("place_rows", self.device.blocks * module.resident("place_rows"))

    def end(self) -> None:
        """Free what only filling needs."""
        del self._filled, self._rows


def bytes_to_fill(arcs: int) -> int:
    """Return the most scratch bytes for pieces of ``arcs`` arcs that are placed and sorted."""
    return ITEM * min(max(PIECE, bulk_moves.PIECE // 4), arcs)


def sort_rows(device: Any, starts: Any, targets: Any) -> None:
    """Sort each row's targets in place, piece by piece; a piece has whole rows, or one row that is longer.

    Args:
        device: this GPU.
        starts: of the rows, int64 (rows + 1,).
        targets: uint32.
    """
    xp, arcs, last = device.xp, len(targets), 0
    while (first := last) < arcs:
        row = int(xp.searchsorted(starts, xp.asarray([min(first + PIECE, arcs)]), side="right")[0]) - 1
        last = int(starts[row])
        if last <= first:
            last = int(starts[row + 1])
            device.sort(targets[first:last])
            continue
        keys = xp.searchsorted(starts, xp.arange(first, last, dtype=np.int64), side="right").view(np.uint64)
        keys <<= np.uint64(32)
        keys |= targets[first:last]
        device.sort(keys)
        targets[first:last] = keys
