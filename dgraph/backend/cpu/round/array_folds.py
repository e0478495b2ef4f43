"""Folds of row reducers on NumPy arrays, of many rows at once; see ``array_rounds.py``.

Entry: :data:`FOLDS`. Entries are given by their row, from 0, and their key, which is not ``LEFT_OUT``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgraph.program.row_reducers import LEFT_OUT

Arrays = tuple[np.ndarray, ...]


def runs_of(rows: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of entries by row and key, and where runs of equal ones begin in it."""
    order = np.lexsort((keys, rows))
    rows, keys = rows[order], keys[order]
    return order, np.flatnonzero(np.diff(rows, prepend=-1).astype(bool) | (np.diff(keys, prepend=-1) != 0))


def largest(rows: np.ndarray, keys: np.ndarray, sums: np.ndarray, count: int) -> Arrays:
    """Return the key of each row's largest sum, the smallest of equal ones, and the sum; LEFT_OUT and 0 without."""
    best, most = np.full(count, LEFT_OUT), np.zeros(count, np.int64)
    order = np.lexsort((keys, -sums, rows))
    first = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]
    best[rows[first]], most[rows[first]] = keys[first], sums[first]
    return best, most


def fold_mode(rows: np.ndarray, keys: np.ndarray, count: int) -> Arrays:
    """Return the most frequent key of each row, the smallest of equally frequent ones."""
    order, begin = runs_of(rows, keys)
    return largest(rows[order][begin], keys[order][begin], np.diff(begin, append=rows.size), count)[:1]


def fold_best(rows: np.ndarray, keys: np.ndarray, values: np.ndarray, count: int) -> Arrays:
    """Return the key of each row's largest sum of values, the smallest of equal ones, and the sum."""
    order, begin = runs_of(rows, keys)
    sums = np.add.reduceat(values[order], begin) if begin.size else values
    return largest(rows[order][begin], keys[order][begin], sums, count)


def fold_mex(rows: np.ndarray, keys: np.ndarray, count: int) -> Arrays:
    """Return the smallest integer ≥ 0 that is not among the keys of each row, which are ≥ 0."""
    order, begin = runs_of(rows, keys)
    rows, keys = rows[order][begin], keys[order][begin]
    return (np.bincount(rows[keys == places_of(rows)], minlength=count),)


def fold_hindex(rows: np.ndarray, keys: np.ndarray, count: int) -> Arrays:
    """Return the largest h of each row such that h of its keys are at least h."""
    order = np.lexsort((-keys, rows))
    return (np.bincount(rows[order][keys[order] > places_of(rows[order])], minlength=count),)


def places_of(rows: np.ndarray) -> np.ndarray:
    """Return the place of each entry in its row; ``rows`` ascend."""
    return np.arange(rows.size) - np.searchsorted(rows, rows)


FOLDS: dict[str, Callable[..., Arrays]] = {
    "mode": fold_mode, "best": fold_best, "mex": fold_mex, "hindex": fold_hindex
}  # fmt: skip
"""Row reducer → its fold: ``fold(rows, keys, number of rows)``; of BEST, with values before the number."""
