"""What a program left on the GPU: brought to the host when somebody asks for it, or where the GPU lacks memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dgraph.backend.cuda import pools
from dgraph.backend.cuda.columns import Column
from dgraph.backend.cuda.graph import SOME


class Fields(Mapping[str, np.ndarray]):
    """Masters' values of every field, by lid.

    Args:
        columns: name → those of masters.
        degree: by position, edges that leave each vertex in the whole graph.
    """

    def __init__(self, device: Any, columns: Mapping[str, Column], degree: Any):
        self.device, self._there, self._degree = device, dict(columns), degree
        self._here: dict[str, np.ndarray] = {}
        self._names = list(columns)
        pools.when_short(self.leave)

    def __getitem__(self, name: str) -> np.ndarray:
        column = self._there.get(name)
        if column is not None:
            self.device.use()
            self._here[name] = np.asarray(column)
            self._there.pop(name, None)
        return self._here[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def leave(self, number: int, device: Any) -> None:
        """To the host with what is on a GPU, in no more memory there."""
        if self.device.number == number:
            for name, column in list(self._there.items()):
                self._here[name] = column.fetched()
                self._there.pop(name, None)

    def raw(self, name: str) -> Any:
        """As it lies: for another program that begins with it."""
        return self._there.get(name, self._here.get(name))

    def reached(self, name: str) -> tuple[int, float, int] | None:
        """Of distances: how many there are, the farthest, and edges that leave those vertices; None where they are on
        the host."""
        column = self._there.get(name)
        if column is None:
            return None
        self.device.use()
        xp, values, figures = self.device.xp, column.masters(), []
        for first in range(0, len(values), SOME):
            part = values[first : first + SOME]
            degree = self._degree[first : first + len(part)]
            here = xp.isfinite(part) if part.dtype.kind == "f" else part != np.iinfo(part.dtype).max
            found = xp.where(here, part, part.dtype.type(0))
            figures.append((here.sum(), found.max(), xp.where(here, degree, degree.dtype.type(0)).sum(dtype=np.int64)))
        got = [tuple(self.device.get(figure)[()] for figure in each) for each in figures]
        counts, farthest, arcs = zip(*got, strict=True) if got else ((), (0,), ())
        return int(sum(counts)), max(farthest).item() if got else 0, int(sum(arcs))
