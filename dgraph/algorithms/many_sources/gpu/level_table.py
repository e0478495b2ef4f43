"""Distances from many sources in binary, on a GPU; the column of a source is made each time it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.gpu.source_rows import Kernels
from dgraph.algorithms.many_sources.results import decoded
from dgraph.backend.cuda.device import pools
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.result.columns import FieldColumn

NAME = "levels"
"""Field of a column."""


class LevelTable:
    """Words of all vertices, by position; they move to the host if the GPU lacks memory.

    Args:
        kernels: of the search, whose ``Env`` has the words.
        graph: the GPU's graph.
        bits: sources that reach the vertex, uint64 (n, words of all sources or more).
        digits: binary digits of distances, uint64 (n, words of all sources) each; none: distances are 0.
    """

    def __init__(self, kernels: Kernels, graph: Any, bits: Any, digits: list[Any]):
        self.device, self.bits, self.digits, self._kernels = kernels.device, bits, digits, kernels
        self.masters, self.place = graph.local.masters, graph.place
        self._degree, self._original = graph.degree, graph.original
        pools.on_low_memory(self)

    def fields(self, k: int) -> Mapping[str, np.ndarray]:
        """Return distances from source ``k``, int32, -1 where there is no path."""
        if self.device is None:
            return {NAME: self._on_host(k)}
        with self.device.using():
            view = FieldView(self.device, self._decoded(k), self.place, 0, self.masters)
            return LazyFields(self.device, {NAME: view}, self._degree, self._original)

    def _decoded(self, k: int) -> Any:
        column = self.device.xp.empty(len(self.bits), np.int32)
        self._kernels.set("column", column)
        self._kernels.launch("decode", k)
        return column

    def _on_host(self, k: int) -> np.ndarray:
        word, place = divmod(k, 64)
        levels = decoded(self.bits[:, word], (digit[:, word] for digit in self.digits), np.uint64(place))
        return levels[: self.masters] if self.place is None else levels[self.place[: self.masters]]

    def leave(self, number: int, device: Any) -> None:
        """Move the words from GPU ``number`` to the host, without further GPU memory."""
        if self.device is not None and self.device.number == number:
            get = self.device.get
            self.bits, self.digits = get(self.bits), [get(digit) for digit in self.digits]
            self.place = None if self.place is None else get(self.place)
            self.device = self._degree = self._original = None


class LevelColumn(FieldColumn):
    """Column of one source, whose field is made each time it is read."""

    table: LevelTable
    k: int

    def __init__(self, table: LevelTable, k: int, convert: Callable[[Any], Any]):
        self.__dict__.update(table=table, k=k, name=NAME, convert=convert)

    @property
    def fields(self) -> Mapping[str, np.ndarray]:
        """The field, on the GPU or the host, where the table is."""
        return self.table.fields(self.k)
