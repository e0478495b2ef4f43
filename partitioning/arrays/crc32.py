"""CRC-32 of long buffers: threads sum pieces, and the sums of the pieces are combined (``crc32_combine`` of zlib)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

PIECE = 4 << 20
"""Bytes that a thread sums at a time."""


def crc32_of(buffers: Sequence[memoryview], threads: int = 1) -> list[int]:
    """Return the CRC-32 of each buffer of bytes."""
    if threads < 2 or sum(raw.nbytes for raw in buffers) < 2 * PIECE:
        return [zlib.crc32(raw) for raw in buffers]
    cuts = [[raw[first : first + PIECE] for first in range(0, raw.nbytes, PIECE)] for raw in buffers]
    with ThreadPoolExecutor(threads) as pool:
        sums = pool.map(zlib.crc32, [piece for pieces in cuts for piece in pieces])
        return [combined((next(sums), piece.nbytes) for piece in pieces) for pieces in cuts]


def combined(pieces, first: int = 0) -> int:
    """Return the CRC-32 of ``first``'s bytes and those of pieces behind them, given as (CRC-32, length)."""
    for checksum, length in pieces:
        first = crc32_combine(first, checksum, length)
    return first


def crc32_combine(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two concatenated pieces from their CRC-32s and the second's length in bytes."""
    return _times(_power(length), first) ^ second


@lru_cache(64)
def _power(length: int) -> int:
    """Return x^(8 · length), by which appending ``length`` bytes multiplies a CRC-32."""
    power, square = 1 << 31, 1 << 23  # 1 and x^8, bit-reversed
    while length:
        if length & 1:
            power = _times(power, square)
        square = _times(square, square)
        length >>= 1
    return power


def _times(a: int, b: int) -> int:
    """Multiply two bit-reversed polynomials over GF(2), modulo that of CRC-32."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (0xEDB88320 if b & 1 else 0)
    return product
