"""Files of a result: :meth:`ResultFiles.save` chooses what is written, and ``files/`` has the writers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph._support.arguments import flag
from dgraph._support.arguments import path as path_of
from dgraph.comm import collective
from dgraph.errors import UsageError
from dgraph.result.files import save
from dgraph.result.files.matrix_file import SUFFIXES
from dgraph.result.result_tables import ResultTables

INFINITY = {"sssp": b"Infinity"}
"""LDBC Graphalytics' text for an unreached vertex, by algorithm; other algorithms write the number."""


class ResultFiles(ResultTables):
    """Tables and files of a :class:`~dgraph.Result`."""

    algorithm: str
    matrix: Any
    edges: Any
    walks: Any
    threads: int
    _numbers: Any
    _column: Callable[[str | None], str]

    @collective
    def save(self, path: str | os.PathLike, column: str | None = None, attributes: bool = False) -> None:
        """Write the rows by ascending vertex into one file, all ranks at once.

        The suffix determines the format. ``.txt`` has LDBC Graphalytics' ``vertex value`` lines of one column:
        ``column``, or else the first. ``.csv``, ``.parquet``, ``.arrow`` (or ``.feather``) and ``.npz`` have every
        column, or ``vertex`` and ``column``. A missing value is an empty field in ``.csv`` and null in ``.parquet`` and
        ``.arrow``; in the others it is the number that ``columns`` has.

        Names are text, and empty if there is no predecessor: no vertex has an empty name. A matrix is written as
        :meth:`DistanceMatrix.save` describes, except into ``.txt`` and ``.csv``; values of edges that are the answer
        alone, of ``edge_bc``, as :meth:`EdgeValues.save` does; walks as :meth:`Walks.save`. All three need ``column``
        to be left out.

        Args:
            path: file to write.
            column: the only column to write; None: all of them.
            attributes: True joins the columns of the graph's vertices (``Graph.with_columns``), for which rank 0 holds
                all rows; not into ``.txt``.

        Raises:
            UsageError: an unknown suffix or column, or pyarrow is not installed; ``attributes`` as of :meth:`to_arrow`,
                with ``.txt``, or for a matrix, values of edges and walks.
            DataError: a name is not UTF-8, in ``.parquet`` and ``.arrow``.
            OutputError: the system refused, such as a full disk; the incomplete file is removed.
        """
        spelt = path_of("path", path)
        if flag("attributes", attributes):
            self._save_joined(spelt, column)
            return
        if self.matrix is not None and column is None and os.path.splitext(spelt)[1] in SUFFIXES:
            self.matrix.save(path)
            return
        if self.edges is not None and self.edges.alone and column is None:
            self.edges.save(path)
            return
        if self.walks is not None and column is None:
            self.walks.save(path)
            return
        names = [self._column(column)] if column is not None or spelt.endswith(".txt") else list(self.columns)
        rows, ids = self._here(), self._numbers["vertex"]
        chosen = {name: rows[name] for name in ["vertex", *names]}
        infinity = INFINITY.get(self.algorithm, b"")
        save(path, chosen, self.comm, ids, infinity=infinity, nullable=self.nullable, threads=self.threads)

    def _save_joined(self, path: str, column: str | None) -> None:
        """Write the rows with the columns of the graph's vertices, from rank 0; collective."""
        alone = self.matrix is not None or self.walks is not None or (self.edges is not None and self.edges.alone)
        with self.comm.together():
            self._check_attributes(0)
            if alone and column is None:
                raise UsageError("attributes=True joins columns of vertices, and this answer has no such rows; drop it")
            if path.endswith(".txt"):
                raise UsageError(f"attributes=True: {path} has room for one column; write .csv, .parquet or .npz")
        name = None if column is None else self._column(column)
        rows = self._here() if self.comm.size == 1 else self._gathered(0)
        chosen = {key: values for key, values in rows.items() if name is None or key in ("vertex", name)}
        joined = self.attributes.gathered(0)
        floats = {key: np.nan for key, values in joined.items() if values.dtype.kind == "f"}
        described = self.nullable if isinstance(self.nullable, Mapping) else dict.fromkeys(self.nullable)
        nullable = {**described, **floats}
        save(path, self._joined(chosen, joined), self.comm, nullable=nullable, threads=self.threads)
