"""Names of vertices in table files: threads copy a rank's words, ``names.py`` numbers those of all ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.block import gid_type
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.formats.column import Arena
from dgraph.graph.formats.named_lines import WIDEST
from dgraph.graph.formats.word_table import WordTable, spans_of
from dgraph.graph.named_ids import NamedIds


def is_text(kind: Any) -> bool:
    """Return True for an Arrow type of strings, or of a dictionary of strings."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def names_pool() -> Any:
    """Return a memory pool of pyarrow that gives freed memory back: its usual one keeps three times what is used."""
    import pyarrow

    own = "jemalloc" in pyarrow.supported_memory_backends()
    return pyarrow.jemalloc_memory_pool() if own else pyarrow.system_memory_pool()


class TableNames:
    """Names of this rank's sources and targets: threads add batches of rows in any order."""

    def __init__(self, edges: int):
        self._table, self._wrong = WordTable(), False
        self._columns = [Arena().empty(edges, gid_type(2 * edges)) for _ in range(2)]

    def add(self, column: int, first: int, values: Any) -> None:
        """Add a batch of names, or of integers as names, of the rows from ``first`` on: column 0 sources, 1 targets."""
        texts = values.cast("large_string", memory_pool=names_pool())
        if not len(texts):
            return
        _, places, buffer = texts.buffers()
        offsets = np.frombuffer(places, np.int64, len(texts) + 1, 8 * texts.offset)
        lengths, letters = np.diff(offsets), np.frombuffer(buffer or b"", np.uint8)
        if lengths.min() == 0 or lengths.max() > WIDEST or not letters[offsets[0] : offsets[-1]].all():
            self._wrong = True
        else:
            self._columns[column][first : first + lengths.size] = self._table.codes(letters, spans_of(offsets))

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
        names, (src, dst) = self._table.number(self._columns, comm)
        return RawEdges(src, dst, weights, n=int(names.starts[-1]), ids=NamedIds(names), disposable=True)
