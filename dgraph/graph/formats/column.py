"""A column that grows while a file is read, in the narrowest type that holds its values so far."""

from __future__ import annotations

import numpy as np

IDS: tuple[np.dtype, ...] = (np.dtype(np.uint32), np.dtype(np.int64))
"""What a column of ids may come out as."""
WEIGHTS: tuple[np.dtype, ...] = (np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64))
"""What a column of weights may come out as: the first that holds every value."""
SPARE = 1.02
"""Room is made for this times the values that are expected."""


class Column:
    """Values put one after the other into one array, which grows in place (``realloc``): no second copy is held.

    Attributes:
        types: dtypes that it may have, each wider than the one before.
        level: which of them it has.
    """

    def __init__(self, types: tuple[np.dtype, ...]):
        self.types, self.level, self.size = types, 0, 0
        self._room = np.empty(0, types[0])

    def extend(self, values: np.ndarray, share: float = 1.0) -> None:
        """Append int64 or float64 values; the column is expected to become ``share`` times as long as it then is."""
        self._widen(self._level_of(values))
        end = self.size + values.size
        if end > self._room.size:
            self._resize(max(end, int(SPARE * share * end)))
        self._room[self.size : end] = values
        self.size = end

    def add(self, number: int) -> None:
        """Add a number to every value of a column of ids."""
        if number and self.size:
            self._widen(self._level_of(np.array([int(self._room[: self.size].max()) + number])))
            self._room[: self.size] += self.types[self.level].type(number)

    def finish(self, level: int) -> np.ndarray:
        """The values, in type number ``level``, which is no narrower than the column's; it ends empty."""
        self._resize(self.size)
        self._widen(level)
        out, self._room, self.size = self._room, np.empty(0, self.types[0]), 0
        return out

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
            self.level, self._room = level, self._room.astype(self.types[level])

    def _resize(self, size: int) -> None:
        if size != self._room.size:
            self._room.resize(size, refcheck=False)
