"""Names of vertices in table files: threads copy a rank's words, ``names.py`` numbers those of all ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.block import gid_type
from dgraph.graph.build.clean import RawEdges
from dgraph.graph.build.word_order import WordPool
from dgraph.graph.formats.named_lines import WIDEST
from dgraph.graph.formats.scan import tokens
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


def named_edges(path: str, ends: tuple[list, list], weights: np.ndarray | None, comm: Comm) -> RawEdges:
    """Return the edges between named vertices; collective.

    Args:
        path: for messages.
        ends: this rank's sources and targets, as of :func:`name_batch`; emptied.
        weights: shape (edges here,), or None on all ranks.
        comm: communicator of the ranks.

    Raises:
        DataError: a name that is empty, has more than 255 bytes or holds a zero byte.
    """
    pool = WordPool()
    with comm.together():
        if any(words is None for batches in ends for words in batches):
            raise DataError(
                f"{path}: a name of a vertex is empty, has more than {WIDEST} bytes or holds a zero byte; correct it"
            )
        edges = sum(map(len, ends[0]))
        for batches in ends:
            while batches:
                pool.add(batches.pop(0))
        words, places = pool.table()
    table, numbers = number_names(words, comm)
    n = int(table.starts[-1])
    every = places if comm.size == 1 else numbers.astype(gid_type(n))[places]  # on one rank a position is the number
    return RawEdges(every[:edges], every[edges:], weights, n=n, ids=NamedIds(table))
