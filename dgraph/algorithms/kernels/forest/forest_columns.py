"""Columns of a spanning forest: of each vertex the edge by which its tree was joined to another."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dgraph.comm import Comm
from dgraph.result.columns import UNREACHED


def empty_columns(masters: int, dtype: np.dtype) -> dict[str, np.ndarray]:
    """Return columns without edges."""
    none = np.inf if dtype.kind == "f" else UNREACHED
    ends = {name: np.full(masters, -1, np.int64) for name in ("source", "target")}
    return {"weight": np.full(masters, none, dtype)} | ends


def fill(columns: dict[str, np.ndarray], lids: np.ndarray, *edges: np.ndarray) -> None:
    """Store edges (lower ends, higher ends, weights) at vertices."""
    for name, values in zip(("source", "target", "weight"), edges, strict=True):
        columns[name][lids] = values


def exact_sum(weights: np.ndarray, comm: Comm) -> int | float:
    """Return the sum over ranks: exact for integers, and for floats the exact sum, rounded once; collective."""
    if weights.dtype.kind != "f":
        halves = (int((weights >> np.int64(32)).sum()), int((weights & np.int64(0xFFFFFFFF)).sum()))
        high, low = (comm.total(half) for half in halves)
        return (high << 32) + low
    mantissa, exponent = np.frexp(weights)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    sums = np.zeros((2, 2200), np.int64)  # of low and of high halves of mantissas, by exponent
    np.add.at(sums[0], exponent + 1100, whole & np.int64(0xFFFFFFFF))
    np.add.at(sums[1], exponent + 1100, whole >> np.int64(32))
    sums = comm.allreduce(sums.ravel()).reshape(2, -1)
    return rounded_sum(sums[0], sums[1], 1100 + 53)


def rounded_sum(low: np.ndarray, high: np.ndarray, bias: int) -> float:
    """Return the sum of whole numbers times powers of two, rounded once.

    Args:
        low: sums of the low 32 bits of the numbers, by exponent.
        high: sums of the bits above these.
        bias: exponent of the power 1.
    """
    total = Fraction(0)
    for exponent in np.flatnonzero(low.astype(bool) | high.astype(bool)).tolist():
        total += ((int(high[exponent]) << 32) + int(low[exponent])) * Fraction(2) ** (exponent - bias)
    return float(total) if abs(total) <= np.finfo(np.float64).max else float(np.inf if total > 0 else -np.inf)
