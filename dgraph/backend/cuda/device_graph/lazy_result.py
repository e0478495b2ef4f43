"""What a program left on the GPU: brought to the host when somebody asks for it, or where the GPU lacks memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dgraph.backend.cuda.device import pools
from dgraph.backend.cuda.device_graph import field_stats
from dgraph.backend.cuda.device_graph.device_graph import SOME
from dgraph.backend.cuda.device_graph.field_view import FieldView


class LazyFields(Mapping[str, np.ndarray]):
    """Masters' values of every field, by lid.

    Args:
        columns: name → those of masters.
        degree, original: by position, edges that leave each vertex in the whole graph, and its original id.
    """

    def __init__(self, device: Any, columns: Mapping[str, FieldView], degree: Any, original: Any):
        self.device, self._there, self._degree, self._original = device, dict(columns), degree, original
        self._here: dict[str, np.ndarray] = {}
        self._names = list(columns)
        pools.when_short(self.leave)

    def __getitem__(self, name: str) -> np.ndarray:
        column = self._there.get(name)
        if column is not None:
            self.device.use()
            self._fetched(name, np.asarray(column))
        return self._here[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def leave(self, number: int, device: Any) -> None:
        """To the host with what is on a GPU, in no more memory there."""
        if self.device.number == number:
            for name, column in list(self._there.items()):
                self._fetched(name, column.fetched())

    def _fetched(self, name: str, values: np.ndarray) -> None:
        self._here[name] = values
        self._there.pop(name, None)
        if not self._there:
            self._degree = self._original = None

    def raw(self, name: str) -> Any:
        """As it lies: for another program that begins with it."""
        return self._there.get(name, self._here.get(name))

    def reached(self, name: str) -> tuple[int, float, int] | None:
        """Of distances: how many there are, the farthest, and edges that leave those vertices; None where they are on
        the host."""
        values = self._values(name)
        return None if values is None else field_stats.reached(self.device, values, self._degree)

    def largest(self, name: str) -> tuple[int, int] | None:
        """The largest of integers, 0 or more, and how many vertices have it; None where they are on the host."""
        values = self._values(name)
        return None if values is None else field_stats.largest(self.device, values)

    def own(self, name: str) -> int | None:
        """Of integers: how many vertices have their own original id; None where values are on the host."""
        values = self._values(name)
        return None if values is None else field_stats.own(self.device, values, self._original)

    def total(self, name: str) -> float | None:
        """The sum of floats; None where they are on the host."""
        values = self._values(name)
        if values is None:
            return None
        parts = [values[first : first + SOME].sum(dtype=np.float64) for first in range(0, len(values), SOME)]
        return float(sum(self.device.get(part).item() for part in parts))

    def _values(self, name: str) -> Any:
        """Of masters, by position; None where they are on the host."""
        column = self._there.get(name)
        if column is None:
            return None
        self.device.use()
        return column.masters()
