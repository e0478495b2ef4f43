"""Result: the answer, distributed: each rank holds the rows of its own masters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import unknown
from dgraph.graph.names import Names, swapped
from dgraph.output import save

UNREACHED = np.iinfo(np.int64).max
"""The integer distance of a vertex that was not reached; a float distance is infinite then."""

VERTICES = ("vertex", "predecessor", "labels")
"""Columns that hold vertices."""

INFINITY = {"sssp": b"Infinity"}
"""How LDBC Graphalytics writes an unreached vertex, by algorithm; else the number itself stands in a text file."""


@dataclass(frozen=True, eq=False)
class Result:
    """What :func:`dgraph.run` returns, on every rank. Its methods are collective.

    Attributes:
        algorithm: its name.
        columns: arrays of one length. ``vertex`` is first: int64, this rank's original ids, ascending. The others are
            named as in cuGraph: ``distance`` (``UNREACHED`` or infinity where there is no path), ``predecessor`` (-1
            where there is none), ``labels``, ``pagerank``, ``core_number``. A GPU's come to the host when they are
            first asked for.
        comm: the ranks that hold the rest.
        summary: figures of the whole answer, such as ``reached``, ``depth``, ``components``.
        converged: False if a limit ended the run before the algorithm's own end; ``limit`` says which.
        rounds: rounds run.
        names: what the numbers in columns of vertices stand for, where vertices are called by words; files, ``gather``
            and ``top`` have the words (as bytes).
        report: timings and choices, as ``dgraph/report/schema.json`` describes them.
    """

    algorithm: str
    columns: Mapping[str, np.ndarray]
    comm: Comm
    summary: dict = field(default_factory=dict)
    converged: bool = True
    limit: str | None = None
    rounds: int = 0
    report: dict = field(default_factory=dict, repr=False)
    names: Names | None = field(default=None, repr=False)

    def gather(self, root: int = 0) -> dict[str, np.ndarray] | None:
        """Whole columns by ascending vertex on ``root``, None on the other ranks. Mind the memory of ``root``."""
        here = self.comm.rank == root
        out = {}
        order: np.ndarray | slice = slice(None)
        for name, values in self._worded(self.columns).items():
            whole = np.concatenate(self._swapped([values if r == root else values[:0] for r in self._ranks]))
            if name == "vertex":
                order = np.argsort(whole, kind="stable")
            out[name] = whole[order]
        return out if here else None

    def top(self, k: int, column: str | None = None) -> dict[str, np.ndarray]:
        """The ``k`` rows of largest ``column``, largest first, on every rank; of equals the smallest vertex first.

        Rows without a value (unreached, infinite, not a number) are left out, so there may be fewer than ``k``.
        """
        name = self._column(column)
        rows = _largest(self.columns[name], k)
        vertex, values = (
            np.concatenate(self.comm.allgatherv(np.ascontiguousarray(self.columns[key][rows])))
            for key in ("vertex", name)
        )
        order = np.lexsort((vertex, _descending(values)))[:k]
        return dict(self._worded({"vertex": vertex[order], name: values[order]}))

    def save(self, path: str | os.PathLike, column: str | None = None) -> None:
        """Write the rows by ascending vertex into one file, all ranks at once.

        ``.txt`` has ``vertex value`` lines of one column (the first beside ``vertex`` unless ``column`` names one), as
        LDBC Graphalytics has them; ``.npz`` has every column, or ``vertex`` and ``column``.

        Raises:
            UsageError: the suffix or the column is not known.
            OutputError: the system refused, such as a full disk; no part of a file is left.
        """
        names = [self._column(column)] if column or os.fspath(path).endswith(".txt") else list(self.columns)
        chosen = {name: self.columns[name] for name in ["vertex", *names]}
        save(path, chosen, self.comm, INFINITY.get(self.algorithm, b""), self._worded)

    def _worded(self, columns: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The columns, with names in place of numbers of vertices; collective."""
        if self.names is None:
            return columns
        return {key: self.names.of(each, self.comm) if key in VERTICES else each for key, each in columns.items()}

    def _swapped(self, parts: list[np.ndarray]) -> list[np.ndarray]:
        return swapped(parts, parts[0].dtype, self.comm) if parts[0].dtype.kind == "S" else self.comm.alltoallv(parts)

    @property
    def _ranks(self) -> range:
        return range(self.comm.size)

    def _column(self, name: str | None) -> str:
        values = [key for key in self.columns if key != "vertex"]
        if name is None:
            return values[0]
        if name not in values:
            raise unknown(f"column of {self.algorithm}", name, values)
        return name


def _largest(values: np.ndarray, k: int) -> np.ndarray:
    """The rows of the ``k`` largest values; of equal values the first rows."""
    rows = np.flatnonzero(np.isfinite(values) & (values != UNREACHED))
    if k < 1 or rows.size <= k:
        return rows[: max(k, 0)]
    found = values[rows]
    least = np.partition(found, rows.size - k)[rows.size - k]
    above = rows[found > least]
    return np.concatenate([above, rows[found == least][: k - above.size]])


def _descending(values: np.ndarray) -> np.ndarray:
    """A key that sorts values from the largest down."""
    return ~values if np.issubdtype(values.dtype, np.integer) else -values
