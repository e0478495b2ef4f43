"""``Columns``: a dict of arrays that are computed or copied from a GPU at first access."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dgraph.comm import calls
from dgraph.comm.base import Make
from dgraph.errors import UsageError, unknown

UNREACHED = np.iinfo(np.int64).max
"""Integer distance of an unreached vertex; a float distance is infinite."""

ROWS = 1 << 16
"""Rows of a column on the host that are read at a time: they fit a core's cache."""

Reader = Callable[[Callable[[slice], Any], int, int, Callable[[Any], np.ndarray]], np.ndarray]
"""Function that finds rows of a column where it lies. Arguments: a function that returns some rows, an array of NumPy
or CuPy; the number of rows; the most rows to read at a time; a function that copies an array to the host."""

Column = np.ndarray | Callable[[], np.ndarray]
"""An array, or a function that returns it."""


class UnknownColumn(UsageError, KeyError):
    """A column that a result does not have; also a ``KeyError``, as of other dicts."""

    __str__ = UsageError.__str__


def same(values: Any) -> Any:
    """Return the values themselves."""
    return values


@dataclass(frozen=True)
class FieldColumn:
    """Column made from a field of a program's final state.

    Attributes:
        fields: fields by name; a GPU's have ``raw``, which returns a field where it lies, and ``fetch``, which makes
            a new column of one.
        name: the field.
        convert: makes the column of the field's values; works on arrays of NumPy and CuPy.
        null: value that stands for none; None: there is none.
    """

    fields: Mapping[str, np.ndarray]
    name: str
    convert: Callable[[Any], Any] = same
    null: int | float | None = None

    def __call__(self, order: np.ndarray | None = None) -> np.ndarray:
        """Return the column on the host, permuted by ``order``; it may share the field's memory there."""
        fetched = self.fetched(order)
        if fetched is not None:
            return fetched
        converted = self.convert(self.fields[self.name])
        return converted if order is None else converted[order]

    def fetched(self, order: np.ndarray | None, make: Make = np.empty) -> np.ndarray | None:
        """Return a new array of the column from the GPU that still holds the field; None if it is on the host.

        ``make``: makes the array, if the column is large.
        """
        fetch = getattr(self.fields, "fetch", None)
        return fetch(self.name, self.convert, order, make) if fetch else None

    def read(self, reader: Reader) -> np.ndarray | None:
        """Return what ``reader`` finds in the column on the GPU that still holds the field; None if it is here."""
        read = getattr(self.fields, "read", None)
        return read(self.name, self.convert, reader) if read else None

    def rows(self, positions: np.ndarray) -> np.ndarray:
        """Return some rows on the host; the column stays where it is."""
        raw = getattr(self.fields, "raw", self.fields.__getitem__)
        return self.convert(np.asarray(raw(self.name)[positions]))

    def on_device(self) -> Any:
        """Return the column as an array of the GPU that still holds the field; None if it is on the host."""
        find = getattr(self.fields, "on_device", None)
        values = find(self.name) if find else None
        return None if values is None else self.convert(values)


