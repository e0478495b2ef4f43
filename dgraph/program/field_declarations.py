"""Field and Global: the values that a vertex program declares, one per vertex and one per graph."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from dgraph._support.arguments import flag, real, refused
from dgraph.errors import UsageError, shown
from dgraph.program.monoids import ADD, MAX, MIN, OR, Monoid
from dgraph.program.row_reducers import RowReducer

DTYPES = ("bool", "uint8", "int32", "uint32", "int64", "float32", "float64")
"""Dtypes of fields."""


def dtype_name(kind: str, dtype: Any, choices: Sequence[str]) -> str:
    """Return NumPy's name of a dtype, which must be one of several."""
    name = ""
    with warnings.catch_warnings(), suppress(TypeError, ValueError, DeprecationWarning):
        warnings.simplefilter("error", DeprecationWarning)  # an old alias is no name of these
        if isinstance(dtype, (str, type, np.dtype)):
            name = np.dtype(dtype).name
    if name not in choices:
        raise UsageError(f"dtype: {kind} cannot be {name or shown(dtype)}; known dtypes are {', '.join(choices)}")
    return name


@dataclass(frozen=True)
class Field:
    """One value per vertex, declared as a class attribute of a :class:`Program`.

    The result of a run has one column per field. Integers that do not fit ``dtype`` saturate at its ends when stored.

    Attributes:
        dtype: bool, uint8, int32, uint32, int64, float32 or float64; after construction its NumPy name.
        reduce: monoid that combines proposals and mirrors: MIN, MAX, ADD or OR. Required if ``edge`` returns the field;
            None if only ``init`` and ``apply`` write it. A uint8 field has none. ADD needs int64, float32 or float64;
            OR needs bool or an integer dtype. Or a row reducer, MODE, BEST, MEX or HINDEX: it folds the int64 keys of
            all in-edges of a vertex; the program then pulls, and proposes for this field alone, with BEST also values.
        given: True if the caller passes the initial values: ``ctx.run(program, state={name: array})``, of shape
            (masters,).
        nullable: value that stands for none, which tables of the result show as null. None: ``infinity``, what
            :data:`INF` is in this field, except in fields of bool and uint8, sums, ORs, and unsigned fields under MAX.
            True: ``infinity`` in these, too. False: every value is one.
        hidden: True if the result has no column for the field.

    A field without a value from ``init`` starts from the identity of ``reduce``.

    Raises:
        UsageError: a dtype that fields cannot have, a uint8 field with ``reduce``, a row reducer on another dtype
            than int64, or a value of ``nullable`` that the dtype cannot have.

    Example:
        ``dist = Field("int64", reduce=MIN)``
    """

    dtype: Any
    reduce: Monoid | RowReducer | None = None
    given: bool = False
    nullable: bool | int | float | None = None
    hidden: bool = False

    def __post_init__(self):
        name = dtype_name("a field", self.dtype, DTYPES)
        if not isinstance(self.reduce, (Monoid, RowReducer, type(None))):
            raise refused("reduce", self.reduce, "", "MIN, MAX, ADD, OR, a row reducer or None")
        flag("given", self.given)
        if name == "uint8" and self.reduce:
            raise UsageError("a field of uint8 does not combine proposals, as few values fit; use int32")
        if name != "int64" and isinstance(self.reduce, RowReducer):
            raise UsageError(f"{self.reduce!r} folds keys of 64 bits, got a field of {name}; use int64")
        flag("hidden", self.hidden)
        if self.nullable is not None and self.nullable is not False and not _holds(name, self.nullable):
            raise refused("nullable", self.nullable, f"a field of {name}", "a value that it can spare for none")
        object.__setattr__(self, "dtype", name)

    @cached_property
    def null(self) -> int | float | None:
        """Value that stands for none; None if every value is one."""
        if self.nullable is None:
            kind = np.dtype(self.dtype).kind
            counts = self.dtype in ("bool", "uint8") or self.reduce in (ADD, OR) or (kind == "u" and self.reduce is MAX)
            return None if counts else self.infinity
        if isinstance(self.nullable, bool):
            return self.infinity if self.nullable else None
        return self.nullable

    @property
    def identity(self) -> int | float:
        """Identity of ``reduce``, from which accumulators start; 0 without ``reduce``."""
        return self.reduce.identity(self.dtype) if self.reduce else 0

    @property
    def infinity(self) -> int | float:
        """Value of :data:`INF` in an expression for this field: the largest of the dtype, the smallest under MAX."""
        return (MAX if self.reduce is MAX else MIN).identity(self.dtype)


def _holds(dtype: str, value: Any) -> bool:
    """Return True if a field of ``dtype`` may spare a value for none; ``True`` stands for the largest one."""
    if dtype == "bool":
        return False
    if value is True or dtype.startswith("float"):
        return isinstance(value, (int, float))
    return isinstance(value, int) and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


@dataclass(frozen=True)
class Global:
    """One value for the whole graph, equal on every rank, declared as a class attribute of a :class:`Program`.

    All operators but ``priority`` can read it as ``g.name``. Globals change between rounds only.

    Attributes:
        dtype: int64 or float64.
        init: value before the operator ``init`` runs.
        reduce: None: only ``step`` writes it. ADD: the sum over vertices of the values that ``init`` and ``apply``
            return under this name, from 0 in every round. MIN or MAX (int64 only): their minimum or maximum, INF if no
            vertex returned one. A float64 sum needs ``domain = ALL``.
        keep: with ADD, True to accumulate over all rounds instead of starting from 0.

    Raises:
        UsageError: another dtype or monoid, MIN or MAX of floats, or ``keep`` with MIN or MAX.

    Example:
        ``change = Global("float64", reduce=ADD)``
    """

    dtype: Any
    init: int | float = 0
    reduce: Monoid | None = None
    keep: bool = False

    def __post_init__(self):
        name = dtype_name("a global", self.dtype, ("int64", "float64"))
        flag("keep", self.keep)
        real("init", self.init)
        if not any(self.reduce is monoid for monoid in (None, ADD, MIN, MAX)):
            raise UsageError(f"reduce: a global reduces with ADD, MIN, MAX or not at all, got {shown(self.reduce)}")
        if self.reduce in (MIN, MAX) and name != "int64":
            raise UsageError(f"a global reduces with {self.reduce!r} in int64, got {name}; floats can only be added up")
        if self.reduce in (MIN, MAX) and self.keep:
            raise UsageError("keep=True is for sums; let step(self, g) combine the value with that of another global")
        object.__setattr__(self, "dtype", name)

    @property
    def infinity(self) -> int | float:
        """Value of :data:`INF` in an expression for this global: the largest of the dtype, the smallest under MAX."""
        return (MAX if self.reduce is MAX else MIN).identity(self.dtype)


@cache
def retyped(field: Field, dtype: Any) -> Field:
    """Return a field of another dtype."""
    return replace(field, dtype=dtype)
