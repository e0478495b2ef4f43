"""Number the names in columns of strings: equal names get equal codes, ascending by their UTF-8 bytes.

:func:`code_words` codes the names (``word_table.py``), and sorts the distinct ones only.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import DataError, UsageError
from dgraph.graph.formats.number_tokens import tokens
from dgraph.graph.formats.word_table import WordTable, spans_of, word_order
from dgraph.graph.inputs.vertex_columns import VertexColumn
from dgraph.graph.names import ENCODING

WIDEST = 255
"""Bytes in a name at most."""
MOST_BYTES = 1 << 31
"""Bytes of names that pyarrow's type ``string`` can hold."""


class Texts(NamedTuple):
    """Names as Arrow stores them: name i is ``letters[offsets[i]:offsets[i + 1]]``."""

    offsets: np.ndarray
    letters: np.ndarray


def code_words(columns: Sequence[VertexColumn]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return every column's codes, and the distinct names.

    Returns:
        Codes, uint32 or int64, of the columns' lengths; and the names that occur, bytes (dtype S), ascending: a name's
        code is its position.

    Raises:
        DataError: a name that is empty, has more than :data:`WIDEST` bytes or holds a zero byte, with its row.
    """
    pieces = [piece for column in columns for piece in column.words or ()]
    keys = [_key(piece.values) for piece in pieces]
    listed = {key: piece.values for key, piece in zip(keys, pieces, strict=True)}  # chunks may share a dictionary
    texts = {key: _texts(values) for key, values in listed.items()}
    table = WordTable()
    by_key = {key: table.codes(text.letters, spans_of(text.offsets)) for key, text in texts.items()}
    codes = [
        by_key[key] if piece.indices is None else by_key[key][piece.indices]
        for key, piece in zip(keys, pieces, strict=True)
    ]
    spread, taken = [], 0
    for column in columns:
        parts = codes[taken : taken + len(column.words or ())]
        spread.append(parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.uint32), *parts]))
        taken += len(parts)
    distinct = Texts(*reversed(table.texts))
    used = np.ones(distinct.offsets.size - 1, bool)
    if any(piece.indices is not None for piece in pieces):  # a dictionary may hold names that do not occur
        used[:] = False
        for own in spread:
            used[own] = True
    _refuse_wrong(columns, spread, distinct, used)
    kept = np.flatnonzero(used)
    words = tokens(distinct.letters, spans_of(distinct.offsets)[kept])
    order = word_order(words)
    places = np.zeros(used.size, np.uint32 if used.size < 1 << 32 else np.int64)
    places[kept[order]] = np.arange(order.size, dtype=places.dtype)
    return [places[own] for own in spread], words[order]


def _key(values: Any) -> Hashable:
    """Return a key that is equal for the same values in memory."""
    if isinstance(values, np.ndarray):
        return id(values)
    return values.offset, len(values), *(0 if buffer is None else buffer.address for buffer in values.buffers())


def _texts(values: Any) -> Texts:
    try:
        import pyarrow
    except ImportError:
        listed = [text if isinstance(text, bytes) else text.encode(*ENCODING) for text in values.tolist()]
        lengths = np.fromiter(map(len, listed), np.int64, len(listed))
        return Texts(np.concatenate([[0], np.cumsum(lengths)]), np.frombuffer(b"".join(listed), np.uint8))
    if isinstance(values, np.ndarray):
        values = np.char.decode(values, *ENCODING) if values.dtype.kind == "S" else values
        values = values.astype(object) if values.dtype.kind == "U" and _cut_by_pyarrow(values) else values
        kind = pyarrow.large_string() if values.nbytes >= MOST_BYTES else pyarrow.string()
        try:
            values = pyarrow.array(values, kind)
        except (pyarrow.ArrowException, UnicodeEncodeError) as wrong:
            raise UsageError(f"pyarrow cannot read names as UTF-8 ({str(wrong)[:120]}); correct them") from wrong
    if values.type not in (pyarrow.string(), pyarrow.large_string()):
        values = values.cast(pyarrow.large_string())
    _, places, letters = values.buffers()
    dtype = np.dtype(np.int64 if values.type == pyarrow.large_string() else np.int32)
    offsets = np.frombuffer(places, dtype, len(values) + 1, values.offset * dtype.itemsize) if len(values) else [0]
    return Texts(np.asarray(offsets, dtype), np.frombuffer(letters or b"", np.uint8))


def _cut_by_pyarrow(values: np.ndarray) -> bool:
    """Return True if a text of fixed width (dtype U) goes on after a zero, where pyarrow ends it."""
    letters = np.ascontiguousarray(values).view(np.uint32).reshape(values.size, -1) != 0
    return bool((letters[:, 1:] > letters[:, :-1]).any())


def _refuse_wrong(columns: Sequence[VertexColumn], codes: list[np.ndarray], texts: Texts, used: np.ndarray) -> None:
    """Refuse names that a table of names cannot hold."""
    lengths = np.diff(texts.offsets)
    wrong = (lengths == 0) | (lengths > WIDEST)
    wrong[np.searchsorted(texts.offsets, np.flatnonzero(texts.letters == 0), side="right") - 1] = True
    wrong &= used
    if not wrong.any():
        return
    column, own = next(pair for pair in zip(columns, codes, strict=True) if wrong[pair[1]].any())
    row = int(np.argmax(wrong[own]))
    start, length = int(texts.offsets[own[row]]), int(lengths[own[row]])
    text = bytes(texts.letters[start : start + min(length, 40)]).decode(errors="replace")
    reason = "is empty" if length == 0 else "holds a zero byte" if length <= WIDEST else f"has {length} bytes"
    raise DataError(f"{column.name}[{row}] {reason} ({text!r}); a name has 1 to {WIDEST} bytes, none zero; correct it")
