"""Columns of a whole file, in which threads store the values of its pieces where they belong.

A thread counts the lines of a piece, waits for the number of lines before it, and parses into the columns, uncopied.
That holds for pieces of plain lines (``plain_scan.py``) whose values fit the narrowest types. After the first other
piece, pieces have columns of their own, and all are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Condition

import numpy as np

from dgraph.graph.formats.column import IDS, WEIGHTS, Arena
from dgraph.graph.formats.plain_scan import count_lines

Text = tuple[np.ndarray, bool]
NO_TEXT = np.empty(0, np.uint8)

SPARE = 1.1
"""Lines for which memory is mapped, as a multiple of what the first piece lets expect; it is used page by page."""


class PlacedLines:
    """Sources, targets and weights of a file's lines.

    Args:
        size: bytes of the lines.
        weighted: True if lines have weights.

    Attributes:
        used: False once a piece has columns of its own.
    """

    def __init__(self, size: int, weighted: bool):
        self.size, self.weighted, self.used = size, weighted, True
        self.columns: tuple[np.ndarray, ...] = ()
        self._counts: dict[int, int] = {}
        self._begins = [0]
        self._counted = Condition()

    def texts(self, piece: int, texts: Iterable[Text], fill: Callable[..., bool]) -> Sequence[Text]:
        """Fill the columns of a piece; return its texts if it has columns of its own. Every piece calls this or fails.

        Args:
            piece: its number, from 0 on in the order in which they begin.
            texts: whole lines, and True where they are padded: one text, unless it has lines too long for a buffer.
            fill: stores the values of a text in columns, or returns False.
        """
        pairs = list(texts)
        whole = len(pairs) == 1 and pairs[0][1] and self.used
        text = pairs[0][0] if whole else NO_TEXT
        columns = self._place(piece, count_lines(text) if whole else None, text.size)
        if columns and fill(text, columns):
            return ()
        self.give_up()
        return pairs

    def give_up(self) -> None:
        """Let all further pieces have columns of their own; a piece that fails calls it, for which others may wait."""
        with self._counted:
            self.used = False
            self._counted.notify_all()

    def _place(self, piece: int, lines: int | None, size: int) -> tuple[np.ndarray, ...]:
        """Return memory for ``lines`` values a column, () if there is none.

        It waits until the pieces before are counted: they began earlier, so that none of them waits for this one.
        """
        with self._counted:
            if piece == 0 and lines:
                most = int(SPARE * lines * self.size / size) + lines
                kinds = IDS[0], IDS[0], WEIGHTS[0]
                self.columns = tuple(Arena().empty(most, kind) for kind in kinds[: 2 + self.weighted])
            self._counts[piece] = lines or 0
            while (last := len(self._begins) - 1) in self._counts:
                self._begins.append(self._begins[last] + self._counts.pop(last))
            self._counted.notify_all()
            self._counted.wait_for(lambda: not self.used or piece < len(self._begins) - 1)
            if not self.used:
                return ()
        begin, end = self._begins[piece : piece + 2]
        if lines is None or not self.columns or end > self.columns[0].size:
            return ()
        return tuple(column[begin:end] for column in self.columns)

    def whole(self) -> tuple[np.ndarray, ...]:
        """Return the columns of all pieces; () if some piece has columns of its own."""
        return tuple(column[: self._begins[-1]] for column in self.columns) if self.used else ()
