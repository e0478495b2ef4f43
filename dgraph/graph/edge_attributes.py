"""Attributes of edges: columns that are kept beside the weights, with one value an arc of an ``EdgeBlock``.

Rows are built with one column: where attributes are kept, arcs carry the number of their listed edge in place of its
weight. :func:`listed_values` then brings every column, the weights too, to the ranks of the rows, and
:meth:`EdgeAttribute.merged` gives parallel edges one value. ``build/attribute_columns.py`` makes
attributes of the ranks' columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.ids import remote_look_up
from dgraph.graph.names import decode_names

LARGEST_SUM = 2.0**63 * (1 - 2.0**-20)
"""Sum of magnitudes above which a sum of integers may not fit 63 bits; it is computed in floats."""


@dataclass(frozen=True)
class EdgeAttribute:
    """One column.

    Attributes:
        values: bool, integers, floats, datetime64 or timedelta64, shape (edges,) or (arcs,); of text int32 positions
            in ``words``, -1 where there is none.
        rule: value of merged parallel edges: "first", "min", "max" or "sum" of theirs.
        words: the distinct values of text, dtype S, ascending, equal on all ranks; None: the column is not text.
    """

    values: np.ndarray
    rule: str = "first"
    words: np.ndarray | None = None

    @property
    def kind(self) -> np.dtype:
        """Dtype that users see: object for text."""
        return self.values.dtype if self.words is None else np.dtype(object)

    def __getitem__(self, entries: slice | np.ndarray) -> EdgeAttribute:
        return replace(self, values=self.values[entries])

    def shown(self, entries: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Return values as users see them; text as str (dtype object), None where there is none."""
        if self.words is None:
            return self.values[entries]
        return np.append(decode_names(self.words), np.array([None], object))[self.values[entries]]

    def written(self, entries: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Return values as files get them; text as bytes of one width on all ranks, empty where there is none."""
        return self.values[entries] if self.words is None else np.append(self.words, b"")[self.values[entries]]

    def merged(self, starts: np.ndarray) -> EdgeAttribute:
        """Return one value for each run of entries; runs begin at ``starts``."""
        if self.rule == "first" or not starts.size:
            return self[starts]
        if self.rule == "sum":
            return replace(self, values=sums(self.values, starts, "kept values"))
        return replace(self, values=(np.minimum if self.rule == "min" else np.maximum).reduceat(self.values, starts))


Attributes = Mapping[str, EdgeAttribute]


def selected(attributes: Attributes, entries: slice | np.ndarray) -> dict[str, EdgeAttribute]:
    """Return some entries of every column."""
    return {name: column[entries] for name, column in attributes.items()}


def listed_values(numbers: np.ndarray, values: np.ndarray, comm: Comm) -> np.ndarray:
    """Return the values of listed edges by number, counted over the ranks; collective.

    Args:
        numbers: int64, of any ranks' edges.
        values: of the edges listed on this rank, of at most 8 bytes each.
        comm: communicator of the ranks.
    """
    if comm.size == 1:
        return values[numbers]
    bits = values.view(f"i{values.itemsize}").astype(np.int64, copy=False)
    starts = comm.allgather(np.array([comm.before(values.size)], np.int64))[:, 0]
    answers = remote_look_up(
        numbers,
        lambda wanted: np.searchsorted(starts, wanted, side="right") - 1,
        lambda wanted: bits[wanted - starts[comm.rank]],
        comm,
    )
    return answers.astype(f"i{values.itemsize}", copy=False).view(values.dtype)


def run_starts(offsets: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the first entry of every run of equal targets in sorted rows."""
    new = np.ones(targets.size, bool)
    np.not_equal(targets[1:], targets[:-1], out=new[1:])
    new[offsets[:-1][np.diff(offsets) > 0]] = True
    return np.flatnonzero(new)


def order_by_weight(starts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the order in which the weights of every run ascend; equal ones stay in their order."""
    runs = np.repeat(np.arange(starts.size), np.diff(starts, append=weights.size))
    return np.lexsort((weights, runs))


def sums(values: np.ndarray, starts: np.ndarray, what: str) -> np.ndarray:
    """Return the sum of every run, int64 or float64; ``what`` names the values in messages.

    Raises:
        DataError: a sum of integers that does not fit.
    """
    if values.dtype.kind not in "f":
        values = values.astype(np.int64, copy=False)
        if np.add.reduceat(np.abs(values.astype(np.float64)), starts).max() > LARGEST_SUM:
            raise DataError(f"a sum of parallel edges' {what} does not fit 63 bits; give the {what} as floats")
    with np.errstate(invalid="ignore"):
        return np.add.reduceat(values, starts, dtype=np.float64 if values.dtype.kind == "f" else np.int64)
