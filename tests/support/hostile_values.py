"""Values that no argument expects: scalars, containers of them, arrays, tables, objects."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse


class Word(str):
    """A subclass of str."""


SCALARS: list[Any] = [
    None, float("nan"), float("inf"), -float("inf"), -1, 0, 1, 2, 3, -0.0, 0.5, 1.0, 2.5, 1e308, 5e-324, True, False,
    2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63), -(2**70), 10**400, 1j, complex("nan"),
    "", "x", "0", "1", "-1", "a", "nan", " ", "\ud800", "a\0b", "é", "x" * 300, "x,y", "auto", "vertex", "weight",
    Word("x"), Word("a"), b"", b"x", bytearray(b"x"), memoryview(b"x"), b"\xff",
    Decimal("1"), Decimal("NaN"), Decimal("1e400"), Fraction(1, 3), Fraction(2), datetime.date(2020, 1, 1),
    datetime.datetime(2020, 1, 1), datetime.timedelta(1), np.int8(1), np.int8(-1), np.uint64(2**64 - 1),
    np.float32(0.5),
    np.float64("nan"), np.bool_(True), np.str_("x"), np.bytes_(b"x"), np.datetime64("2020-01-01"), np.datetime64("NaT"),
    np.complex64(1), np.float16(1), pd.NA, pd.NaT, pd.Timestamp("2020-01-01"), Path("x"), Path("x.csv"), Path("\ud800"),
    Ellipsis, NotImplemented, int, type, object(), SimpleNamespace(size=1, comm=None), random,
]  # fmt: skip
"""Values of which containers are made, too."""


def lone(x: Any) -> Any:
    return x


def failing(*_: Any, **__: Any) -> Any:
    raise RuntimeError("the caller's function failed")


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), object)
    for place, value in enumerate(values):
        array[place] = value
    return array


ARRAYS = [
    lambda: np.array(0), lambda: np.zeros(0), lambda: np.arange(3), lambda: np.arange(5), lambda: np.eye(2),
    lambda: np.zeros((2, 0)), lambda: np.arange(5.0), lambda: np.array([0.5, np.nan]), lambda: np.array([True, False]),
    lambda: np.array(["0", "1"]), lambda: np.array(["a", "b"]), lambda: np.array([b"a"]),
    lambda: np.arange(3).astype("datetime64[s]"), lambda: np.array([1, 2], "timedelta64[s]"),
    lambda: np.array([1j, 2]), lambda: np.arange(3, dtype=">i4"), lambda: np.arange(2, dtype=np.float16),
    lambda: np.array([2**64 - 1, 0], np.uint64), lambda: np.zeros(2, "i4,f8"), lambda: np.zeros(2, "V8"),
    lambda: np.ma.array([0, 1, 2], mask=[0, 1, 0]), lambda: np.ma.masked, lambda: np.arange(10)[::-2],
    lambda: np.broadcast_to(np.int64(1), (4,)), lambda: np.array([2**70, 1], object),
    lambda: np.array([[0, 1]]).view(np.matrix),
    lambda: np.array([[0, 1], [1, 2]], object), lambda: np.longdouble(1) * np.ones(2), lambda: np.array("\ud800"),
]  # fmt: skip

TABLES = [
    pd.DataFrame, lambda: pd.DataFrame({"source": [0, 1], "target": [1, 2]}),
    lambda: pd.DataFrame({"vertex": [0], "values": [1.0]}), lambda: pd.DataFrame({0: [1, 2], 1: [0, 1]}),
    lambda: pd.DataFrame([[0, 1]], columns=["x", "x"]), lambda: pd.DataFrame({"source": [None, "a"], "target": [1, 2]}),
    lambda: pd.Series([0, 1]), lambda: pd.Series([0.5, 0.5], index=[0, 1]), lambda: pd.Series(["a", None]),
    lambda: pd.Series([1, None], dtype="Int64"), lambda: pd.Series(["a", "b"], dtype="category"),
    lambda: pd.Index([0, 1]), lambda: pd.MultiIndex.from_tuples([(0, 1)]),
    lambda: pd.Series(pd.to_datetime(["2020-01-01"])), pl.DataFrame,
    lambda: pl.DataFrame({"source": [0, 1], "target": [1, 2], "weight": [1.0, None]}),
    lambda: pl.DataFrame({"source": [0], "target": [1]}).lazy(), lambda: pl.Series([0, 1]), lambda: pl.Series(["a"]),
    lambda: pl.Series([[0], [1]]), lambda: pl.Series([2**100], dtype=pl.Int128), lambda: pl.col("x"),
    lambda: pa.array([0, None]), lambda: pa.array([0, 1]), lambda: pa.table({"source": [0], "target": [1]}),
    lambda: pa.array([{"a": 1}]), lambda: pa.scalar(1), lambda: pa.array([Decimal("1.5")]), lambda: pa.array([b"x"]),
    lambda: scipy.sparse.eye(3, format="csr"), lambda: scipy.sparse.coo_array((2, 3)),
    lambda: nx.Graph([(0, 1)]), lambda: nx.Graph([((0, 1), "a")]), nx.DiGraph,
    lambda: nx.Graph([(0, 1, {"weight": "x"})]),
]  # fmt: skip

OBJECTS = [
    list, dict, set, tuple, frozenset, object, lambda: lone, lambda: failing, lambda: [[]], lambda: [None],
    lambda: range(3), lambda: iter([0, 1]), lambda: (k for k in (0, 1)), lambda: map(int, "01"), lambda: {0: 1},
    lambda: {"0": 1}, lambda: {0: None}, lambda: {0: float("nan")}, lambda: {0: -1}, lambda: {9: 1}, lambda: {2**70: 1},
    lambda: {0: "x"}, lambda: {(0, 1): 1}, lambda: [0, 0], lambda: [0, "a"], lambda: list(range(5000)),
    lambda: [0] * 5000, lambda: "x" * 100_000, lambda: {0, 1}, lambda: dict.fromkeys(range(3), 1), lambda: open,
]  # fmt: skip


KEYS = [value for value in SCALARS if isinstance(value, (str, int, float, bytes, tuple, Path, Fraction, type(None)))]
"""Scalars that sets and dicts take."""

MAKE = ARRAYS + TABLES + OBJECTS

CONTAINERS: list[Callable[[list[Any]], Any]] = [
    list, tuple, _objects, lambda values: pd.Series(_objects(values), dtype=object), lambda values: [values, values],
    iter, lambda values: dict.fromkeys([0, 1], values[0]), lambda values: dict.fromkeys(["a", 1], values[-1]),
]  # fmt: skip


def hostile(draw: random.Random) -> Any:
    """Draw a hostile value; containers, and iterators, which end, are new for each draw."""
    kind = draw.randrange(4)
    if kind == 0:
        return draw.choice(SCALARS)
    if kind == 1:
        return draw.choice(MAKE)()
    values = draw.choices(SCALARS, k=draw.randint(1, 3))
    if kind == 2:
        return draw.choice(CONTAINERS)(values)
    keys = draw.choices(KEYS, k=len(values))
    return dict.fromkeys(keys, values[0]) if draw.random() < 0.5 else set(keys)
