"""Rows sent to the ranks that own what they name, reduced there by key, and values fetched from there.

:func:`swap` moves all of them; it takes what is in order of ranks already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dgraph.comm.base import Comm


def swap(comm: Comm, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Send ``parts[r]`` to rank r, and return the arrays received, by sender; collective.

    Args:
        comm: the ranks.
        parts: arrays of one dtype, also a structured one or bytes, on every rank; shapes may differ in the last axis
            alone.
    """
    if comm.size == 1:
        return list(parts)
    shape, sent = parts[0].shape[:-1], [np.ascontiguousarray(part).reshape(-1) for part in parts]
    return [part.reshape(*shape, -1) for part in comm.alltoallv(sent)]


def scatter(comm: Comm, owners: np.ndarray, *columns: np.ndarray) -> list[np.ndarray]:
    """Send each row to its owner; collective.

    Args:
        comm: the ranks.
        owners: rank that gets the row, integers (rows,).
        columns: values of the rows, 1-D, of the same dtypes on every rank.

    Returns:
        the columns of the rows that this rank got: by sender, then in the sender's order.
    """
    if comm.size == 1:
        return list(columns)
    order = np.argsort(owners, kind="stable")
    cuts = np.cumsum(np.bincount(owners, minlength=comm.size))[:-1]
    return [np.concatenate(swap(comm, np.split(column[order], cuts))) for column in columns]


def fetch(
    comm: Comm, owners: np.ndarray, names: np.ndarray, look_up: Callable[[np.ndarray], tuple[np.ndarray, ...]]
) -> tuple[np.ndarray, ...]:
    """Return what the owners of ``names`` look up for them; collective.

    Args:
        comm: the ranks.
        owners: rank that knows about the name, integers (rows,).
        names: 1-D, of one dtype on every rank; a name may occur several times.
        look_up: names → arrays of one value for each name, evaluated by the owner.
    """
    if comm.size == 1:
        return look_up(names)
    order = np.argsort(owners, kind="stable")
    cuts = np.cumsum(np.bincount(owners, minlength=comm.size))[:-1]
    asked = swap(comm, np.split(names[order], cuts))
    ends = np.cumsum([len(part) for part in asked])[:-1]
    columns = []
    for values in look_up(np.concatenate(asked)):
        column = np.empty(len(names), values.dtype)
        column[order] = np.concatenate(swap(comm, np.split(values, ends)))
        columns.append(column)
    return tuple(columns)


def contract(
    comm: Comm, owners: np.ndarray, keys: np.ndarray, *columns: np.ndarray, best: int = 0
) -> tuple[np.ndarray, ...]:
    """Reduce the rows of each key to one, on the owner of the key; collective.

    Args:
        comm: the ranks.
        owners: rank that owns the row's key, integers (rows,); the same for equal keys on every rank.
        keys: 1-D, of one dtype on every rank.
        columns: values of the rows, 1-D, of the same dtypes on every rank.
        best: 0 to add up each column; else the row is kept whose first ``best`` columns are smallest, in order.

    Returns:
        The keys that this rank owns, ascending, and their columns.
    """
    *rows, homes = _reduced(keys, columns, best, owners)
    if comm.size > 1:
        keys, *came = scatter(comm, homes, *rows)
        rows = _reduced(keys, came, best)
    return tuple(rows)


def _reduced(keys: np.ndarray, columns: Sequence[np.ndarray], best: int, *fixed: np.ndarray) -> list[np.ndarray]:
    """Return the distinct keys and their reduced columns; ``fixed`` columns are equal in all rows of a key."""
    order = np.lexsort((*columns[:best][::-1], keys)) if best else np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    if best or not first.size:
        reduced = [column[order[first]] for column in columns]
    else:
        reduced = [np.add.reduceat(column[order], first) for column in columns]
    return [keys[first], *reduced, *(column[order[first]] for column in fixed)]
