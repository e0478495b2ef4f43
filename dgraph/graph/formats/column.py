"""A column that grows while a file is read, in the narrowest type that holds its values so far."""

from __future__ import annotations

import numpy as np

from dgraph._support.threads import in_order
from dgraph.graph.build.array_input import EXACT
from dgraph.graph.build.memory_pages import mapped_memory

IDS: tuple[np.dtype, ...] = (np.dtype(np.uint32), np.dtype(np.int64))
"""Possible dtypes of a column of ids."""
WEIGHTS: tuple[np.dtype, ...] = (np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64))
"""Possible dtypes of a column of weights: the first that holds every value."""
SPARE = 1.02
"""Capacity allocated, as a multiple of the expected number of values."""
GROWTH = 1.5
"""Expected growth of a column, if the remaining size is unknown."""

ARENA = 8 << 20
"""Bytes that an :class:`Arena` maps at a time."""


class Arena:
    """Memory of one thread's columns of one kind. It goes back to the system with the last column that lies there.

    Columns of pieces are small and many: mapped one by one, each page of 4 KiB would be a fault of its own.
    """

    def __init__(self) -> None:
        self._free: memoryview = memoryview(b"")

    def empty(self, size: int, kind: np.dtype) -> np.ndarray:
        """Return an array of ``size`` values."""
        if not size:
            return np.empty(0, kind)
        need = -(-size * kind.itemsize // 64) * 64
        if need > len(self._free):
            self._free = mapped_memory(max(ARENA, need))
        here, self._free = self._free[:need], self._free[need:]
        return np.frombuffer(here, kind, size)


class GrowingColumn:
    """Values appended to one array, which grows in place (``realloc``), so that no second copy is held.

    Args:
        types: see below.
        arena: memory of a column that grows by copying, such as that of a piece of a file; None: it has its own.

    Attributes:
        types: allowed dtypes, each wider than the one before.
        level: index of the current dtype.
        size: number of values.
        rounded: True if integers beyond :data:`EXACT` became doubles.
        zeros: positions of integers written as ``-0``, which are -0.0 beside fractions.
    """

    def __init__(self, types: tuple[np.dtype, ...], arena: Arena | None = None):
        self.types, self.level, self.size, self.arena, self.rounded = types, 0, 0, arena, False
        self.zeros = np.empty(0, np.int64)
        self._buffer = np.empty(0, types[0])

    def extend(self, values: np.ndarray, share: float = 1.0, zeros: np.ndarray | None = None) -> None:
        """Append int64, float64 or narrowest values; the final length is expected to be ``share`` times the new one.

        ``zeros``: positions of integers in ``values`` written as ``-0``.
        """
        if values.dtype != self.types[0]:
            self._widen(self._level_of(values))
        end = self.size + values.size
        if end > self._buffer.size:
            self._resize(end if share == 1 else int(SPARE * share * end))
        self._buffer[self.size : end] = values
        if zeros is not None and zeros.size:
            self.zeros = np.concatenate([self.zeros, self.size + zeros])
        self._sign(self._buffer, self.level)
        self.rounded = self.rounded or self._rounds(values, self.level)
        self.size = end

    def adopt(self, values: np.ndarray) -> None:
        """Make values of the narrowest type those of the empty column."""
        self._buffer, self.size = values, values.size

    def add(self, number: int) -> None:
        """Add a number to every value of a column of ids."""
        if number and self.size:
            self._widen(self._level_of(np.array([int(self._buffer[: self.size].max()) + number])))
            self._buffer[: self.size] += self.types[self.level].type(number)

    def finish(self, level: int) -> np.ndarray:
        """Return the values in dtype ``types[level]``, at least as wide as the current one, and empty the column."""
        self._resize(self.size)
        self._widen(level)
        values, self._buffer, self.size = self._buffer, np.empty(0, self.types[0]), 0
        return values

    @staticmethod
    def joined(columns: list[GrowingColumn], level: int, threads: int) -> np.ndarray:
        """Return the values of all columns in dtype ``types[level]``, copied by threads, and empty the columns."""
        if len(columns) == 1:
            return columns[0].finish(level)
        ends = np.cumsum([column.size for column in columns])
        joined = Arena().empty(int(ends[-1]), columns[0].types[level])

        def copy(index: int) -> None:
            column = columns[index]
            values = column.finish(column.level)
            joined[ends[index] - values.size : ends[index]] = values
            column._sign(joined[ends[index] - values.size : ends[index]], level)
            column.rounded = column.rounded or column._rounds(values, level)

        for _ in in_order(copy, range(len(columns)), threads):
            pass
        return joined

    def _sign(self, values: np.ndarray, level: int) -> None:
        """Make the values at ``zeros`` negative, if the dtype ``types[level]`` has a -0."""
        if self.zeros.size and self.types[level].kind == "f":
            values[self.zeros], self.zeros = -0.0, np.empty(0, np.int64)

    def _rounds(self, values: np.ndarray, level: int) -> bool:
        """Return True if some values are integers that the dtype ``types[level]`` rounds."""
        if values.dtype != np.int64 or self.types[level].kind != "f" or not values.size:
            return False
        return bool(values.max() > EXACT or values.min() < -EXACT)

    def _level_of(self, values: np.ndarray) -> int:
        if not values.size:
            return 0
        if values.dtype.kind == "f":
            return len(self.types) - 1
        low, high = int(values.min()), int(values.max())
        return next(i for i, kind in enumerate(self.types) if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)

    def _widen(self, level: int) -> None:
        if level > self.level:
            self._resize(self.size)
            self.rounded = self.rounded or self._rounds(self._buffer, level)
            self.level, self._buffer = level, self._buffer.astype(self.types[level])
            self._sign(self._buffer, level)

    def _resize(self, size: int) -> None:
        if size == self._buffer.size:
            return
        if self.arena is None:
            self._buffer.resize(size, refcheck=False)
        elif size < self._buffer.size:
            self._buffer = self._buffer[:size]
        else:
            grown = self.arena.empty(size, self.types[self.level])
            grown[: self.size] = self._buffer[: self.size]
            self._buffer = grown
