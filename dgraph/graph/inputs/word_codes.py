"""Number the names in columns of strings: equal names get equal codes, ascending by their UTF-8 bytes.

:func:`code_words` hashes every name to 64 bits, numbers the hashes (``word_order.py``), and sorts the distinct names
only. Each row is then compared with the name of its code, byte by byte; if two names share a hash, another hash is
tried.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dgraph._support.compiled import njit
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.word_order import coded_hashes, word_order
from dgraph.graph.formats.parse_digits import word_at
from dgraph.graph.generators.counter import mix
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
    codes, words, lengths = _distinct([_texts(values) for values in listed.values()])
    by_key = dict(zip(listed, codes, strict=True))
    codes = [
        by_key[key] if piece.indices is None else by_key[key][piece.indices]
        for key, piece in zip(keys, pieces, strict=True)
    ]
    spread, taken = [], 0
    for column in columns:
        parts = codes[taken : taken + len(column.words or ())]
        spread.append(parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.uint32), *parts]))
        taken += len(parts)
    used = np.ones(words.size, bool)
    if any(piece.indices is not None for piece in pieces):  # a dictionary may hold names that do not occur
        used = np.zeros(words.size, bool)
        for own in spread:
            used[own] = True
    _refuse_wrong(columns, spread, words, lengths, used)
    kept = np.flatnonzero(used)
    order = kept[word_order(words[kept])]
    places = np.zeros(words.size, np.uint32 if words.size < 1 << 32 else np.int64)
    places[order] = np.arange(order.size, dtype=places.dtype)
    longest = int(lengths[order].max(initial=1))
    return [places[own] for own in spread], words[order].astype(f"S{longest}")


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


def _distinct(texts: list[Texts]) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return the codes of every text's names; and the distinct names in the order of their codes, and their lengths."""
    cuts = np.concatenate([[0], np.cumsum([text.offsets.size - 1 for text in texts])]).astype(np.int64)
    rows = int(cuts[-1])
    seed = 0
    while True:
        hashes = np.empty(rows, np.uint64)
        for text, low, high in zip(texts, cuts[:-1], cuts[1:], strict=True):
            _hash(text.offsets, text.letters, np.uint64(seed), hashes[low:high])
        codes, firsts = coded_hashes(hashes)
        del hashes
        lengths = np.empty(firsts.size, np.int64)
        for text, low, high in zip(texts, cuts[:-1], cuts[1:], strict=True):
            here = np.flatnonzero((firsts >= low) & (firsts < high))
            lengths[here] = _lengths(text, firsts[here] - low)
        width = -(-int(min(lengths.max(initial=1), WIDEST + 1)) // 8) * 8
        words = np.zeros((firsts.size, width), np.uint8)
        for text, low, high in zip(texts, cuts[:-1], cuts[1:], strict=True):
            here = np.flatnonzero((firsts >= low) & (firsts < high))
            _copy(text.offsets, text.letters, firsts[here] - low, here, words)
        parts = np.split(codes, cuts[1:-1])[: len(texts)]
        stored, short = words.view(np.uint64), np.minimum(lengths, WIDEST + 1).astype(np.uint16)
        if all(_same(*text, own, stored, short) for text, own in zip(texts, parts, strict=True)):
            return parts, words.view(f"S{width}")[:, 0], lengths
        seed += 1


def _lengths(text: Texts, rows: np.ndarray) -> np.ndarray:
    return text.offsets[rows + 1].astype(np.int64) - text.offsets[rows]


def _refuse_wrong(
    columns: Sequence[VertexColumn], codes: list[np.ndarray], words: np.ndarray, lengths: np.ndarray, used: np.ndarray
) -> None:
    """Refuse names that a table of names cannot hold."""
    wrong = (
        (lengths == 0) | (lengths > WIDEST) | _zeros(words.view(np.uint8).reshape(words.size, words.itemsize), lengths)
    ) & used
    if not wrong.any():
        return
    column, own = next(pair for pair in zip(columns, codes, strict=True) if wrong[pair[1]].any())
    row = int(np.argmax(wrong[own]))
    length, text = lengths[own[row]], words[own[row]][:40].decode(errors="replace")
    reason = "is empty" if length == 0 else "holds a zero byte" if length <= WIDEST else f"has {length} bytes"
    raise DataError(f"{column.name}[{row}] {reason} ({text!r}); a name has 1 to {WIDEST} bytes, none zero; correct it")


@njit(inline="always")
def _word(letters, position, end):
    """Return the bytes from ``position`` to ``end`` as an integer, eight at most; one load where that is in bounds."""
    if end - position >= 8:
        return word_at(letters, position)
    if end >= 8:
        return word_at(letters, end - 8) >> np.uint64(8 * (8 - (end - position)))
    word = np.uint64(0)
    for j in range(end - position):
        word |= np.uint64(letters[position + j]) << np.uint64(8 * j)
    return word


@njit(cache=True)
def _hash(offsets, letters, seed, hashes):
    for i in range(hashes.size):
        position, end = np.int64(offsets[i]), np.int64(offsets[i + 1])
        value = mix(seed + np.uint64(end - position))
        while position < end:
            value = mix(value + _word(letters, position, end))
            position += 8
        hashes[i] = value


@njit(cache=True)
def _copy(offsets, letters, rows, positions, words):
    for i in range(rows.size):
        low = np.int64(offsets[rows[i]])
        for j in range(min(np.int64(offsets[rows[i] + 1]) - low, words.shape[1])):
            words[positions[i], j] = letters[low + j]


@njit(cache=True)
def _same(offsets, letters, codes, words, lengths):
    """Return True if every name is that of its code, as far as the rows of ``words`` (uint64) go."""
    for i in range(codes.size):
        code, position, end = codes[i], np.int64(offsets[i]), np.int64(offsets[i + 1])
        if lengths[code] != min(end - position, WIDEST + 1):
            return False
        for j in range(words.shape[1]):
            if position >= end:
                break
            if _word(letters, position, end) != words[code, j]:
                return False
            position += 8
    return True


@njit(cache=True)
def _zeros(words, lengths):
    """Return True for each name that holds a zero byte."""
    zeros = np.zeros(lengths.size, np.bool_)
    for i in range(lengths.size):
        for j in range(min(lengths[i], words.shape[1])):
            zeros[i] |= words[i, j] == 0
    return zeros
