"""Weights as users pass them: real numbers, of any library, become int32, int64, float32 or float64."""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.array_input import DECIMALS, EXACT, ROUNDED, as_weights, rounds_weights
from dgraph.graph.inputs.column_arrays import (
    chunks_of,
    column_array,
    first_value,
    joined,
    kinds_of,
    pyarrow,
    refuse_missing,
)


def weight_values(values: Any, name: str) -> tuple[np.ndarray | None, str]:
    """Return weights as ``as_weights`` does, None for None; and a note if reading rounds them, else "".

    Raises:
        UsageError: not a column of real numbers.
        DataError: a weight that is missing, NaN or beyond float64, with its row.
    """
    if values is None:
        return None, ""
    column, note = column_array(values, name), ""
    if not isinstance(column, np.ndarray):
        chunks, types = chunks_of(column, name), pyarrow(name).types
        kind = chunks[0].type if chunks else column.type
        if types.is_decimal(kind):
            chunks, note = [chunk.cast("float64") for chunk in chunks], DECIMALS
        elif chunks and not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise UsageError(f"{name}: got a column of {kind}; weights are real numbers; convert the column")
        column = joined(chunks)
    elif column.dtype.kind == "O" and column.ndim == 1:
        refuse_missing(column, name)
        if not all(map(is_number, set(map(type, column.tolist())))):
            raise UsageError(f"{name}: got values of {kinds_of(column)}; weights are real numbers; convert the column")
        column, note = number_array(column, name)
    weights = as_weights(column, name)
    return weights, ROUNDED if rounds_weights(column, weights) else note


def is_number(kind: type) -> bool:
    """Return True for a type of real numbers: Python's and NumPy's, booleans and decimals included."""
    return issubclass(kind, (Real, Decimal, np.bool_))


def number_array(values: np.ndarray, name: str) -> tuple[np.ndarray, str]:
    """Return numbers of any types as int64 or float64; and a note if that rounds them, else "".

    Raises:
        DataError: a number beyond float64, with its row.
    """
    kinds = set(map(type, values.tolist()))
    whole = all(issubclass(kind, (Integral, np.bool_)) for kind in kinds)
    if whole:
        with suppress(OverflowError):
            return values.astype(np.int64), ""
    numbers = None
    with suppress(OverflowError, ValueError):  # ValueError: a signalling NaN of decimals
        numbers = values.astype(np.float64)
    if numbers is None or (np.isinf(numbers).any() and any(map(is_beyond, values.tolist()))):
        raise DataError(f"{first_value(values, name, is_beyond)}, beyond the range of float64; scale it")
    if whole:
        return numbers, ROUNDED
    wide = np.flatnonzero(np.abs(numbers) >= EXACT)
    if any(isinstance(number, Integral) and abs(int(number)) > EXACT for number in values[wide].tolist()):
        return numbers, ROUNDED
    exact = all(issubclass(kind, (Integral, float, np.floating, np.bool_)) for kind in kinds)
    return numbers, "" if exact else DECIMALS


def is_beyond(number: Any) -> bool:
    """Return True for a number that float64 cannot hold."""
    try:
        rounded = float(number)
    except (OverflowError, ValueError):
        return True
    return math.isinf(rounded) and number != rounded


def shared_notes(note: str, comm: Comm) -> list[str]:
    """Return the notes of all ranks, each once; collective."""
    return sorted(set(comm.allgather_json(note)) - {""})
