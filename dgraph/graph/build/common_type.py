"""The type of a column of which each rank holds a share.

A share without a value has no say where another rank has values: pandas reads an empty share of text as floats. Where
no rank has a value, a declared type of text or times stays, and a column without one is float64.
"""

from __future__ import annotations

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.array_input import missing_values

TEXT = np.dtype(object)
CLASSES = {"O": "text", "M": "times", "m": "durations"}
"""Classes of types of which a column has one, by the kind of a dtype; the others are numbers."""


def without_values(values: np.ndarray) -> bool:
    """Return True if there are values and all are missing: None, NaN or NaT."""
    return bool(values.size and missing_values(values[:1])[0] and missing_values(values).all())


def common_type(kind: np.dtype, size: int, empty: bool, what: str, comm: Comm) -> np.dtype:
    """Return the dtype of a column on all ranks, dtype object for text; collective.

    Args:
        kind: dtype of the values here.
        size: number of values here.
        empty: all values here are missing.
        what: the column, for messages.
        comm: communicator of the ranks.

    Raises:
        UsageError: text, times, durations or numbers on some ranks, and others of these on others.
        DataError: booleans on some ranks, and missing values on others.
    """
    shares = filter(None, comm.allgather_json([kind.str, empty] if size else None))
    pairs = [(np.dtype(text), missing) for text, missing in shares]
    kinds, emptied = ([kind for kind, missing in pairs if missing == wanted] for wanted in (False, True))
    classes = sorted({_class(kind) for kind in kinds})
    if len(classes) > 1:
        raise UsageError(f"{what}: {classes[0]} on some ranks and {classes[1]} on others; give one type on all")
    if not classes:
        names = {_class(kind) for kind in emptied}
        classes = [next((name for name in CLASSES.values() if name in names), "numbers")]
    if classes == ["text"]:
        return TEXT
    if classes == ["numbers"] and emptied and kinds and all(kind.kind == "b" for kind in kinds):
        raise DataError(f"{what} is missing on some ranks, and a boolean has no missing value; fill it in")
    same = [kind for kind in emptied if _class(kind) == classes[0]]
    if classes == ["numbers"] and (len(same) < len(emptied) or not pairs):
        same.append(np.dtype(np.float64))
    return np.result_type(*kinds, *same)


def in_type(values: np.ndarray, kind: np.dtype, empty: bool) -> np.ndarray:
    """Return values in the dtype of :func:`common_type`; ``empty``: all are missing."""
    if empty and _class(values.dtype) != _class(kind):
        return np.full(values.size, {"numbers": np.nan, "text": None}.get(_class(kind), "NaT"), kind)
    return values.astype(kind, copy=False)


def _class(kind: np.dtype) -> str:
    return CLASSES.get(kind.kind, "numbers")
