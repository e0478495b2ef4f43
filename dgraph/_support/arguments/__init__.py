"""Checks of arguments, before NumPy or another library receives them: a kind each, with one message for each kind.

A function takes the argument's name and value, and returns the value as Python's own type, or raises a
:class:`UsageError` that names the argument and shows the value.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from dgraph._support.arguments.value_kinds import INT64, encodable, is_collection, is_int64, is_integer, is_real
from dgraph.errors import UsageError, shown, unknown

__all__ = [
    "INT64", "choice", "encodable", "flag", "groups", "instance", "integer", "is_collection", "is_int64", "is_integer",
    "is_real", "path", "real", "refused", "root_rank", "text", "vertex", "vertices",
]  # fmt: skip

LONGEST_NAME, LONGEST_PATH = 255, 4096
"""Bytes of a file's name, and of a path with its end, that Linux takes."""


def integer(name: str, value: Any, least: int | None = None, of: str = "", more: str = "") -> int:
    """Return an integer of 64 bits; NumPy's integers are integers, booleans and floats are not.

    Args:
        name: of the argument.
        value: of the argument.
        least: smallest value; None: no bound.
        of: function that takes it, for the message.
        more: end of the message, such as ", or None".
    """
    if not is_int64(value):
        raise refused(name, value, of, f"an integer of 64 bits{_bound(least)}{more}")
    if least is not None and value < least:
        raise refused(name, value, of, f"an integer{_bound(least)}{more}")
    return int(value)


def real(name: str, value: Any, least: float | None = None, of: str = "", more: str = "") -> int | float:
    """Return an integer of 64 bits unchanged, another number as a float; infinity is one, NaN is not.

    Arguments are those of :func:`integer`.
    """
    number: int | float = math.nan
    if is_int64(value):
        number = int(value)
    elif is_real(value):
        with suppress(OverflowError):  # an integer above 1.8e308
            number = float(value)
    if math.isnan(number) or (least is not None and number < least):
        raise refused(name, value, of, f"a number{_bound(least)}{more}")
    return number


def flag(name: str, value: Any, of: str = "", more: str = "") -> bool:
    """Return True or False; NumPy's booleans are taken, other values are not."""
    if not isinstance(value, (bool, np.bool_)):
        raise refused(name, value, of, f"True or False{more}")
    return bool(value)


def root_rank(value: Any, size: int, more: str = "") -> int:
    """Return the argument ``root``, a rank of ``size`` ranks."""
    if not is_int64(value) or not 0 <= int(value) < size:
        raise refused("root", value, "", f"a rank, 0 to {size - 1}{more}")
    return int(value)


def text(name: str, value: Any, of: str = "", more: str = "") -> str:
    """Return a str that names and paths can hold, see :func:`encodable`."""
    if isinstance(value, str) and encodable(value):
        return str(value)
    raise refused(name, value, of, f"text{more}")


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
        if len(os.fsencode(spelt)) < LONGEST_PATH and max(map(len, os.fsencode(spelt).split(b"/"))) <= LONGEST_NAME:
            return spelt
        raise refused(name, value, "", f"names of at most {LONGEST_NAME} bytes in a path below {LONGEST_PATH}")
    raise refused(name, value, "", "a path, a string or a Path")


def vertex(name: str, value: Any) -> int | str:
    """Return a vertex: an integer of 64 bits, or a name."""
    if is_int64(value):
        return int(value)
    if isinstance(value, str) and encodable(value):
        return str(value)
    raise UsageError(f"{name}: {shown(value)} is not a vertex; give an integer of 64 bits, or a name as text")


def vertices(name: str, value: Any, weights: bool) -> list[int | str] | dict[int | str, int | float]:
    """Return vertices as a list, or a dict of vertex → number.

    Args:
        name: of the argument.
        value: a vertex, a collection of vertices, or a mapping; the vertices of a set are sorted.
        weights: False: vertices have no numbers, so a mapping is refused.

    Raises:
        UsageError: other values, such as tables; and a Series where numbers may stand beside vertices, since its values
            and its index are both candidates.
    """
    if isinstance(value, Mapping):
        if not weights:
            raise UsageError(f"{name} = {shown(value)} is not valid: these vertices have no weights; give a list")
        return {vertex(name, member): real(f"{name}[{shown(member)}]", number) for member, number in value.items()}
    if is_integer(value) or isinstance(value, str):
        return [vertex(name, value)]
    if weights and hasattr(value, "to_dict") and hasattr(value, "tolist"):
        raise UsageError(f"{name} is a Series; give its to_dict(), vertex → number, or its tolist(), vertices")
    if not is_collection(value) or hasattr(value, "columns"):
        form = "a list of vertices, or a dict of vertex → number" if weights else "a list of vertices"
        raise refused(name, value, "", form)
    if isinstance(value, np.ndarray) and value.dtype.kind in "mM":  # some of which tolist() makes integers
        raise refused(name, value, "", "vertices, integers or names")
    listing = getattr(value, "tolist", None) or getattr(value, "to_pylist", None) or partial(list, value)
    members = listing()
    if set(map(type, members)) == {int} and min(members) in INT64 and max(members) in INT64:
        listed = list(members)
    else:
        listed = [vertex(name, member) for member in members]
    return sorted(listed, key=lambda member: (isinstance(member, str), member)) if isinstance(value, Set) else listed


def groups(name: str, value: Any) -> list[list[int | str] | dict[int | str, int | float]]:
    """Return a list of groups of vertices, each as of :func:`vertices`.

    Raises:
        UsageError: another value, or a group that is not one.
    """
    if not isinstance(value, (list, tuple)) or not value:
        raise refused(
            name, value, "", "a list of which each member is a list of vertices, or a dict of vertex → number"
        )
    return [vertices(f"{name}[{number}]", group, weights=True) for number, group in enumerate(value)]


def instance(name: str, value: Any, kind: type, wanted: str) -> Any:
    """Return an object of a class, or None.

    Args:
        name: of the argument.
        value: of the argument.
        kind: the class.
        wanted: description for the message, such as "a dgraph.Options".
    """
    if value is None or isinstance(value, kind):
        return value
    raise refused(name, value, "", f"{wanted}, or None")


def refused(name: str, value: Any, of: str, wanted: str) -> UsageError:
    """Make the error for a value of another kind."""
    return UsageError(f"{name} = {shown(value)} is not valid{of and f' for {of}'}: give {wanted}")


def _bound(least: float | None) -> str:
    return "" if least is None else f", {least} or more"
