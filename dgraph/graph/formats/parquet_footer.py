"""Footers of Parquet files: their offsets moved, so that a file can be part of another.

A footer is the struct ``FileMetaData`` of ``parquet.thrift`` in Thrift's compact protocol. It is copied field by field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OFFSETS: Mapping[int, Any] = {4: {1: {2: {}, 3: {9: {}, 11: {}}}, 5: {}}}
"""Offsets by numbers of fields: of row groups (4), their columns (1), and its pages (3). 0: none."""
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, _, STRUCT = range(1, 13)


def shifted(footer: bytes, distance: int) -> bytes:
    """Return a footer whose offsets are larger by ``distance``.

    Raises:
        ValueError: a type that no footer has.
    """
    copy = _Copy(footer, distance)
    copy.struct(OFFSETS)
    return bytes(copy.written)


class _Copy:
    """Copy of a footer up to byte ``position``; ``marked`` are the offsets in a value, None in others."""

    def __init__(self, footer: bytes, distance: int):
        self.footer, self.distance = footer, distance
        self.position, self.written = 0, bytearray()

    def struct(self, marked: Mapping[int, Any] | None) -> None:
        field = 0
        while head := self._bytes(1)[0]:
            field = field + (head >> 4) if head >> 4 else _signed(self._number())
            if head & 15 not in (TRUE, FALSE):  # their value is the type
                self._value(head & 15, (marked or {}).get(field))

    def _value(self, kind: int, marked: Mapping[int, Any] | None) -> None:
        if kind in (TRUE, FALSE, BYTE):
            self._bytes(1)
        elif kind in (I16, I32):
            self._number()
        elif kind == I64:
            self._number(marked is not None)
        elif kind == DOUBLE:
            self._bytes(8)
        elif kind == BINARY:
            self._bytes(self._number())
        elif kind in (LIST, SET):
            head = self._bytes(1)[0]
            for _item in range(head >> 4 if head >> 4 < 15 else self._number()):
                self._value(head & 15, marked)
        elif kind == STRUCT:
            self.struct(marked)
        else:
            raise ValueError(f"type {kind} in a footer of Parquet")

    def _bytes(self, count: int) -> bytes:
        copied = self.footer[self.position : self.position + count]
        self.position += count
        self.written += copied
        return copied

    def _number(self, moved: bool = False) -> int:
        """Copy a number of 7 bits a byte, low bits first, and return it; ``moved``: a signed one, an offset."""
        begin, number, shift = len(self.written), 0, 0
        while True:
            byte = self._bytes(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if moved and number:
            del self.written[begin:]
            rest = 2 * (_signed(number) + self.distance)
            while rest > 127:
                self.written.append(rest & 127 | 128)
                rest >>= 7
            self.written.append(rest)
        return number


def _signed(number: int) -> int:
    return number >> 1 ^ -(number & 1)