class Columns(dict[str, np.ndarray]):
    """Dict of arrays. A function given in place of an array is called once, at first access.

    A name of no column raises an :class:`UnknownColumn`.

    Args:
        given: name → array, or a function that returns it.
        order: permutation applied to every array, by which ids ascend in the array "vertex"; None: they are in order.
        put: function that copies an array to this rank's GPU; None: there is no GPU.
    """

    def __init__(
        self,
        columns: Mapping[str, Column],
        order: np.ndarray | None = None,
        put: Callable[[np.ndarray], Any] | None = None,
    ):
        super().__init__()
        self._given, self._order, self._put = dict(columns), order, put
        self._ids: Any = None if order is None else columns.get("vertex")
        for name in columns:
            super().__setitem__(name, np.empty(0))  # keeps the order of names

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._given:
            with calls.lock:  # another thread's call may be using the GPU
                if name in self._given:
                    column = self._given[name]
                    if isinstance(column, FieldColumn):
                        values = column(self._order)
                    else:
                        values = column() if callable(column) else column
                        values = values if self._order is None else values[self._order]
                    super().__setitem__(name, values)
                    del self._given[name]  # with its last column, a GPU's state is freed
        return super().__getitem__(name)

    def __missing__(self, name: str) -> np.ndarray:
        raise UnknownColumn(str(unknown("column", name, map(str, self))))

    def fetched(self, name: str, make: Make = np.empty) -> np.ndarray | None:
        """Return a new array of a column that a GPU still holds, and go on holding it there; else None.

        ``make``: as of :meth:`FieldColumn.fetched`.
        """
        with calls.lock:
            column = self._given.get(name)
            return column.fetched(self._order, make) if isinstance(column, FieldColumn) else None

    def rows(self, name: str, positions: np.ndarray) -> np.ndarray:
        """Return some rows of a column, int64 positions, without copying or permuting the whole of it."""
        with calls.lock:
            column = self._given.get(name)
            if not isinstance(column, (FieldColumn, np.ndarray)):
                return self[name][positions]
            rows = positions if self._order is None else self._order[positions]
            return column.rows(rows) if isinstance(column, FieldColumn) else column[rows]

    def find(self, name: str, reader: Callable[..., np.ndarray]) -> np.ndarray:
        """Return the rows that a :data:`Reader` finds in a column where it lies.

        ``reader``: with an argument ``ids``, in ascending order of which it takes rows of equal values; None: of rows.
        """
        with calls.lock:
            column = self._given.get(name)
            rows = column.read(partial(reader, ids=self._ids)) if isinstance(column, FieldColumn) else None
            if rows is None:
                return reader(self[name].__getitem__, len(self[name]), ROWS, np.asarray)
            return rows if self._order is None else np.searchsorted(self._ids, self._ids[rows], sorter=self._order)

    def on_device(self, name: str) -> Any:
        """Return a column on this rank's GPU, in order; on the host if there is no GPU.

        A column that the GPU still holds does not pass through the host.
        """
        with calls.lock:
            if self._put is None:
                return self[name]
            column = self._given.get(name)
            moved = column.on_device() if isinstance(column, FieldColumn) else None
            if moved is None:
                return self._put(self[name])
            return moved if self._order is None else moved[self._put(self._order)]

    def __setitem__(self, name: str, array: np.ndarray) -> None:
        self._given.pop(name, None)
        super().__setitem__(name, array)

    def __delitem__(self, name: str) -> None:
        self._given.pop(name, None)
        super().__delitem__(name)

    def __iter__(self):  # overridden so that dict(columns) goes through __getitem__
        yield from super().__iter__()

    def _all(self) -> dict[str, np.ndarray]:
        return {name: self[name] for name in self}

    def get(self, name, default=None):
        """Return an array, or ``default``."""
        try:
            return self[name]
        except KeyError:
            return default

    def items(self):
        """Return the items of a plain dict with all arrays made."""
        return self._all().items()

    def values(self):
        """Return all arrays, made."""
        return self._all().values()

    def copy(self):
        """Return a plain dict with all arrays made."""
        return self._all()

    def __or__(self, other):
        return self._all() | other

    def __ror__(self, other):
        return other | self._all()

    def pop(self, name, *default):
        """Remove a column and return its array, or ``default``."""
        taken = self.get(name, *default) if default else self[name]
        if name in self:
            del self[name]
        return taken

    def popitem(self):
        """Remove the last column and return its name and array."""
        name = list(self)[-1]
        return name, self.pop(name)

    def setdefault(self, name, default=None):
        """Return an array, after adding ``default`` if the name is missing."""
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *more, **named):
        """Add columns, or replace them."""
        for name, array in dict(*more, **named).items():
            self[name] = array

    def __ior__(self, other):
        self.update(other)
        return self

    def __eq__(self, other):
        return self is other

    __hash__ = None

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self):
        return dict, (self._all(),)


def rows_at(columns: Mapping[str, np.ndarray], name: str, positions: np.ndarray) -> np.ndarray:
    """Return some rows of a column, int64 positions; a column of a GPU stays there."""
    return columns.rows(name, positions) if isinstance(columns, Columns) else columns[name][positions]
