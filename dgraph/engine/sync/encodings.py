"""Messages of CPU ranks: write and read the changed positions of a list that both ranks know, and their values.

:mod:`dgraph.backend.wire` describes the format. A column of equal values, such as BFS levels, is one value. Positions
index a span of :class:`~dgraph.graph.local.Mirrors`, so no vertex ids are sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dgraph.backend.wire import BITSET, CPU, EVERYTHING, KIND_BITS, NOTHING, OFFSET, OFFSETS, UnreadableMessage, padded
from dgraph.engine.sync import bitset_kernels

if TYPE_CHECKING:
    from dgraph.backend.cpu.threads.team import Team

HEADER, KINDS = CPU.header, (1 << KIND_BITS) - 1

SHARED = 1 << 13
"""Rows from which threads share a column: some 10 µs of one thread, and two or three to start them."""


def encode(
    buffer: np.ndarray,
    kind: int,
    total: int,
    positions: np.ndarray,
    columns: Sequence[np.ndarray],
    rows: np.ndarray | None = None,
    team: Team | None = None,
) -> np.ndarray:
    """Write one message and return the part of ``buffer`` that holds it.

    Args:
        buffer: send buffer, uint8, ``CPU.bound`` bytes.
        kind: encoding.
        total: positions in the span.
        positions: changed positions (uint32), each once, in any order.
        columns: one array per field.
        rows: row of ``columns`` for each position; None: position i is row i.
        team: threads that share the rows of a column of ``SHARED`` or more; None: this one alone.
    """
    if kind == NOTHING:
        return buffer[:0]
    offset, where, count = HEADER, positions, len(positions)
    if kind == EVERYTHING:
        count = total
    elif kind == BITSET:
        words = buffer[offset : offset + CPU.bitset(CPU.chunks(0, total))].view(np.uint64)
        bitset_kernels.set_bits(words, positions)
        if columns:
            where = np.empty(count, np.uint32)
            bitset_kernels.positions_of(words, where)
        offset += words.nbytes
    else:
        buffer[offset : offset + OFFSET * count].view(np.uint32)[:] = positions
        offset += padded(OFFSET * count)
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
        room = buffer[offset : offset + size].view(raw.dtype)
        if which is None:
            room[:] = raw[: room.size]
        elif team is not None and team.size > 1 and room.size >= SHARED:
            team.launch(bitset_kernels.gather_on_team, team.size, raw, which, room)
        else:
            bitset_kernels.gather(raw, which[: room.size], room)
        uniform |= single << i
        offset += padded(size)
    header = buffer[:HEADER].view(np.int64)
    header[CPU.kind_word], header[CPU.count_word] = kind | uniform << KIND_BITS, count
    return buffer[:offset]


def decode(
    message: np.ndarray, total: int, dtypes: Sequence[np.dtype], ascending: np.ndarray | None = None
) -> tuple[np.ndarray | None, tuple[np.ndarray, ...]]:
    """Return the positions (uint32) and one column per dtype; (None, ()) for an empty message.

    ``ascending`` has the numbers from 0 on that are the positions of a message about all; it is not to be changed.

    Raises:
        UnreadableMessage: the message does not have the format, or not of a span of ``total`` positions.
    """
    if message.size == 0:
        return None, ()
    if message.size < HEADER:
        raise _malformed(message, total, f"it is shorter than its header of {HEADER} bytes")
    header = message[:HEADER].view(np.int64).tolist()
    word, count = header[CPU.kind_word], header[CPU.count_word]
    kind, uniform, place = word & KINDS, word >> KIND_BITS, HEADER
    if not (NOTHING < kind <= OFFSETS and 0 <= uniform < 1 << len(dtypes)):
        raise _malformed(message, total, f"its kind is {kind} and its columns of one value are {uniform:#b}")
    if not 0 < count <= total or (kind == EVERYTHING and count != total):
        raise _malformed(message, total, f"it has {count} positions")
    last, bits, columns = 0, count, []
    try:
        if kind == OFFSETS:
            positions = message[place : place + OFFSET * count].view(np.uint32)
            place += padded(OFFSET * count)
            last = bitset_kernels.largest(positions)
        elif kind == BITSET:
            size = CPU.bitset(CPU.chunks(0, total))
            positions = np.empty(count, np.uint32)
            bits = bitset_kernels.positions_of(message[place : place + size].view(np.uint64), positions)
            place, last = place + size, int(positions[-1]) if bits == count else 0
        else:
            positions = np.arange(total, dtype=np.uint32) if ascending is None else ascending[:total]
        for i, dtype in enumerate(dtypes):
            single = uniform >> i & 1
            size = dtype.itemsize * (1 if single else count)
            values = message[place : place + size].view(dtype)
            columns.append(np.full(count, values[0]) if single else values)
            place += padded(size)
    except (ValueError, IndexError):  # a part ends early
        place = -1
    if place != message.size:
        raise _malformed(message, total, f"{count} positions of kind {kind} and their values do not take these bytes")
    if bits != count:
        raise _malformed(message, total, f"it has {count} positions and {bits} bits or more")
    if last >= total:
        raise _malformed(message, total, f"it names position {last}")
    return positions, tuple(columns)


def _malformed(message: np.ndarray, total: int, reason: str) -> UnreadableMessage:
    return UnreadableMessage(
        f"a message of {message.size} bytes about {total} positions of mirrors cannot be read: {reason}; run all ranks "
        "with one version of dgraph on one graph, and report this if they are"
    )
