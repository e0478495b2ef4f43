"""``PreviousAnswer``: what a run that starts from an earlier answer knows of it, and of the changes of the graph since.

:func:`previous_answer` finds the changes in the graph's record, and the earlier columns of this rank's masters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.graph.change_record import Version, shifted
from dgraph.graph.local import LocalGraph
from dgraph.result.result import Result


@dataclass
class PreviousAnswer:
    """An earlier answer on this rank, and the changes since; equal on every rank but for the columns.

    Attributes:
        added: original ids of the edges added since, int64 (k, 2).
        removed: True if edges were removed since.
        raised: True if the weight of an edge rose since.
        directed: True if an added edge goes one way.
        used: True if the run started from it.
    """

    added: np.ndarray
    removed: bool
    raised: bool
    directed: bool
    local: LocalGraph
    _columns: Mapping[str, np.ndarray]
    _steps: list[Version]
    _rows: np.ndarray | None
    used: bool = False

    def column(self, name: str, fill: Any, vertices: bool = False) -> np.ndarray:
        """Return an earlier column for this rank's masters.

        Args:
            name: the column.
            fill: value of new vertices.
            vertices: True if it holds vertices; -1 stays -1.
        """
        values = self._columns[name]
        if vertices:
            for step in self._steps:
                if step.shift is not None:
                    values = np.where(values < 0, values, shifted(values, step.shift))
        if self._rows is None:
            return values
        column = np.full(self.local.masters, fill, values.dtype)
        old = self._rows >= 0
        column[old] = values[self._rows[old]]
        return column

    def taken(self, name: str, fill: Any, vertices: bool = False) -> np.ndarray:
        """Return a column as :meth:`column` does, and note that the run starts from it."""
        self.used = True
        return self.column(name, fill, vertices)

    def has(self, name: str) -> bool:
        """Return True if the earlier answer has the column."""
        return name in self._columns

    def parents(self, fell: np.ndarray) -> np.ndarray:
        """Return the earlier predecessors as a field that is reduced by MIN.

        Args:
            fell: bool (masters,): vertices whose distance fell, which have no predecessor yet.

        Returns:
            int64 (masters,); the largest int64 where there is none.
        """
        parents = self.column("predecessor", -1, vertices=True)
        return np.where(fell | (parents < 0), np.iinfo(np.int64).max, parents)

    @cached_property
    def sources(self) -> np.ndarray:
        """Masters from which an added edge leads: uint8 (masters,), 1 or 0."""
        ends = np.unique(self.added[:, 0] if self.directed else self.added)
        original = self.local.original[: self.local.masters]
        if not self.local.ascending:
            return np.isin(original, ends).astype(np.uint8)
        flags = np.zeros(original.size, np.uint8)
        rows = np.searchsorted(original, ends)
        flags[rows[rows < original.size][original[rows[rows < original.size]] == ends[rows < original.size]]] = 1
        return flags


def is_of_lineage(previous: Result, version: Version) -> bool:
    """Return True if a result is of a graph from which changes led to ``version``, or of another of its versions."""
    return previous.version is not None and previous.version.lineage is version.lineage


def previous_answer(
    previous: Result, name: str, version: Version, local: LocalGraph, directed: bool, comm: Comm
) -> tuple[PreviousAnswer | None, str]:
    """Return the usable parts of an earlier answer, or None and why the run starts from scratch; collective.

    Args:
        previous: the earlier result.
        name: the algorithm.
        version: version of the graph of this run.
        local: its partition.
        directed: True if the edges of the graph that changed go one way.
        comm: communicator of the ranks.

    Raises:
        UsageError: a result of another algorithm or of another graph.
    """
    if not isinstance(previous, Result):
        raise UsageError(
            f"previous={type(previous).__name__} is not a result; give what an earlier run of {name} returned"
        )
    if previous.algorithm != name:
        raise UsageError(f"previous is a result of {previous.algorithm}, and this is {name}; give one of {name}")
    if not is_of_lineage(previous, version) or previous.comm is not comm:
        raise UsageError(
            "previous is a result of another graph; give one of this graph or of a graph that it was made from by "
            "with_edges, or leave previous out"
        )
    steps = version.since(previous.version)
    if steps is None:
        return None, "previous is of a graph that this one was not made from, or its changes are no longer remembered"
    if not previous.converged:
        return None, "a limit ended the previous run"
    columns = previous.columns if previous.named is None else previous.named.columns
    vertex = columns["vertex"]
    added = np.zeros((0, 2), np.int64)
    for step in steps:
        if step.shift is not None:
            vertex, added = shifted(vertex, step.shift), shifted(added, step.shift)
        added = np.concatenate([added, step.added])
    rows, lost = _match_rows(vertex, local)
    if comm.total(lost):
        return None, "the previous run had another policy"
    removed, raised = any(step.removed for step in steps), any(step.raised for step in steps)
    return PreviousAnswer(added, removed, raised, directed, local, columns, steps, rows), ""


def _match_rows(vertex: np.ndarray, local: LocalGraph) -> tuple[np.ndarray | None, int]:
    """Return the row of every master in an ascending column of vertices, -1 for new ones; and the rows of no master.

    None stands for equal rows.
    """
    original = local.original[: local.masters]
    if np.array_equal(vertex, original):
        return None, 0
    positions = np.searchsorted(vertex, original)
    rows = np.minimum(positions, max(vertex.size - 1, 0))
    same = vertex[rows] == original if vertex.size else np.zeros(original.size, bool)
    return np.where(same, rows, -1), vertex.size - int(np.count_nonzero(same))
