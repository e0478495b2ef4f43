"""Long rows of in-edges, which a pull over all vertices walks by warps or in pieces."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block as control
from dgraph.program.row_reducers import HINDEX, MODE, RowReducer


class RowClasses:
    """Classes of in-edge rows of a :class:`DeviceGraph`, made when a program first needs them."""

    if TYPE_CHECKING:
        device: Any
        marks: Any
        incoming: Any
        local: Any
        degree: Any
        sorted_rows: bool

    @cached_property
    def degree_bounds(self) -> tuple[Any, Any]:
        """Bounds of degrees by tile of 2**DEGREES_BITS positions; None twice unless positions ascend in rows.

        The first array has the largest degree from the tile's first position on, the second the smallest degree up to
        its last position. They end scans of rows: degrees nearly fall with positions, but graphs built on a GPU are
        numbered before parallel arcs are merged.
        """
        count = len(self.degree)
        if not self.sorted_rows or not count:
            return None, None
        bits = control.DEGREES_BITS
        tiles, whole = count >> bits, count >> bits << bits
        inside, rest = self.degree[:whole].reshape(tiles, 1 << bits), self.device.get(self.degree[whole:])
        most, least = self.device.get(inside.max(axis=1)), self.device.get(inside.min(axis=1))
        if len(rest):
            most, least = np.append(most, rest.max()), np.append(least, rest.min())
        most_from = np.maximum.accumulate(most[::-1])[::-1]
        return self.device.put(np.ascontiguousarray(most_from)), self.device.put(np.minimum.accumulate(least))

    @cached_property
    def long_rows(self):
        """Rows of in-edges that a warp reads: uint32."""
        return self._between(control.SHORT_ROW, control.LONG_ROW)

    @cached_property
    def chunks(self):
        """Longest rows of in-edges in pieces: (row uint32, first edge), ascending by row."""
        return self.cut_rows(control.LONG_ROW, control.CHUNK)

    @cached_property
    def middle_rows(self):
        """Rows that a block folds by MODE in a small table: uint32."""
        return self._between(control.FOLD_LONG, control.FOLD_MIDDLE)

    @cached_property
    def table_rows(self):
        """Rows that a block folds by MODE in a large table: uint32."""
        return self._between(control.FOLD_MIDDLE, control.FOLD_TABLES)

    def fold_chunks(self, reducer: RowReducer):
        """Return, as :attr:`chunks`, the rows that a reducer folds by several warps."""
        if reducer is HINDEX:
            return self._hindex_folds
        return self._longest_folds if reducer is MODE else self._long_folds

    @cached_property
    def _longest_folds(self):
        return self.cut_rows(control.FOLD_TABLES, control.FOLD_CHUNK)

    @cached_property
    def _hindex_folds(self):
        return self.cut_rows(control.HINDEX_LONG, control.HINDEX_CHUNK)

    @cached_property
    def _long_folds(self):
        return self.cut_rows(control.FOLD_LONG, control.FOLD_CHUNK)

    def cut_rows(self, longest: int, length: int):
        """Return the rows longer than ``longest`` in pieces of ``length`` edges: (row uint32, first edge)."""
        device, offsets = self.device, self.incoming.offsets
        rows = self.marks.listed(device, offsets, longest + 1)
        starts, lengths = self.marks.spans(device, offsets, rows)
        pieces = -(-lengths // length)
        number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        first = np.repeat(starts, pieces) + number * length
        return device.put(np.repeat(device.get(rows), pieces)), device.put(first.astype(offsets.dtype))

    @cached_property
    def mirrors_at(self) -> tuple[int, int]:
        """First rows of mirrors among the long rows, and among the chunks; both ascend."""
        if self.local.masters == self.local.size:
            return len(self.long_rows), len(self.chunks[0])
        xp, first = self.device.xp, np.uint32(self.local.masters)
        long, chunks = (int(xp.searchsorted(rows, xp.asarray([first]))[0]) for rows in (self.long_rows, self.chunks[0]))
        return long, chunks

    def _in_degree(self):
        offsets = self.incoming.offsets
        return offsets[1:] - offsets[:-1]

    def _between(self, most: int, longest: int):
        """Return the rows of more than ``most`` and at most ``longest`` in-edges."""
        return self.marks.listed(self.device, self.incoming.offsets, most + 1, longest)
