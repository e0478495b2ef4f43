"""Number the names in columns of strings: equal names get equal codes, ascending by their UTF-8 bytes.

:func:`code_words` lets pyarrow hash the names, and sorts the distinct ones only. Without pyarrow NumPy sorts all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.errors import DataError, UsageError
from dgraph.graph.inputs.vertex_columns import Piece, VertexColumn
from dgraph.graph.names import ENCODING

WIDEST = 255
"""Bytes in a name at most."""
MOST_BYTES = 1 << 31
"""Bytes of names that pyarrow's type ``string`` can hold."""


def code_words(columns: Sequence[VertexColumn]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return every column's codes, and the distinct names.

    Returns:
        Codes, uint32 of the columns' lengths; and the names that occur, bytes (dtype S), ascending: a name's code is
        its position.

    Raises:
        DataError: a name that is empty, has more than :data:`WIDEST` bytes or holds a zero byte, with its row.
    """
    pieces = [piece for column in columns for piece in column.words or ()]
    codes, offsets, data = _encoded(pieces)
    spread, at = [], 0
    for column in columns:
        size = len(column.words or ())
        own = [np.empty(0, np.uint32), *codes[at : at + size]]
        spread.append(own[1] if size == 1 else np.concatenate(own))
        at += size
    wrong = _wrong(offsets, data)
    used = np.zeros(offsets.size - 1, bool)
    for each in spread:
        used[each] = True
    if (wrong & used).any():
        raise _refusal(columns, spread, wrong, offsets, data)
    words = _words(offsets, data, np.flatnonzero(used))
    order = _order(words)
    places = np.zeros(used.size, np.uint32)
    places[np.flatnonzero(used)[order]] = np.arange(order.size, dtype=np.uint32)
    longest = int(np.diff(offsets)[used].max(initial=1))
    return [places[each] for each in spread], words[order].astype(f"S{longest}")


def _encoded(pieces: list[Piece]) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return the codes of every piece, and the names by code: offsets int64 (k + 1,) into bytes."""
    try:
        import pyarrow
    except ImportError:
        return _encoded_by_sorting(pieces)
    arrays = [_arrow(piece.values, pyarrow) for piece in pieces]
    large = any(array.type == pyarrow.large_string() for array in arrays)
    large = large or sum(array.nbytes for array in arrays) >= MOST_BYTES
    kind = pyarrow.large_string() if large else pyarrow.string()
    arrays = [array if array.type == kind else array.cast(kind) for array in arrays]
    coded = pyarrow.chunked_array(arrays, kind).dictionary_encode().unify_dictionaries()
    codes = []
    for piece, chunk in zip(pieces, coded.chunks, strict=True):
        own = chunk.indices.to_numpy(zero_copy_only=False).view(np.uint32)
        codes.append(own if piece.indices is None else own[piece.indices])
    if not pieces:
        return codes, np.zeros(1, np.int64), np.empty(0, np.uint8)
    names = coded.chunk(0).dictionary
    _, places, data = names.buffers()
    places = np.frombuffer(places, np.int64 if large else np.int32)[names.offset : names.offset + len(names) + 1]
    return codes, places.astype(np.int64), np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)


def _arrow(values: Any, pyarrow: Any) -> Any:
    if not isinstance(values, np.ndarray):
        return values
    if values.dtype.kind == "S":
        values = np.char.decode(values, *ENCODING)
    try:
        return pyarrow.array(values, pyarrow.large_string() if values.nbytes >= MOST_BYTES else pyarrow.string())
    except (pyarrow.ArrowException, UnicodeEncodeError) as wrong:
        raise UsageError(f"pyarrow cannot read names as UTF-8 ({str(wrong)[:120]}); correct them") from wrong


def _encoded_by_sorting(pieces: list[Piece]) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    texts = [np.asarray(piece.values, object) for piece in pieces]
    raw = [text.encode(*ENCODING) if isinstance(text, str) else bytes(text) for text in np.concatenate([[], *texts])]
    words, which = np.unique(np.array(raw, object), return_inverse=True)
    ends = np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(np.int64)
    codes, at = [], 0
    for piece, text in zip(pieces, texts, strict=True):
        own = which[at : at + text.size].astype(np.uint32)
        codes.append(own if piece.indices is None else own[piece.indices])
        at += text.size
    return codes, ends, np.frombuffer(b"".join(words), np.uint8)


def _wrong(offsets: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Return True for names that a table of names cannot hold."""
    lengths = np.diff(offsets)
    wrong = (lengths == 0) | (lengths > WIDEST)
    zeros = np.flatnonzero(data[offsets[0] : offsets[-1]] == 0) + offsets[0]
    wrong[np.searchsorted(offsets, zeros, side="right") - 1] = True
    return wrong


def _refusal(
    columns: Sequence[VertexColumn], codes: list[np.ndarray], wrong: np.ndarray, offsets: np.ndarray, data: np.ndarray
) -> DataError:
    column, own = next(pair for pair in zip(columns, codes, strict=True) if wrong[pair[1]].any())
    row = int(np.argmax(wrong[own]))
    low, high = offsets[own[row]], offsets[own[row] + 1]
    text = bytes(data[low : min(high, low + 40)]).decode(errors="replace")
    reason = "is empty" if low == high else "holds a zero byte" if high - low <= WIDEST else f"has {high - low} bytes"
    return DataError(f"{column.name}[{row}] {reason} ({text!r}); a name has 1 to {WIDEST} bytes, none zero; correct it")


def _words(offsets: np.ndarray, data: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the chosen names as bytes of one width, a multiple of 8."""
    lengths = np.diff(offsets)[chosen]
    width = max(8, -(-int(lengths.max(initial=1)) // 8) * 8)
    out = np.zeros((chosen.size, width), np.uint8)
    _copy(data, offsets[chosen], lengths, out)
    return out.view(f"S{width}")[:, 0]


def _order(words: np.ndarray) -> np.ndarray:
    """Return the order of distinct names by their bytes, eight at a time, ties by the next eight."""
    columns = words.view(">u8").reshape(words.size, words.itemsize // 8).T
    keys = [column.astype(np.uint64) for column in columns if words.size and (column != column[0]).any()]
    if not keys:
        return np.arange(words.size)
    order = np.argsort(keys[0])
    if len(keys) > 1:
        first = keys[0][order]
        same = first[1:] == first[:-1]
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = order[tied]
        order[tied] = rows[np.lexsort([key[rows] for key in keys[::-1]])]
    return order


@njit(cache=True)
def _copy(data, starts, lengths, out):
    for i in range(starts.size):
        for j in range(lengths[i]):
            out[i, j] = data[starts[i] + j]
