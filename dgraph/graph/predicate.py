"""Predicates on vertices and edges: functions of whole columns that return one bool a row.

A predicate is called once without rows first, which shows the columns that it reads. Those are then made by all ranks
together, so that the predicate itself does not communicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from numbers import Number
from typing import Any

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DgraphError, UsageError, shown, unknown
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.array_input import host_array, missing_values
from partitioning.arrays import arcs

Predicate = Callable[[Any], np.ndarray]
"""Function of :class:`PredicateRows` that returns bool, shape (rows,)."""


CALLED = {"edges": " (that of weights is called weight)"}
KINDS = {**dict.fromkeys("biufc", "numbers"), "U": "text", "S": "bytes", "M": "times", "m": "durations"}
"""Kinds of values of which no two are compared, by the kind of their dtype."""
TYPES = {Number: "numbers", str: "text", bytes: "bytes", date: "times", timedelta: "durations"}
"""The same kinds, by the type of a value in an array of objects."""
ORDERS = (np.less, np.less_equal, np.greater, np.greater_equal)


class Column(np.lib.mixins.NDArrayOperatorsMixin):
    """Values of one column, of dtype object for text, which are compared with values of their kind alone.

    It has the attributes and methods of the array that it holds, but is not an ``np.ndarray``: pandas' scalars compare
    one on their right themselves, and call its values unequal where the kinds differ or the scalar has a zone.
    """

    __pandas_priority__ = 5000  # above that of a Series, which leaves the comparison to this class

    def __init__(self, values: np.ndarray, name: str = ""):
        self._values, self._name = values, name

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._values, dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        if ufunc in (np.equal, np.not_equal, *ORDERS):
            _check_kinds(*inputs)
            _check_missing(ufunc, self, *inputs)
        if ufunc in ORDERS and any(np.asarray(value).dtype == object for value in inputs):
            present = np.logical_and(*(~missing_values(value) for value in inputs))
            keywords |= {"where": present, "out": np.zeros(present.shape, bool)}
        return _column(getattr(ufunc, method)(*_plain(inputs), **_plain(keywords)))

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        if function is np.isin and isinstance(arguments[0], Column) and len(arguments) == 2 and not keywords:
            return arguments[0].isin(arguments[1])
        return _column(function(*_plain(arguments), **_plain(keywords)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._values, name)
        if not callable(value):
            return self._like(value)
        return lambda *arguments, **keywords: self._like(value(*_plain(arguments), **_plain(keywords)))

    def __getitem__(self, rows: Any) -> Any:
        return self._like(self._values[_plain(rows)])

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __bool__(self) -> bool:
        return bool(self._values)

    def _like(self, values: Any) -> Any:
        return _column(values, self._values.dtype == object)

    def isin(self, values: Any) -> np.ndarray:
        """Return True for the rows whose value is one of ``values``, or missing as one of them is, as pandas does."""
        values = np.asarray(values if isinstance(values, np.ndarray) else list(values))
        missing = missing_values(values)
        rows = self._equals_one_of(values[~missing])
        return rows | self.isna() if missing.any() else rows

    def _equals_one_of(self, values: np.ndarray) -> np.ndarray:
        _check_kinds(self, values)
        return np.isin(self._values, values)

    def isna(self) -> np.ndarray:
        """Return True for the rows whose value is missing: NaN, NaT, or None for text."""
        return missing_values(self)

    def notna(self) -> np.ndarray:
        """Return True for the rows whose value is not missing."""
        return ~self.isna()

    def between(self, low: Any, high: Any) -> np.ndarray:
        """Return True for the rows whose value is at least ``low`` and at most ``high``, as pandas does."""
        return (self >= low) & (self <= high)

    def startswith(self, prefix: str) -> np.ndarray:
        """Return True for the rows whose text begins with a prefix."""
        _check_kinds(self, prefix)
        return np.array([text is not None and text.startswith(prefix) for text in self.tolist()], bool)


class Times(Column):
    """Times that are compared with text, such as "2024-03-01T12:00", "2024-03-01" or "2024-03", or with dates.

    Text that writes a day or a month stands for all of it, and so does a date: both sides are cut to its precision. A
    time with a zone is compared as UTC.
    """

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        spans = (value for value in inputs if isinstance(value, str) or type(value) is date)
        precision = next((np.datetime64(span).dtype for span in spans), None)
        values = zip(inputs, (np.asarray(_as_utc(value), precision) for value in inputs), strict=True)
        columns = (
            _column(value, name=operand._name) if isinstance(operand, Column) else value for operand, value in values
        )
        return super().__array_ufunc__(ufunc, method, *columns, **keywords)

    def _equals_one_of(self, values: np.ndarray) -> np.ndarray:
        # one that stands for a day or a month covers all its times
        return np.logical_or.reduce([self == value for value in values.tolist()], axis=0, initial=False)


def _plain(value: Any) -> Any:
    """Return a value with an array in place of each column, those in tuples, lists and dicts included."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if type(value) in (tuple, list):
        return type(value)(map(_plain, value))
    return value._values if isinstance(value, Column) else value


