"""Names of vertices in table files: pyarrow finds a rank's distinct names, ``names.py`` numbers those of all ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.build.clean import RawEdges
from dgraph.graph.formats.named_lines import WIDEST
from dgraph.graph.named_ids import NamedIds
from dgraph.graph.names import number_names


def is_text(kind: Any) -> bool:
    """Return True for an Arrow type of strings, or of a dictionary of strings."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def named_edges(path: str, ends: tuple[list, list], weights: np.ndarray | None, comm: Comm) -> RawEdges:
    """Return the edges between named vertices; collective.

    Args:
        path: for messages.
        ends: this rank's sources and targets: Arrow arrays of type ``large_binary``, without nulls.
        weights: shape (edges here,), or None on all ranks.
        comm: communicator of the ranks.

    Raises:
        DataError: a name that is empty, has more than 255 bytes or holds a zero byte.
    """
    import pyarrow
    from pyarrow import compute

    with comm.together():
        coded = pyarrow.chunked_array([*ends[0], *ends[1]], pyarrow.large_binary()).combine_chunks().dictionary_encode()
        listed = coded.dictionary.to_numpy(zero_copy_only=False)
        lengths = compute.binary_length(coded.dictionary).to_numpy(zero_copy_only=False)
        words = listed.astype(f"S{max(int(lengths.max(initial=1)), 1)}") if (lengths <= WIDEST).all() else None
        if words is None or (lengths == 0).any() or b"\0" in b"".join(listed):
            raise DataError(
                f"{path}: a name of a vertex is empty, has more than {WIDEST} bytes or holds a zero byte; correct it"
            )
        order = np.argsort(words, kind="stable")
    table, numbers = number_names(words[order], comm)
    number = np.empty(order.size, np.int64)
    number[order] = numbers
    every = number[coded.indices.to_numpy(zero_copy_only=False)]
    edges = sum(map(len, ends[0]))
    return RawEdges(every[:edges], every[edges:], weights, n=int(table.starts[-1]), ids=NamedIds(table))
