"""Result: the answer, distributed: each rank holds the rows of its own masters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dgraph.comm import Comm, collective
from dgraph.errors import unknown
from dgraph.graph.names import Names, spelled, swapped
from dgraph.result.columns import UNREACHED, Column, Columns
from dgraph.result.files import save

INFINITY = {"sssp": b"Infinity"}
"""How LDBC Graphalytics writes an unreached vertex, by algorithm; else the number itself stands in a text file."""


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """Columns of an answer whose vertices are called by words, in numbers.

    Attributes:
        names: what the numbers stand for.
        columns: by name.
        vertices: those that hold vertices.
    """

    names: Names
    columns: Mapping[str, np.ndarray]
    vertices: tuple[str, ...]

    def worded(self, columns: Mapping[str, np.ndarray], comm: Comm) -> dict[str, np.ndarray]:
        """These columns, of the same names, with words (dtype S) in place of numbers of vertices; collective."""
        return {
            key: self.names.words(each, comm) if key in self.vertices else each for key, each in columns.items()
        }  # fmt: skip

    def shown(self, comm: Comm) -> Columns:
        """The columns for :class:`Result`. Words come here at once, collective; nothing is collective afterwards."""
        made: dict[str, Column] = {name: partial(self.columns.__getitem__, name) for name in self.columns}
        for name in self.vertices:
            made[name] = partial(spelled, self.names.words(self.columns[name], comm))
        return Columns(made)


@dataclass(frozen=True, eq=False)
class Result:
    """What :func:`dgraph.run` returns, on every rank. Its methods are collective.

    Attributes:
        algorithm: its name.
        columns: arrays of one length, this rank's rows. ``vertex`` is first: original ids, int64, ascending. The others
            are named as in cuGraph: ``distance`` (``UNREACHED`` or infinity where there is no path), ``predecessor``
            (-1 where there is none), ``labels``, ``pagerank``, ``core_number``. A GPU's come to the host when they are
            first asked for. Where vertices are called by words, those that hold vertices are str (dtype object, as in
            pandas), ascending by their UTF-8 bytes, and None where there is no predecessor; so are those of ``gather``
            and ``top``. Looking at columns is not collective.
        comm: the ranks that hold the rest.
        summary: figures of the whole answer, such as ``reached``, ``depth``, ``components``.
        converged: False if a limit ended the run before the algorithm's own end; ``limit`` says which.
        rounds: rounds run.
        named: the same columns in numbers, where vertices are called by words.
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
    named: NamedColumns | None = field(default=None, repr=False)

    @collective
    def gather(self, root: int = 0) -> dict[str, np.ndarray] | None:
        """Whole columns by ascending vertex on ``root``, None on the other ranks. Mind the memory of ``root``."""
        here = self.comm.rank == root
        out = {}
        order: np.ndarray | slice = slice(None)
        for name, values in self._worded(self._numbers).items():
            whole = np.concatenate(self._swapped([values if r == root else values[:0] for r in self._ranks]))
            if name == "vertex":
                order = np.argsort(whole, kind="stable")
            out[name] = whole[order]
        return _spelled(out) if here else None

    @collective
    def top(self, k: int, column: str | None = None) -> dict[str, np.ndarray]:
        """The ``k`` rows of largest ``column``, largest first, on every rank; of equals the smallest vertex first.

        Rows without a value (unreached, infinite, not a number) are left out, so there may be fewer than ``k``.
        """
        name = self._column(column)
        rows = _largest(self._numbers[name], k)
        vertex, values = (
            np.concatenate(self.comm.allgatherv(np.ascontiguousarray(self._numbers[key][rows])))
            for key in ("vertex", name)
        )
        order = np.lexsort((vertex, _descending(values)))[:k]
        return _spelled(self._worded({"vertex": vertex[order], name: values[order]}))

    @collective
    def save(self, path: str | os.PathLike, column: str | None = None) -> None:
        """Write the rows by ascending vertex into one file, all ranks at once.

        ``.txt`` has ``vertex value`` lines of one column (the first beside ``vertex`` unless ``column`` names one), as
        LDBC Graphalytics has them; ``.npz`` has every column, or ``vertex`` and ``column``. Names are text in both, and
        empty where there is no predecessor: no vertex has an empty name.

        Raises:
            UsageError: the suffix or the column is not known.
            OutputError: the system refused, such as a full disk; no part of a file is left.
        """
        names = [self._column(column)] if column or os.fspath(path).endswith(".txt") else list(self.columns)
        chosen = {name: self._numbers[name] for name in ["vertex", *names]}
        save(path, chosen, self.comm, INFINITY.get(self.algorithm, b""), self._worded)

    @property
    def _numbers(self) -> Mapping[str, np.ndarray]:
        """The columns with numbers of vertices, which are sorted and sent in place of names."""
        return self.columns if self.named is None else self.named.columns

    def _worded(self, columns: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The columns, with names as bytes in place of numbers of vertices; collective."""
        return columns if self.named is None else self.named.worded(columns, self.comm)

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


def _spelled(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns, with str in place of bytes."""
    return {name: spelled(values) if values.dtype.kind == "S" else values for name, values in columns.items()}


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
