"""Message format: the changed positions of a list that both ranks know, and their values, in the fewest bytes.

A message is empty, or a 16-byte header (encoding, count), the set of positions, and one column per field, each part
padded to 8 bytes. A column of equal values, such as BFS levels, is one value. Positions index a span of
:class:`~dgraph.graph.local.Mirrors`, so no vertex ids are sent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgraph.engine.sync import bitset_kernels

NOTHING, EVERYTHING, BITSET, OFFSETS = range(4)
HEADER = 16
KINDS = 8
"""Bits of the header's first word that hold the encoding. Bit i of the others is set if column i is one value."""


def choose(count: int, total: int, width: int, whole: bool) -> int:
    """Return the smallest encoding; each is one message, so fewer bytes also mean less time.

    Args:
        count: positions that changed.
        total: positions in the span.
        width: bytes of values per position.
        whole: True if unchanged positions may be sent too.
    """
    if count == 0:
        return NOTHING
    bitset, offsets = _pad((total + 7) // 8) + count * width, _pad(4 * count) + count * width
    best, size = (BITSET, bitset) if bitset < offsets else (OFFSETS, offsets)
    return EVERYTHING if count == total or (whole and total * width <= size) else best


def bound(total: int, widths: Sequence[int]) -> int:
    """Return the maximum bytes of a message over ``total`` positions in the encoding that :func:`choose` returns."""
    if total == 0:
        return 0
    return HEADER + _pad((total + 7) // 8) + sum(_pad(total * width) for width in widths) + 8


def encode(
    out: np.ndarray,
    kind: int,
    total: int,
    positions: np.ndarray,
    columns: Sequence[np.ndarray],
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """Write one message and return the part of ``out`` that holds it.

    Args:
        out: send buffer, uint8, :func:`bound` bytes.
        kind: encoding.
        total: positions in the span.
        positions: changed positions (uint32), each once, in any order.
        columns: one array per field.
        rows: row of ``columns`` for each position; None: position i is row i.
    """
    if kind == NOTHING:
        return out[:0]
    at, where, count = HEADER, positions, len(positions)
    if kind == EVERYTHING:
        count = total
    elif kind == BITSET:
        words = out[at : at + 8 * _words(total)].view(np.uint64)
        bitset_kernels.set_bits(words, positions)
        if columns:
            where = np.empty(count, np.uint32)
            bitset_kernels.positions_of(words, where)
        at += words.nbytes
    else:
        out[at : at + 4 * count].view(np.uint32)[:] = positions
        at += _pad(4 * count)
    which = None if kind == EVERYTHING else where
    if rows is not None and columns:
        which = rows[:total] if which is None else bitset_kernels.gathered(rows, which)
    uniform = 0
    for i, column in enumerate(columns):
        raw = column.view(bitset_kernels.bits_of(column.dtype))
        if which is None:
            single = bool(raw[0] == raw[total - 1] and (raw[:total] == raw[0]).all())
        else:
            single = bitset_kernels.uniform(raw, which)
        size = raw.itemsize * (1 if single else count)
        room = out[at : at + size].view(raw.dtype)
        if which is None:
            room[:] = raw[: room.size]
        else:
            bitset_kernels.gather(raw, which[: room.size], room)
        uniform |= single << i
        at += _pad(size)
    header = out[:HEADER].view(np.int64)
    header[0], header[1] = kind | uniform << KINDS, count
    return out[:at]


def decode(
    message: np.ndarray, total: int, dtypes: Sequence[np.dtype]
) -> tuple[np.ndarray | None, tuple[np.ndarray, ...]]:
    """Return the positions (uint32) and one column per dtype; (None, ()) for an empty message."""
    if message.size == 0:
        return None, ()
    first, count = message[:HEADER].view(np.int64).tolist()
    kind, uniform, at = first & ((1 << KINDS) - 1), first >> KINDS, HEADER
    if kind == BITSET:
        size = 8 * _words(total)
        positions = np.empty(count, np.uint32)
        bitset_kernels.positions_of(message[at : at + size].view(np.uint64), positions)
        at += size
    elif kind == OFFSETS:
        positions = message[at : at + 4 * count].view(np.uint32)
        at += _pad(4 * count)
    else:
        positions = np.arange(total, dtype=np.uint32)
    columns = []
    for i, dtype in enumerate(dtypes):
        single = uniform >> i & 1
        size = dtype.itemsize * (1 if single else count)
        values = message[at : at + size].view(dtype)
        columns.append(np.full(count, values[0]) if single else values)
        at += _pad(size)
    return positions, tuple(columns)


def _words(total: int) -> int:
    return (total + 63) >> 6


def _pad(size: int) -> int:
    return (size + 7) & ~7
