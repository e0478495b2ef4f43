"""Decimal commas: weights such as ``1,5`` are read with ``--decimal ,``, and refused with that advice without it.

The scanner knows points only. Text with decimal commas is therefore scanned with commas and points swapped.
"""

from __future__ import annotations

import re

import numpy as np

INNER = 1
"""Byte that stands for a comma inside quotes, where the comma also separates columns: ``1,2,"0,5"``."""


def decimal_swap(decimal: str, separator: str) -> tuple[np.ndarray, int]:
    """Return the bytes that text is scanned as, uint8 (256,), and the byte of a separator inside quotes."""
    swap, inner_mark = np.arange(256, dtype=np.uint8), INNER if decimal == separator else ord("_")
    if decimal != ".":
        mark = inner_mark if decimal == separator else ord(decimal)
        swap[[mark, ord(".")]] = ord("."), mark
    return swap, inner_mark


def decimal_hint(word: str) -> str:
    """Return the advice about a word that is not a number; "" if it has no comma between digits."""
    if not between_digits(word):
        return ""
    return "; if its comma is a decimal mark, say --decimal , (decimal=',')"


def between_digits(text: str) -> bool:
    """Return True if the text has commas, and each of them stands between two digits."""
    return "," in text and re.search(r"(?<![0-9]),|,(?![0-9])", text) is None
