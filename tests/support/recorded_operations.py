"""Module of arrays that records which operations are used on which dtypes: NumPy in the place of CuPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import emulated
import numpy as np
import pytest

OWN = ("empty", "zeros", "asarray")
"""Functions for which CuPy compiles nothing."""

recorded: set[tuple[str, ...]] = set()
"""Operations with the names of their dtypes."""


def _note(name: str, *values: object) -> None:
    recorded.add((name, *[str(getattr(value, "dtype", "scalar")) for value in values]))


def _bare(value: object) -> object:
    return value.view(np.ndarray) if isinstance(value, Recorded) else value


class Recorded(np.ndarray):
    """Array whose operations are recorded; copies between equal dtypes are not: CuPy leaves them to the driver."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        _note(f"{ufunc.__name__} {method}", *inputs)
        if "out" in options:
            options["out"] = tuple(map(_bare, options["out"]))
        result = getattr(ufunc, method)(*map(_bare, inputs), **options)
        return result.view(Recorded) if isinstance(result, np.ndarray) else result

    def __getitem__(self, places):
        if isinstance(places, np.ndarray):
            _note("take", self, places)
        return super().__getitem__(places)

    def __setitem__(self, places, values):
        if isinstance(places, np.ndarray):
            _note("scatter", self, places)
        elif getattr(values, "dtype", None) != self.dtype or not np.ndim(values):
            _note("assign", self)
        super().__setitem__(places, values)

    def astype(self, dtype, *arguments, **options):
        if np.dtype(dtype) != self.dtype:
            _note("astype", self, np.empty(0, dtype))
        return super().astype(dtype, *arguments, **options)

    def sort(self, *arguments, **options):
        _note("sort", self)
        super().sort(*arguments, **options)


class Recorder:
    """NumPy, except that its arrays are :class:`Recorded`."""

    def __getattr__(self, name: str):
        function = getattr(np, name)
        if not callable(function) or isinstance(function, (type, np.ufunc)):
            return function

        def called(*arguments, **options):
            if name not in OWN:
                dtype = options.get("dtype")
                _note(name, *arguments, *([] if dtype is None else [np.empty(0, dtype)]))
            bare = {key: _bare(value) for key, value in options.items()}
            result = function(*map(_bare, arguments), **bare)
            return result.view(Recorded) if isinstance(result, np.ndarray) else result

        return called


@contextmanager
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[tuple[str, ...]]]:
    """Record the operations of emulated GPUs during the body of the ``with``."""
    recorded.clear()
    with monkeypatch.context() as patch:
        patch.setattr(emulated.Device, "xp", Recorder())
        patch.setattr(emulated.Device, "put", lambda _, array: np.array(array).view(Recorded))
        patch.setattr(emulated.Device, "get", lambda _, array: np.array(array))
        yield recorded