def _as_utc(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    utc = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return utc.to_datetime64() if hasattr(utc, "to_datetime64") else np.datetime64(utc)  # pandas has nanoseconds


def _column(values: Any, text: bool = False, name: str = "") -> Any:
    """Return an array as a column called ``name``, and anything else unchanged; ``text``: objects are text."""
    if type(values) is not np.ndarray or (values.dtype == object and not text):
        return values
    return (Times if values.dtype.kind == "M" else Column)(values, name)


def _kinds(value: Any) -> set[str]:
    """Return the kinds of the values of an array, none if all are missing or there are none."""
    if isinstance(value, Column) and value.dtype == object:
        return {"text"}
    values = np.asarray(value)
    if values.dtype != object:
        return {KINDS.get(values.dtype.kind, str(values.dtype))} if values.size or isinstance(value, Column) else set()
    types = {type(value) for value in values[~missing_values(values)].ravel()}
    return {next((TYPES[base] for base in TYPES if issubclass(kind, base)), kind.__name__) for kind in types}


def _check_kinds(*values: Any) -> None:
    """Refuse to compare values of which none can be equal.

    Raises:
        UsageError: values of two kinds, such as numbers and text.
    """
    first, second = kinds = [_kinds(value) for value in values]
    if not first or not second or first & second:
        return
    names = [getattr(value, "_name", "") for value in values]
    kinds = [
        {"booleans"} if np.asarray(value).dtype == bool else kind for value, kind in zip(values, kinds, strict=True)
    ]
    one, other = (
        f"column {name}, which holds {' and '.join(sorted(kind))}" if name else " and ".join(sorted(kind))
        for name, kind in zip(names, kinds, strict=True)
    )
    one += "," if names[0] else ""
    advice = "compare a column with a value of its kind, such as e.weight == 5 or e.name == '5'"
    for name, kind, value, compared in zip(names, kinds, reversed(values), reversed(kinds), strict=True):
        if name and kind == {"text"} and compared == {"numbers"} and not np.ndim(value):
            advice = f"write e.{name} == {str(value)!r}, as the text is written"
    raise UsageError(f"the predicate keep compares {one} with {other}, which are never equal; {advice}")


def _check_missing(ufunc: np.ufunc, column: Column, *values: Any) -> None:
    """Refuse to compare a column with one missing value, but by == and != with None where None or NaT can stand.

    Raises:
        UsageError: None, NaN, NaT or pandas' NA.
    """
    for value in (np.asarray(value) for value in values if np.ndim(value) == 0):
        chooses = value.dtype == object and value[()] is None and column.dtype.kind in "OM" and ufunc not in ORDERS
        if missing_values(value) and not chooses:
            raise UsageError(
                f"the predicate keep compares a column with a missing value ({value}), which nothing equals; choose "
                "its missing values by e.name.isna(), the others by e.name.notna()"
            )


class PredicateRows:
    """Columns of some vertices or edges: ``rows["name"]`` or ``rows.name`` is an array, shape (rows,).

    Arrays are read-only, and :class:`Column`, of times :class:`Times`, unless ``arrays``.
    """

    def __init__(self, column: Callable[[str], np.ndarray], size: int, arrays: bool = False):
        self._column, self._size, self._arrays = column, size, arrays
        self._kinds: dict[str, str] = {}

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, name: str) -> Any:
        shown = self._column(name).view()
        self._kinds[name] = shown.dtype.kind
        shown.flags.writeable = False  # they are the graph's own
        return shown if self._arrays else _column(shown, text=True, name=name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


def columns_read(predicate: Predicate, kinds: Mapping[str, np.dtype], what: str, comm: Comm) -> list[str]:
    """Return the names of the columns that a predicate reads, equal on every rank; collective.

    Args:
        predicate: the function; it is called with no rows.
        kinds: dtype of every column by name.
        what: "vertices" or "edges", for messages.
        comm: communicator of the ranks.

    Raises:
        UsageError: not a function, one that fails, or one that reads an unknown column.
    """
    read: list[str] = []

    def column(name: str) -> np.ndarray:
        if name not in kinds:
            raise unknown(f"column of {what} that keep reads{CALLED.get(what, '')}", name, kinds)
        read.append(name)
        return np.empty(0, kinds[name])

    with comm.together():
        if not callable(predicate):
            raise UsageError(
                f"keep = {shown(predicate)} is not a predicate; give a function of arrays, such as "
                "lambda e: e.weight < 10"
            )
        chosen(predicate, PredicateRows(column, 0), what)
    return sorted({name for names in comm.allgather_json(read) for name in names})


def chosen(predicate: Predicate, rows: PredicateRows, what: str) -> np.ndarray:
    """Return what a predicate says of rows: bool, shape (rows,); not collective.

    Raises:
        UsageError: the predicate fails, or returns anything else.
    """
    try:
        answer = host_array(_plain(predicate(rows)), "the predicate's answer")
    except DgraphError:
        raise
    except Exception as error:
        if not len(rows) and not rows._arrays:
            with suppress(UsageError):  # a Series of an empty column has objects, and no .dt
                return chosen(predicate, PredicateRows(rows._column, 0, arrays=True), what)
        if isinstance(error, ValueError) and "truth value" in str(error):
            raise UsageError(
                "the predicate keep asks whether an array is true, as `and`, `or`, `not`, `in` and a < b < c do; "
                "combine conditions by &, | and ~, each in parentheses: (a < b) & (b < c); choose of several values by "
                "e.name.isin([5, 7])"
            ) from error
        raise UsageError(
            f"the predicate keep failed on {len(rows)} {what}: {type(error).__name__}: {error}; "
            f"it receives arrays, also empty ones, and returns one bool for each of their values{_advice(rows._kinds)}"
        ) from error
    if answer.dtype != bool or answer.shape != (len(rows),):
        raise UsageError(
            f"the predicate keep returned {answer.dtype} of shape {answer.shape} for {len(rows)} {what}; "
            "return an array with one bool for each (a & b, a | b and ~a combine conditions; e.name.isna() stands for "
            "`is None`)"
        )
    return answer


def _advice(kinds: Mapping[str, str]) -> str:
    """Return the end of an error about a predicate that read columns of times or text; ``kinds``: kinds of dtypes."""
    times, texts = (sorted(name for name, kind in kinds.items() if kind == wanted) for wanted in "MO")
    if times:
        return f". {times[0]} holds times: compare it with a time, a day or a month, such as {times[0]} == '2024-03'"
    advice = "holds text: compare it by ==, isin or startswith, or load times as times (pandas.to_datetime)"
    return f". {texts[0]} {advice}" if texts else ""


def rows_with(columns: Mapping[str, np.ndarray], size: int, kinds: Iterable[str], what: str) -> PredicateRows:
    """Return rows whose columns are at hand."""

    def column(name: str) -> np.ndarray:
        if name in columns:
            return columns[name]
        if name in kinds:
            raise UsageError(f"the predicate reads {name} for some {what} only; let it read {name} on every call")
        raise unknown(f"column of {what} that keep reads", name, kinds)

    return PredicateRows(column, size)


def chosen_arcs(block: EdgeBlock, predicate: Predicate, comm: Comm) -> tuple[np.ndarray, list[str]]:
    """Return the arcs of the edges that a predicate chooses, bool, shape (arcs here,), and what it reads; collective.

    The predicate reads ``source`` and ``target`` (original ids, int64, or names as str), ``weight`` (1 if the graph has
    no weights) and attributes, a piece at a time. Both arcs of an undirected edge have the smaller id as ``source``.
    """
    names = block.ids.names
    end = np.dtype(np.int64 if names is None else object)
    kinds = {"source": end, "target": end, "weight": block.weight_type or np.dtype(np.int64)}
    kinds |= {name: column.kind for name, column in block.attributes.items()}
    read = columns_read(predicate, kinds, "edges", comm)
    mask = np.empty(block.targets.size, bool)
    for number in range(arcs.rounds(block, comm)):
        start, stop = arcs.span(block, number)
        columns: dict[str, np.ndarray] = {}
        if {"source", "target"} & set(read):
            ends = [block.ids.to_original(gids, comm) for gids in arcs.ends(block, start, stop)]
            if not block.directed:
                ends = [np.minimum(*ends), np.maximum(*ends)]
            columns = dict(zip(("source", "target"), ends, strict=True))
            if names is not None:
                columns = {name: names.of(columns[name], comm) for name in columns if name in read}
        if "weight" in read:
            columns["weight"] = np.ones(stop - start, int) if block.weights is None else block.weights[start:stop]
        columns |= {name: block.attributes[name].shown(slice(start, stop)) for name in read if name in block.attributes}
        with comm.together():
            mask[start:stop] = chosen(predicate, rows_with(columns, stop - start, kinds, "edges"), "edges")
    return mask, read
