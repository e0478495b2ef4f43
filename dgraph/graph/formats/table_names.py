"""Names of vertices in table files: threads copy a rank's words, ``names.py`` numbers those of all ranks."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.block import gid_type
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.build.word_order import WordPool
from dgraph.graph.formats.column import Arena
from dgraph.graph.formats.named_lines import WIDEST
from dgraph.graph.formats.number_tokens import tokens
from dgraph.graph.named_ids import NamedIds
from dgraph.graph.names import number_names


def is_text(kind: Any) -> bool:
    """Return True for an Arrow type of strings, or of a dictionary of strings."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def name_batch(values: Any) -> np.ndarray | None:
    """Return a batch of names, or of integers as names, as bytes (dtype S); None if one cannot be a name."""
    texts = values.cast("large_string")
    if not len(texts):
        return np.empty(0, "S1")
    _, places, buffer = texts.buffers()
    offsets = np.frombuffer(places, np.int64, len(texts) + 1, 8 * texts.offset)
    lengths = np.diff(offsets)
    if lengths.min() == 0 or lengths.max() > WIDEST:
        return None
    letters = np.frombuffer(buffer, np.uint8)
    if not letters[offsets[0] : offsets[-1]].all():
        return None
    return tokens(letters, np.stack([offsets[:-1], offsets[1:]], axis=1))


class TableNames:
    """Names of this rank's sources and targets: threads add batches of rows in any order."""

    def __init__(self, edges: int):
        self._edges, self._pool, self._wrong = edges, WordPool(), False
        self._lock, self._places = Lock(), list[tuple[int, int, int]]()

    def add(self, column: int, first: int, words: np.ndarray | None) -> None:
        """Add what :func:`name_batch` returned of the rows from ``first`` on of a column: sources 0, targets 1."""
        if words is None:
            self._wrong = True
            return
        number = self._pool.add(words)
        with self._lock:
            self._places.append((number, column, first))

    def edges(self, path: str, weights: np.ndarray | None, comm: Comm) -> RawEdges:
        """Return the edges between named vertices, and forget the names; collective.

        Args:
            path: for messages.
            weights: shape (edges here,), or None on all ranks.
            comm: communicator of the ranks.

        Raises:
            DataError: a name that is empty, has more than 255 bytes or holds a zero byte.
        """
        with comm.together():
            if self._wrong:
                raise DataError(
                    f"{path}: a name of a vertex is empty, has more than {WIDEST} bytes or holds a zero byte; correct "
                    "it"
                )
            words, pieces = self._pool.table()
            ends = [Arena().empty(self._edges, gid_type(words.size)) for _ in range(2)]
            for (_, column, first), places in zip(sorted(self._places), pieces, strict=True):
                ends[column][first : first + places.size] = places
        table, numbers = number_names(words, comm)
        n = int(table.starts[-1])
        if comm.size > 1:  # on one rank a position is the number
            ends = [numbers.astype(gid_type(n))[places] for places in ends]
        src, dst = ends
        return RawEdges(src, dst, weights, n=n, ids=NamedIds(table))
