"""``Walks``: walks through the graph, a row of vertices for each, whose rows are spread over the ranks."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dgraph._support.arguments import path as path_of
from dgraph._support.arguments import root_rank
from dgraph.comm import Comm, collective
from dgraph.graph.names import Names
from dgraph.result.files.csv_text import lines
from dgraph.result.files.save import refuse_names, save, save_lines

LINES = 1 << 14
"""Walks that are written as text at a time."""


@dataclass(frozen=True, repr=False)
class Walks:
    """Walks; row i of this rank is walk ``first + i``.

    Attributes:
        vertices: returns this rank's rows.
        crossed: returns the weights of the crossed edges; None: they were not kept.
        first: number of this rank's first walk.
        total: walks of all ranks.
        comm: the ranks.
        names: names of the vertices, where they have some.
    """

    vertices: Callable[[], np.ndarray]
    crossed: Callable[[], np.ndarray] | None
    first: int
    total: int
    comm: Comm
    names: Names | None = None

    @cached_property
    def here(self) -> np.ndarray:
        """This rank's walks, int64 (walks, length + 1): original ids, -1 after the end; copied from a GPU once.

        Numbers of names, if vertices have names; :meth:`gather` has the names.
        """
        return self.vertices()

    @cached_property
    def weights(self) -> np.ndarray | None:
        """Weights of the crossed edges, float64 (walks, length), NaN where none was crossed; None: not kept."""
        return None if self.crossed is None else self.crossed()

    def __repr__(self) -> str:
        return f"<{self.total:,} walks, {len(self.here):,} on this rank>"

    @collective
    def gather(self, root: int = 0) -> np.ndarray | None:
        """Return all walks (walks, length + 1) on ``root``; None on the other ranks.

        Names of vertices are str (dtype object), None after the end of a walk.
        """
        whole = self._gathered(self.here, root_rank(root, self.comm.size))
        if self.names is not None:
            every = np.zeros(0, np.int64) if whole is None else whole.ravel()
            words = self.names.of(every, self.comm)
            whole = None if whole is None else words.reshape(whole.shape)
        return whole

    @collective
    def gather_weights(self, root: int = 0) -> np.ndarray | None:
        """Return the weights of all walks (walks, length) on ``root``; None on the other ranks, or if not kept."""
        return None if self.weights is None else self._gathered(self.weights, root_rank(root, self.comm.size))

    def _gathered(self, rows: np.ndarray, root: int) -> np.ndarray | None:
        whole = self.comm.gathered(np.ascontiguousarray(rows).ravel(), root)
        return whole.reshape(self.total, rows.shape[1]) if self.comm.rank == root else None

    @collective
    def save(self, path: str | os.PathLike) -> None:
        """Write the walks; the suffix determines the format, as of :meth:`Result.save`.

        ``.txt`` has a line for each walk, its vertices between spaces, as word2vec reads sentences. The others have a
        row for each vertex of a walk: ``walk`` and ``step`` from 0, ``vertex``, and ``weight`` of the edge before it,
        missing where there is none, if weights were kept.

        Raises:
            UsageError: an unknown suffix, or pyarrow is not installed.
            OutputError: the system refused, such as a full disk; the incomplete file is removed.
        """
        spelt, rows = path_of("path", path), self.here
        if os.path.splitext(spelt)[1] == ".txt":
            if self.names is not None:
                refuse_names(spelt, self.names.here, self.comm)
            words = rows if self.names is None else self.names.words(rows.ravel(), self.comm).reshape(rows.shape)
            save_lines(path, _lines(words, rows >= 0), self.comm)
            return
        walk, step = map(np.ascontiguousarray, np.nonzero(rows >= 0))
        vertex = rows[walk, step]
        columns = {
            "walk": walk + self.first, "step": step,
            "vertex": vertex if self.names is None else self.names.words(vertex, self.comm),
        }  # fmt: skip
        if self.weights is not None:
            before = np.column_stack([np.full(len(rows), np.nan), self.weights])
            columns["weight"] = before[walk, step]
        save(path, columns, self.comm, nullable={"weight": np.nan})


def _lines(words: np.ndarray, there: np.ndarray) -> list[bytes]:
    """Return the text of walks, some at a time; ``there`` is False after the end of a walk."""
    text = []
    for begin in range(0, len(words), LINES):
        part = slice(begin, begin + LINES)
        lengths, flat = there[part].sum(axis=1), words[part][there[part]]
        ends = np.full(len(flat), ord(" "), np.uint8)
        ends[np.cumsum(lengths) - 1] = ord("\n")
        text.append(lines(flat, ends))
    return text
