"""``EdgeValues``: a value for each edge of the graph, spread over the ranks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph._support.arguments import path as path_of
from dgraph._support.arguments import root_rank
from dgraph.comm import Comm, collective
from dgraph.graph.names import Names, decode_names
from dgraph.result.arrow_tables import pandas_frame
from dgraph.result.files.file_rows import FileRows
from dgraph.result.files.save import save


@dataclass(frozen=True, repr=False)
class EdgeValues:
    """A value for each edge, or for some; rows ascend by source, then target, from rank to rank.

    Attributes:
        source: original ids, int64, of this rank's edges; of an undirected edge the smaller end. Numbers of names, if
            vertices have names.
        target: the other ends.
        values: float64, or int64.
        name: name of the values.
        comm: the ranks.
        names: names of the vertices, where they have some.
        threads: threads of this rank that write its rows.
        alone: True if the result is these values, and its files hold them; False if they stand beside columns of
            vertices, which files hold.
    """

    source: np.ndarray
    target: np.ndarray
    values: np.ndarray
    name: str
    comm: Comm
    names: Names | None = None
    threads: int = 1
    alone: bool = True

    @classmethod
    def in_order(cls, ends: np.ndarray, values: np.ndarray, name: str, comm: Comm, **more: Any) -> EdgeValues:
        """Put values of undirected edges, each on any rank, in order; collective.

        Args:
            ends: original ids, int64, shape (edges, 2).
            values: one for each edge.
            name: name of the values.
            comm: the ranks.
            more: the other attributes.
        """
        source, target = ends.min(axis=1), ends.max(axis=1)
        order = np.argsort(source, kind="stable")
        columns = {"source": source[order], "target": target[order], "values": values[order]}
        ((_, rows),) = FileRows(columns, comm, columns["source"], once=True).pieces()
        source, target, values = rows.values()
        order = np.lexsort((target, source))
        return cls(source[order], target[order], values[order], name, comm, **more)

    def __repr__(self) -> str:
        return f"<{self.name} of {len(self.values):,} edges on this rank>"

    @collective
    def gather(self, root: int = 0) -> dict[str, np.ndarray] | None:
        """Return ``source``, ``target`` and the values of all edges on ``root``; None on the other ranks.

        Names of vertices are str (dtype object).
        """
        root = root_rank(root, self.comm.size)
        columns = self._gathered(root)
        if self.names is not None:
            columns |= {end: decode_names(columns[end]) for end in ("source", "target")}
        return columns if self.comm.rank == root else None

    @collective
    def to_pandas(self, root: int = 0) -> Any:
        """Return the rows of :meth:`gather` as a ``pandas.DataFrame`` on ``root``; None on the other ranks.

        Names of vertices have pandas' string dtype.

        Raises:
            UsageError: pandas, or for names pyarrow, is not installed.
            DataError: a name is not UTF-8.
        """
        root = root_rank(root, self.comm.size)
        columns, frame = self._gathered(root), None
        with self.comm.together():
            if self.comm.rank == root:
                frame = pandas_frame(columns, ())
        return frame

    def _gathered(self, root: int) -> dict[str, np.ndarray]:
        """Return the columns of all edges on ``root``, names as bytes; empty ones on the other ranks."""
        columns = {}
        for name, mine in (("source", self.source), ("target", self.target), (self.name, self.values)):
            columns[name] = self.comm.gathered(mine, root)
        if self.names is not None:
            columns |= {end: self.names.words(columns[end], self.comm) for end in ("source", "target")}
        return columns

    @collective
    def save(self, path: str | os.PathLike) -> None:
        """Write a row for each edge; the suffix determines the format, as of :meth:`Result.save`.

        ``.txt`` has lines ``source target value``.

        Raises:
            UsageError: an unknown suffix, or pyarrow is not installed.
            OutputError: the system refused, such as a full disk; the incomplete file is removed.
        """
        path_of("path", path)
        ends = self.source, self.target
        if self.names is not None:
            ends = self.names.words(self.source, self.comm), self.names.words(self.target, self.comm)
        columns = {"source": ends[0], "target": ends[1], self.name: self.values}
        save(path, columns, self.comm, threads=self.threads)
