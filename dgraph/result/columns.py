"""``Columns``: a dict of arrays that are computed or copied from a GPU at first access."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dgraph.comm import calls

UNREACHED = np.iinfo(np.int64).max
"""Integer distance of an unreached vertex; a float distance is infinite."""

Column = np.ndarray | Callable[[], np.ndarray]
"""An array, or a function that returns it."""


class Columns(dict[str, np.ndarray]):
    """Dict of arrays. A function given in place of an array is called once, at first access.

    Args:
        given: name → array, or a function that returns it.
        order: permutation applied to every array; None: they are in order.
    """

    def __init__(self, given: Mapping[str, Column], order: np.ndarray | None = None):
        super().__init__()
        self._given, self._order = dict(given), order
        for name in given:
            super().__setitem__(name, np.empty(0))  # keeps the order of names

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._given:
            with calls.lock:  # another thread's call may be using the GPU
                if name in self._given:
                    given = self._given[name]
                    made = given() if callable(given) else given
                    super().__setitem__(name, made if self._order is None else made[self._order])
                    del self._given[name]
        return super().__getitem__(name)

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
