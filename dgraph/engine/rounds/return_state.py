"""State: the return value of a program that has run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.result.columns import FieldColumn, same


def as_int64(values: Any) -> Any:
    """Return an array of NumPy or CuPy as int64."""
    return values.astype(np.int64)


@dataclass(frozen=True)
class State:
    """Return state of a program: the fields of this rank's masters, and the globals.

    Attributes:
        fields: name → array, shape (masters,); bool fields as uint8. A GPU's array is copied to the host at first use.
        globals: name → value, equal on all ranks.
        rounds: rounds run.
        finished: True if the program ended by itself, False if a round limit ended it.
        bucket: the bucket that was open last, for programs with ``priority``.
    """

    fields: Mapping[str, np.ndarray]
    globals: dict[str, int | float]
    rounds: int
    finished: bool
    bucket: int = 0

    def __getitem__(self, name: str) -> np.ndarray:
        return self.fields[name]

    def counted(self, what: str, name: str) -> Any:
        """Count a field on the GPU that still holds it; None where no GPU does.

        Args:
            what: "reached", "largest", "own" or "total".
            name: the field.
        """
        count = getattr(self.fields, what, None)
        return count(name) if count else None

    def column(self, name: str, convert: Callable[[Any], Any] = same) -> FieldColumn:
        """Return the column of a result that ``convert`` makes of a field, at first access."""
        return FieldColumn(self.fields, name, convert)

    def raw(self, name: str) -> Any:
        """Return a field in the memory that holds it, as the ``given`` field of another program."""
        raw = getattr(self.fields, "raw", None)
        return raw(name) if raw else self.fields[name]
