"""``Result``: the distributed answer of a run; each rank holds the rows of its own masters.

``columns.py`` has the lazy columns, ``files/`` the writers behind :meth:`Result.save`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dgraph.comm import Comm, collective
from dgraph.errors import unknown
from dgraph.graph.names import Names, decode_names, exchange_bytes
from dgraph.result.columns import UNREACHED, Column, Columns
from dgraph.result.files import save

INFINITY = {"sssp": b"Infinity"}
"""LDBC Graphalytics' text for an unreached vertex, by algorithm; other algorithms write the number."""


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """Numeric columns of an answer whose vertices have names.

    Attributes:
        names: table of names that numbers of vertices index.
        columns: arrays by name.
        vertices: names of the columns that hold vertices.
    """

    names: Names
    columns: Mapping[str, np.ndarray]
    vertices: tuple[str, ...]

    def with_names(self, columns: Mapping[str, np.ndarray], comm: Comm) -> dict[str, np.ndarray]:
        """Return the columns with names (dtype S) in place of numbers of vertices; collective."""
        return {
            key: self.names.words(each, comm) if key in self.vertices else each for key, each in columns.items()
        }  # fmt: skip

    def decoded(self, comm: Comm) -> Columns:
        """Return the columns for :class:`Result`.

        Names are fetched here, which is collective; later accesses are not.
        """
        made: dict[str, Column] = {name: partial(self.columns.__getitem__, name) for name in self.columns}
        for name in self.vertices:
            made[name] = partial(decode_names, self.names.words(self.columns[name], comm))
        return Columns(made)


@dataclass(frozen=True, eq=False)
class Result:
    """Result of :func:`dgraph.run`, on every rank. Its methods are collective; reading columns is not.

    Attributes:
        algorithm: name of the algorithm.
        columns: arrays of one length, this rank's rows. ``vertex`` is first: original ids, int64, ascending. The others
            are named as in cuGraph: ``distance`` (``UNREACHED`` or infinity if there is no path), ``predecessor`` (-1
            if there is none), ``labels``, ``pagerank``, ``core_number``. They are copied from a GPU at first access. If
            vertices have names, columns of vertices are str (dtype object, as in pandas), ascending by their UTF-8
            bytes, and None if there is no predecessor; so are those of ``gather`` and ``top``.
        comm: communicator of the ranks.
        summary: figures of the whole answer, such as ``reached``, ``depth``, ``components``.
        converged: False if a limit ended the run before the algorithm's own end.
        limit: the limit that ended the run; None if it converged.
        rounds: rounds run.
        report: timings and choices, as ``dgraph/report/schema.json`` describes them.
        named: the numeric columns, if vertices have names.
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
        """Gather all rows by ascending vertex on ``root``; return None on the other ranks.

        ``root`` needs memory for the whole answer.
        """
        here = self.comm.rank == root
        out = {}
        order: np.ndarray | slice = slice(None)
        for name, values in self._with_names(self._numbers).items():
            whole = np.concatenate(self._exchange([values if r == root else values[:0] for r in self._ranks]))
            if name == "vertex":
                order = np.argsort(whole, kind="stable")
            out[name] = whole[order]
        return _decoded(out) if here else None

    @collective
    def top(self, k: int, column: str | None = None) -> dict[str, np.ndarray]:
        """Return the ``k`` rows of largest ``column`` on every rank, largest first; ties by smallest vertex.

        Rows without a value (unreached, infinite, not a number) are left out, so there may be fewer than ``k``.
        """
        name = self._column(column)
        rows = _largest(self._numbers[name], k)
        vertex, values = (
            np.concatenate(self.comm.allgatherv(np.ascontiguousarray(self._numbers[key][rows])))
            for key in ("vertex", name)
        )
        order = np.lexsort((vertex, _descending(values)))[:k]
        return _decoded(self._with_names({"vertex": vertex[order], name: values[order]}))

    @collective
    def save(self, path: str | os.PathLike, column: str | None = None) -> None:
        """Write the rows by ascending vertex into one file, all ranks at once.

        ``.txt`` has LDBC Graphalytics' ``vertex value`` lines of one column: ``column``, or else the first. ``.npz``
        has every column, or ``vertex`` and ``column``. Names are text in both, and empty if there is no predecessor: no
        vertex has an empty name.

        Raises:
            UsageError: an unknown suffix or column.
            OutputError: the system refused, such as a full disk; the incomplete file is removed.
        """
        names = [self._column(column)] if column or os.fspath(path).endswith(".txt") else list(self.columns)
        chosen = {name: self._numbers[name] for name in ["vertex", *names]}
        save(path, chosen, self.comm, INFINITY.get(self.algorithm, b""), self._with_names)

    @property
    def _numbers(self) -> Mapping[str, np.ndarray]:
        """Columns with numbers of vertices, which are sorted and sent in place of names."""
        return self.columns if self.named is None else self.named.columns

    def _with_names(self, columns: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """Return the columns with names as bytes in place of numbers of vertices; collective."""
        return columns if self.named is None else self.named.with_names(columns, self.comm)

    def _exchange(self, parts: list[np.ndarray]) -> list[np.ndarray]:
        return (
            exchange_bytes(parts, parts[0].dtype, self.comm)
            if parts[0].dtype.kind == "S"
            else self.comm.alltoallv(parts)
        )

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


def _decoded(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns with str in place of bytes."""
    return {name: decode_names(values) if values.dtype.kind == "S" else values for name, values in columns.items()}


def _largest(values: np.ndarray, k: int) -> np.ndarray:
    """Return the rows of the ``k`` largest values; ties by lowest row."""
    rows = np.flatnonzero(np.isfinite(values) & (values != UNREACHED))
    if k < 1 or rows.size <= k:
        return rows[: max(k, 0)]
    found = values[rows]
    least = np.partition(found, rows.size - k)[rows.size - k]
    above = rows[found > least]
    return np.concatenate([above, rows[found == least][: k - above.size]])


def _descending(values: np.ndarray) -> np.ndarray:
    """Return a key that sorts values in descending order."""
    return ~values if np.issubdtype(values.dtype, np.integer) else -values
