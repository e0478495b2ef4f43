"""Messages: which positions of an agreed list changed, and their values, in the fewest bytes.

A message is nothing at all, or 16 bytes of header (encoding, count), the set of positions, then one column a field,
every part padded to 8 bytes. A column whose values are all the same, as a search's levels are, is one
value. Positions are those of a :class:`~dgraph.graph.local.Mirrors` span, so no ids travel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgraph.engine.sync import bitset_kernels

NOTHING, EVERYTHING, BITSET, OFFSETS = range(4)
HEADER = 16
KINDS = 8
"""Bits of the header's first word that tell the encoding; bit i of the others: whether column i is one value."""


def choose(count: int, total: int, width: int, whole: bool) -> int:
    """The smallest encoding of ``count`` of ``total`` positions, ``width`` bytes of values each.

    Every encoding costs one message, so latency and bandwidth rank them as bytes do.

    Args:
        whole: whether positions that did not change may be sent along.
    """
    if count == 0:
        return NOTHING
    bitset, offsets = _pad((total + 7) // 8) + count * width, _pad(4 * count) + count * width
    best, size = (BITSET, bitset) if bitset < offsets else (OFFSETS, offsets)
    return EVERYTHING if count == total or (whole and total * width <= size) else best


def bound(total: int, widths: Sequence[int]) -> int:
    """The most bytes that a message over ``total`` positions can take, in the encoding that ``choose`` chooses."""
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
    """Write one message into ``out`` (uint8, ``bound`` bytes); the part of it that is the message.

    Args:
        positions: those that changed (uint32), each once, in any order.
        columns: one array a field; position i is its row i, or row ``rows[i]``.
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
        raw = column.view(bitset_kernels.bare(column.dtype))
        if which is None:
            single = bool(raw[0] == raw[total - 1] and (raw[:total] == raw[0]).all())
        else:
            single = bitset_kernels.alike(raw, which)
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
    """Positions (uint32) and one column a dtype; ``None`` where the message says nothing."""
    if message.size == 0:
        return None, ()
    told, count = message[:HEADER].view(np.int64).tolist()
    kind, uniform, at = told & ((1 << KINDS) - 1), told >> KINDS, HEADER
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
