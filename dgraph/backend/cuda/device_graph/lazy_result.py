"""Result fields that stay on the GPU until they are read on the host or the GPU lacks memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dgraph.backend.cuda.device import downloads, pools
from dgraph.backend.cuda.device_graph import field_stats
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.comm.base import Make
from dgraph.result.columns import FieldColumn, Reader, same

FEW = 1 << 19
"""Values up to which a field is copied at once, without pinned memory and threads."""

READ = 1 << 24
"""Most values that are converted at a time for a reader on the GPU."""


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
        pools.on_low_memory(self)

    def __getitem__(self, name: str) -> np.ndarray:
        column = self._on_device.get(name)
        if column is not None:
            self._fetched(name, self._downloaded(column, same, None))
        return self._on_host[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def fetch(
        self, name: str, convert: Callable[[Any], Any], order: np.ndarray | None, make: Make = np.empty
    ) -> np.ndarray | None:
        """Return ``convert`` of a field as a new array on the host; the GPU keeps the field.

        Args:
            name: the field.
            convert: makes a column of values, one for one.
            order: lids, in the order of the column; None: ascending.
            make: makes the array of more than ``FEW`` values.

        Returns:
            The column; None if the field is on the host.
        """
        column = self._on_device.get(name)
        return None if column is None else self._downloaded(column, convert, order, make)

    def read(self, name: str, convert: Callable[[Any], Any], reader: Reader) -> np.ndarray | None:
        """Return what ``reader`` finds in ``convert`` of a field on the GPU; None if the field is on the host."""
        column = self._on_device.get(name)
        if column is None:
            return None
        with self.device.using():
            return reader(lambda index: convert(column.values_at(index)), len(column), READ, self.device.get)

    def _downloaded(
        self, column: FieldView, convert: Callable[[Any], Any], order: np.ndarray | None, make: Make = np.empty
    ) -> np.ndarray:
        size, device = len(column), self.device
        with device.using():
            if size <= FEW:
                return convert(device.get(column.piece(slice(0, size), order)))
            rows = downloads.PIECE // column.dtype.itemsize
            parts = (slice(first, min(first + rows, size)) for first in range(0, size, rows))
            return device.download((column.piece(part, order) for part in parts), convert, size, make)

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
        begun = self.begin_reached(name)
        return None if begun is None else begun()

    def begin_reached(self, name: str) -> Callable[[], tuple[int, float, int]] | None:
        """Begin to find what :meth:`reached` returns; the GPU goes on while the host prepares its next kernels."""
        values = self._values(name)
        return None if values is None else field_stats.begin_reached(self.device, values, self._degree)

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
        return None if values is None else field_stats.total(self.device, values)

    def _values(self, name: str) -> Any:
        """Return the masters' values by position; None if they are on the host."""
        column = self._on_device.get(name)
        if column is None:
            return None
        with self.device.using():
            return column.masters()


def gpu_columns(graph: Any, values: Mapping[str, Any]) -> dict[str, FieldColumn]:
    """Return columns of values by position, which stay on the GPU of a :class:`DeviceGraph` until they are read."""
    views = {name: FieldView(graph.device, column, graph.place) for name, column in values.items()}
    fields = LazyFields(graph.device, views, graph.degree, graph.original)
    return {name: FieldColumn(fields, name) for name in values}
