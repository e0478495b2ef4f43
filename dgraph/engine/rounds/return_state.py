"""State: the return value of a program that has run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dgraph.graph.local import LocalGraph
from dgraph.program import Field
from dgraph.result.columns import FieldColumn, same

Reached = tuple[int, float, int]
"""Figures of distances: vertices with a path, their largest distance, and the sum of their out-degrees."""


def over_ranks(words: np.ndarray, kind: Any) -> tuple[list[Reached], Reached]:
    """Return figures by rank, and over all ranks.

    Args:
        words: int64 (ranks, 3): vertices, sum of out-degrees, largest distance.
        kind: dtype of that distance: int64, or float64 for its bits.
    """
    counts, arcs, bits = words.T
    farthest = bits.copy().view(kind)
    parts = list(zip(counts.tolist(), farthest.tolist(), arcs.tolist(), strict=True))
    return parts, (int(counts.sum()), max(farthest.tolist()), int(arcs.sum()))


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
        declared: name → declaration of the field.
        summary: the program's ``end_figure`` on this rank and over all, as :meth:`reached` returns it, if GPUs found it
            at the end of the rounds.
    """

    fields: Mapping[str, np.ndarray]
    globals: dict[str, int | float]
    rounds: int
    finished: bool
    bucket: int = 0
    declared: Mapping[str, Field] = field(default_factory=dict)
    summary: tuple[Reached, Reached] | None = None

    def __getitem__(self, name: str) -> np.ndarray:
        return self.fields[name]

    def largest(self, name: str) -> tuple[int, int]:
        """Return the largest value on this rank of a field of integers, at least 0, and how many vertices have it."""
        figures = self._on_device("largest", name)
        if figures is None:
            most = int(self[name].max(initial=0))
            figures = most, int(np.count_nonzero(self[name] == most))
        return figures

    def total(self, name: str) -> float:
        """Return the sum of a field of floats on this rank."""
        total = self._on_device("total", name)
        return float(self[name].sum(dtype=np.float64)) if total is None else total

    def own(self, name: str, local: LocalGraph) -> int:
        """Count the vertices of this rank whose value is their own original id."""
        count = self._on_device("own", name)
        return int(np.count_nonzero(self[name] == local.original[: local.masters])) if count is None else count

    def reached(self, name: str, local: LocalGraph) -> Reached:
        """Return figures of distances on this rank.

        Returns:
            vertices with a path, their largest distance (0 if there are none), and the sum of their out-degrees.
        """
        figures = self._on_device("reached", name)
        if figures is None:
            from dgraph.backend.cpu.threads.field_figures import reached  # loads the compiler

            figures = reached(self[name], local.out_degree[: local.masters])
        return figures

    @property
    def levels(self) -> tuple[int, int, int] | None:
        """Reached vertices, deepest level and out-edges, if a search by levels on one rank counted them."""
        return getattr(self.fields, "levels", None)

    def begin_reached(self, name: str, local: LocalGraph) -> Callable[[], Reached]:
        """Begin to find what :meth:`reached` returns, where a GPU holds the field; return the function that waits."""
        begun = self._on_device("begin_reached", name)
        return partial(self.reached, name, local) if begun is None else begun

    def _on_device(self, figure: str, name: str) -> Any:
        """Return a figure of a field that a GPU still holds; None where no GPU does."""
        compute = getattr(self.fields, figure, None)
        return compute(name) if compute else None

    def column(self, name: str, convert: Callable[[Any], Any] = same) -> FieldColumn:
        """Return the column of a result that ``convert`` makes of a field, at first access.

        The field's ``nullable`` is the column's, if nothing is converted and the algorithm does not describe it.
        """
        declared = self.declared.get(name) if convert is same else None
        return FieldColumn(self.fields, name, convert, declared.null if declared else None)

    def raw(self, name: str) -> Any:
        """Return a field in the memory that holds it, as the ``given`` field of another program."""
        raw = getattr(self.fields, "raw", None)
        return raw(name) if raw else self.fields[name]
