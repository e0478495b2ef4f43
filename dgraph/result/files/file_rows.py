"""Rows of all ranks in the order of a file, received a piece at a time: no rank holds more than a piece of them.

The rows of a file are cut into parts of a bounded number of rows, as in a sample sort: samples of every rank's sorted
ids give splitters. In :meth:`FileRows.pieces`, each of P ranks receives and sorts one of P consecutive parts at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.owner_directed import swap

PART, PART_BYTES = 1 << 18, 1 << 25
"""Most rows and most bytes of a part, for each thread of a rank; a part of a sorted file may have an eighth more."""

SAMPLES = 64
"""Samples per part at least, so that parts differ by a few per cent."""


def splitters(vertex: np.ndarray, parts: int, total: int, comm: Comm) -> np.ndarray:
    """Return the first id of each of ``parts`` ranges but the first, about equally many rows each; collective.

    Args:
        vertex: int64, ascending on this rank.
        parts: number of ranges.
        total: rows over all ranks.
        comm: the ranks.

    Returns:
        int64, shape (parts - 1,), ascending; equal on all ranks. If ids are distinct, a range has at most an eighth
        more rows than the mean, and one.
    """
    stride = max(1, total // (parts * max(SAMPLES, 8 * comm.size)))
    samples = np.sort(np.concatenate(comm.allgatherv(vertex[stride // 2 :: stride])))
    middle = np.arange(1, parts) * samples.size // parts
    return samples[middle] if samples.size else np.zeros(parts - 1, np.int64)


def order_of_ranks(rows: int, ids: np.ndarray | None, comm: Comm) -> tuple[np.ndarray, bool, int | None]:
    """Return how the rows of ranks follow each other; collective.

    Args:
        rows: of this rank.
        ids: int64, ascending on this rank; None: rows are in order.
        comm: the ranks.

    Returns:
        The number of rows by rank, True if ids ascend from rank to rank, and the first id if all are consecutive.
    """
    ends = [0, 0] if ids is None or not rows else [ids[0], ids[-1]]
    counts, lowest, highest = comm.allgather(np.array([rows, *ends], np.int64)).T
    first, last = lowest[counts > 0], highest[counts > 0]
    in_order = ids is None or bool((last[:-1] < first[1:]).all())
    consecutive = in_order and first.size and last[-1] - first[0] + 1 == counts.sum()
    return counts, in_order, int(first[0]) if consecutive else None


class FileRows:
    """The rows of a file; the constructor is collective.

    Attributes:
        columns: this rank's arrays by name, first ``vertex``, or ``source`` and ``target``; names as bytes.
        total: rows over all ranks.
        infinity: text for an unreached vertex in a text file; b"" writes the number.
        nullable: columns whose missing values a table shows as null.
        threads: threads of this rank.
        metadata: words of a table's schema; None: none.
    """

    def __init__(
        self, columns: Mapping[str, np.ndarray], comm: Comm, key: np.ndarray | None = None, *, infinity: bytes = b"",
        nullable: Collection[str] = (), threads: int = 1, metadata: Mapping[str, str] | None = None, once: bool = False,
    ):  # fmt: skip
        """Cut the rows into parts.

        Args:
            columns: the attribute.
            comm: the ranks.
            key: ids, int64, by which the rows are sorted: ascending here, distinct over all ranks. None: the rows are
                in order from rank to rank.
            infinity: the attribute.
            nullable: the attribute.
            threads: the attribute.
            metadata: the attribute.
            once: True: one piece has all rows, and a part those of a P-th of the file.
        """
        self.columns = {name: np.ascontiguousarray(values) for name, values in columns.items()}
        self.comm, self.key, self.infinity, self.nullable = comm, key, infinity, nullable
        self.threads, self.metadata = threads, metadata
        mine = len(next(iter(self.columns.values())))
        counts, self._in_order, _ = order_of_ranks(mine, key, comm)
        self.total, self._before = int(counts.sum()), int(counts[: comm.rank].sum())
        if comm.size == 1:
            self._cuts = np.array([0, mine])
        else:
            bytes_of_row = sum(values.itemsize for values in self.columns.values())
            workers, widest = comm.allreduce(np.array([threads, bytes_of_row]), "max").tolist()
            rows = workers * max(1, min(PART, PART_BYTES // widest))
            parts = comm.size if once else max(1, -(-self.total // (rows * comm.size))) * comm.size
            if key is None:
                inner = (np.arange(1, parts) * self.total // parts - self._before).clip(0, mine)
            else:
                inner = np.searchsorted(key, splitters(key, parts, self.total, comm))
            self._cuts = np.concatenate([[0], inner, [mine]])
        self._starts = np.concatenate([[0], np.cumsum(comm.allreduce(np.diff(self._cuts).astype(np.int64)))])

    def scattered_pieces(self) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """Yield as :meth:`pieces`, but where ranks' rows follow each other, each rank gets its own; collective.

        Pieces are in the order of the file if those of a lower rank come first.
        """
        return iter([(self._before, self.columns)]) if self._in_order else self.pieces()

    def pieces(self, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """Yield the rows from ``begin`` to before ``end`` (None: all): rank r receives the r-th part; collective.

        Yields:
            The number in the file of the first row that this rank received, and its rows by column.
        """
        ranks, rank = self.comm.size, self.comm.rank
        end = self.total if end is None else min(end, self.total)
        for part in range(0, len(self._starts) - 1, ranks):
            if part and (self._starts[part + ranks] <= begin or self._starts[part] >= end):
                continue
            first = int(self._starts[part + rank])
            order: Any = slice(max(begin - first, 0), max(end - first, 0))
            if self.key is not None and ranks > 1:
                order = np.argsort(self._received(self.key, part), kind="stable")[order]
            yield first, {name: self._received(values, part)[order] for name, values in self.columns.items()}

    def _received(self, values: np.ndarray, part: int) -> np.ndarray:
        """Return this rank's part, by the rank that had the rows; ``part`` is that of rank 0."""
        if self.comm.size == 1:
            return values
        cuts = self._cuts[part : part + self.comm.size + 1].tolist()
        sent = [values[low:high] for low, high in pairwise(cuts)]
        return np.concatenate(swap(self.comm, sent))
