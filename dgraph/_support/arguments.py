"""Checks of arguments, before NumPy or another library receives them: a kind each, with one message for each kind.

A function takes the argument's name and value, and returns the value as Python's own type, or raises a
:class:`UsageError` that names the argument and shows the value.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from dgraph.errors import UsageError, shown, unknown

INT64 = range(-(2**63), 2**63)
"""Integers that arrays hold."""


def integer(name: str, value: Any, least: int | None = None, more: str = "") -> int:
    """Return an integer of 64 bits; NumPy's integers are integers, booleans and floats are not.

    Args:
        name: of the argument.
        value: of the argument.
        least: smallest value; None: no bound.
        more: end of the message, such as ", or None".
    """
    if not is_integer(value) or value not in INT64 or (least is not None and value < least):
        bound = " of 64 bits" if least is None else f", {least} or more"
        raise UsageError(f"{name} = {shown(value)} is not valid: give an integer{bound}{more}")
    return int(value)


def real(name: str, value: Any, more: str = "") -> float:
    """Return a number that a float holds; infinity is one, NaN is not."""
    if is_real(value):
        try:
            number = float(value)
        except OverflowError:  # an integer above 1.8e308
            number = math.nan
        if not math.isnan(number):
            return number
    raise UsageError(f"{name} = {shown(value)} is not valid: give a number{more}")


def flag(name: str, value: Any) -> bool:
    """Return True or False; NumPy's booleans are taken, other values are not."""
    if not isinstance(value, (bool, np.bool_)):
        raise UsageError(f"{name} = {shown(value)} is not valid: give True or False")
    return bool(value)


def text(name: str, value: Any, more: str = "") -> str:
    """Return a str that names and paths can hold, see :func:`encodable`."""
    if isinstance(value, str) and encodable(value):
        return str(value)
    raise UsageError(f"{name} = {shown(value)} is not valid: give text{more}")


def choice(name: str, value: Any, choices: Iterable[str], kind: str = "") -> str:
    """Return one of several words.

    Args:
        name: of the argument.
        value: of the argument.
        choices: the words.
        kind: noun with the name, for the message, such as "rule to merge parallel edges"; "": the name alone.
    """
    words = tuple(choices)
    if isinstance(value, str) and value in words:
        return str(value)
    raise unknown(kind or name, value, words)


def path(name: str, value: Any) -> str:
    """Return a path that the system can open: text or an ``os.PathLike``, not empty and without a NUL."""
    spelt = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if isinstance(spelt, str) and spelt and "\0" not in spelt and encodable(spelt):
        return spelt
    raise UsageError(f"{name} = {shown(value)} is not a path: give a string or a Path")


def is_integer(value: Any) -> bool:
    """Return True for Python's and NumPy's integers, booleans left out."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


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
