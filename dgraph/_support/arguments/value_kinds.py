"""Kinds of values: integers, numbers, collections, text with bytes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

INT64 = range(-(2**63), 2**63)
"""Integers that arrays hold."""


def is_collection(value: Any) -> bool:
    """Return True for a collection of one dimension that is not text or bytes: a list, a set, an array, a Series."""
    if not isinstance(value, Collection) or isinstance(value, (str, bytes, bytearray, memoryview)):
        return False
    return getattr(value, "ndim", 1) == 1


def is_integer(value: Any) -> bool:
    """Return True for Python's and NumPy's integers, booleans left out."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def is_int64(value: Any) -> bool:
    """Return True for integers that arrays of int64 hold."""
    return is_integer(value) and int(value) in INT64  # a range searches for NumPy's integers one by one


def is_real(value: Any) -> bool:
    """Return True for Python's and NumPy's integers and floats, booleans left out."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))


def encodable(word: str) -> bool:
    """Return True if a text has bytes: UTF-8, or those of a name or path that is not, as Python escapes them."""
    try:
        word.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
