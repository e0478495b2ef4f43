"""Result fields that stay on the GPU until they are read on the host or the GPU lacks memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dgraph.backend.cuda.device import pools
from dgraph.backend.cuda.device_graph import field_stats
from dgraph.backend.cuda.device_graph.device_graph import SOME
from dgraph.backend.cuda.device_graph.field_view import FieldView


class LazyFields(Mapping[str, np.ndarray]):
    """Masters' values of every field, by lid; fetched to the host on first use.

    Args:
        columns: name → view of the masters' values.
        degree, original: out-degree in the whole graph, and original id, by position.
    """

    def __init__(self, device: Any, columns: Mapping[str, FieldView], degree: Any, original: Any):
        self.device, self._on_device, self._degree, self._original = device, dict(columns), degree, original
        self._on_host: dict[str, np.ndarray] = {}
        self._names = list(columns)
        pools.on_low_memory(self.leave)

    def __getitem__(self, name: str) -> np.ndarray:
        column = self._on_device.get(name)
        if column is not None:
            with self.device.using():
                self._fetched(name, np.asarray(column))
        return self._on_host[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def leave(self, number: int, device: Any) -> None:
        """Move everything on GPU ``number`` to the host, without further GPU memory."""
        if self.device.number == number:
            for name, column in list(self._on_device.items()):
                self._fetched(name, column.fetched())

    def _fetched(self, name: str, values: np.ndarray) -> None:
        self._on_host[name] = values
        self._on_device.pop(name, None)
        if not self._on_device:
            self._degree = self._original = None

    def raw(self, name: str) -> Any:
        """Return a field where it lies, for another program that starts from it."""
        return self._on_device.get(name, self._on_host.get(name))

    def on_device(self, name: str) -> Any:
        """Return a field by lid as an array of the GPU that is the caller's own; None if it is on the host."""
        column = self._on_device.get(name)
        if column is None:
            return None
        self.device.use()
        return column.on_device()

    def reached(self, name: str) -> tuple[int, float, int] | None:
        """Return figures of distances: reached vertices, the largest distance, edges that leave those vertices.

        None if the field is on the host.
        """
        values = self._values(name)
        return None if values is None else field_stats.reached(self.device, values, self._degree)

    def largest(self, name: str) -> tuple[int, int] | None:
        """Return the largest integer, at least 0, and its count; None if the field is on the host."""
        values = self._values(name)
        return None if values is None else field_stats.largest(self.device, values)

    def own(self, name: str) -> int | None:
        """Count the vertices whose value is their own original id; None if the field is on the host."""
        values = self._values(name)
        return None if values is None else field_stats.own(self.device, values, self._original)

    def total(self, name: str) -> float | None:
        """Return the sum of a float field; None if it is on the host."""
        values = self._values(name)
        if values is None:
            return None
        parts = [values[first : first + SOME].sum(dtype=np.float64) for first in range(0, len(values), SOME)]
        return float(sum(self.device.get(part).item() for part in parts))

    def _values(self, name: str) -> Any:
        """Return the masters' values by position; None if they are on the host."""
        column = self._on_device.get(name)
        if column is None:
            return None
        with self.device.using():
            return column.masters()
