"""Attributes of edges from this rank's columns: one dtype, and one list of words, on all ranks.

:func:`of_arrow` reads Arrow's columns, :func:`attributes_of` makes attributes of arrays, and :func:`common_type` is the
type of a column, of vertices too. A share without a value has no say where another rank has values: pandas reads an
empty share of text as floats. Where no rank has a value, a declared type of text or times stays, and a column without a
declared type is float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from dgraph.comm.base import Comm
from dgraph.comm.owner_directed import swap
from dgraph.errors import DataError, UsageError, shown
from dgraph.graph.build.array_input import EXACT, missing_values
from dgraph.graph.edge_attributes import EdgeAttribute
from dgraph.graph.kept_rules import ORDERED
from dgraph.graph.names import ENCODING


class CodedText(NamedTuple):
    """Text as positions in its distinct texts.

    Attributes:
        codes: int (rows,); -1: missing.
        texts: str (dtype object or U); their order is of no importance.
    """

    codes: np.ndarray
    texts: np.ndarray

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.codes.size


TEXT = np.dtype(object)
CLASSES = {"O": "text", "M": "times", "m": "durations"}
"""Classes of types of which a column has one, by the kind of a dtype; the others are numbers."""

CURE = "kept columns hold numbers, booleans, times or text; convert the column, for example with astype"


def attributes_of(
    arrays: Mapping[str, np.ndarray | CodedText], rules: Mapping[str, str], size: int, comm: Comm
) -> dict[str, EdgeAttribute]:
    """Return the columns of all ranks as attributes; collective.

    Args:
        arrays: name → values on this rank, shape (size,): bool, numbers, times, or text, also as str and None (dtype
            object). A missing value is NaN, NaT or None; empty text is missing, too.
        rules: name → value of merged parallel edges, equal on all ranks: see :class:`EdgeAttribute`.
        size: rows on this rank.
        comm: communicator of the ranks.

    Raises:
        UsageError: another number of values, other types on other ranks, a rule that the values do not have.
    """
    kept = {}
    for name, rule in rules.items():
        what, values = f"keep {name}", arrays[name]
        with comm.together():
            if values.size != size:
                raise UsageError(f"{what} has {values.size} values for {size} edges; give one for each")
        words = None
        if isinstance(values, CodedText):
            plain, empty = np.full(values.size, None), bool(values.size and (values.codes < 0).all())
        else:
            plain, empty = values, without_values(values)
        kind = common_type(plain.dtype, plain.size, empty, what, comm)
        if kind == TEXT:
            coded = values if isinstance(values, CodedText) else in_type(plain, kind, empty)
            values, words = _coded(coded, what, comm)
        else:
            with comm.together():
                if kind.kind == "f" and not empty:
                    refuse_rounded(plain, what)
            values = in_type(plain, kind, empty)
        if words is not None and rule != "first":
            raise UsageError(f"{what}: rule {rule!r} is for numbers, and this column is text; leave the rule out")
        if rule == "sum" and values.dtype.kind not in "biuf":
            raise UsageError(f"{what}: rule 'sum' is not for values of {values.dtype}; say {', '.join(ORDERED)}")
        kept[name] = EdgeAttribute(values, rule, words)
    return kept


def of_arrow(values: Any, what: str) -> np.ndarray | CodedText:
    """Return a column of Arrow as an array of bool, numbers or times, or as text.

    Raises:
        UsageError: a column of another type.
        DataError: a boolean that is missing, with its row.
    """
    import pyarrow
    from pyarrow import types

    if not hasattr(values, "chunks"):
        values = pyarrow.chunked_array([values])
    kind = values.type
    if types.is_dictionary(kind) and not _is_string(kind.value_type):
        values = values.cast(kind.value_type)
        kind = values.type
    if types.is_dictionary(kind) or _is_string(kind):
        if not types.is_dictionary(kind):
            values = values.cast(pyarrow.large_string()).dictionary_encode()
        whole = values.unify_dictionaries().combine_chunks()
        codes = whole.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False)
        return CodedText(codes, whole.dictionary.to_numpy(zero_copy_only=False))
    if types.is_boolean(kind) and values.null_count:
        row = int(np.argmax(values.is_null().to_numpy()))
        raise DataError(f"{what}[{row}] is missing, and a boolean has no missing value; fill it in")
    if types.is_decimal(kind) or types.is_null(kind):
        return values.cast("float64").to_numpy()
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    if not (numbers or types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind)):
        raise UsageError(f"{what}: got a column of {kind}; {CURE}")
    if types.is_integer(kind) and values.null_count:
        refuse_rounded(values.fill_null(0).to_numpy(), what)
    return values.to_numpy()


def type_notes(columns: Mapping[str, Any]) -> list[str]:
    """Return notes on the columns of a table whose values are not kept as they are: decimals, and times of a zone.

    ``columns``: name → column or field of Arrow, or column of pandas or polars.
    """
    notes = []
    for name, column in columns.items():
        kind = getattr(column, "type", getattr(column, "dtype", None))
        kind = getattr(kind, "value_type", getattr(kind, "pyarrow_dtype", kind))
        if str(kind) == "object" and any(isinstance(value, Decimal) for value in column):
            kind = "decimals"
        zone = getattr(kind, "tz", getattr(kind, "time_zone", None))
        if str(kind).lower().startswith("decimal"):
            notes.append(f"{name} holds decimals: kept as float64, which holds 15 digits")
        elif zone and str(zone) != "UTC":
            notes.append(f"{name} holds times of {zone}: kept in UTC")
    return notes


def refuse_rounded(values: np.ndarray, what: str) -> None:
    """Refuse integers that a column of float64 would round.

    Raises:
        DataError: an integer beyond 2^53, with its row.
    """
    if values.dtype.kind not in "iu" or values.itemsize < 8:
        return
    beyond = (values > EXACT) | (values < -EXACT)
    if beyond.any():
        row = int(np.argmax(beyond))
        raise DataError(
            f"{what}[{row}] is {values[row]}, and float64 would round it, which the column becomes where values are "
            "missing or fractions; fill the missing ones in, or convert the column to text"
        )


def _is_string(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _coded(values: np.ndarray | CodedText, what: str, comm: Comm) -> tuple[np.ndarray, np.ndarray]:
    """Return text as positions in its distinct words of all ranks, and these words; collective."""
    with comm.together():
        if not isinstance(values, CodedText):
            distinct, codes = np.unique(np.where(values == None, "", values).astype(str), return_inverse=True)  # noqa: E711
            values = CodedText(codes, distinct)
        texts = np.append(values.texts.astype(object), "")
        texts = np.where(texts == None, "", texts)  # noqa: E711 - by element: a dictionary may hold null
        try:
            here = np.char.encode(texts.astype(str), *ENCODING)
        except UnicodeEncodeError as wrong:
            raise UsageError(f"{what} has text without bytes in UTF-8: {shown(wrong.object)}; correct it") from None
        if sum(map(len, texts)) != np.char.str_len(np.char.decode(here, *ENCODING)).sum():
            raise UsageError(f"{what} has text that ends in a zero byte; correct it")
    here = here.astype(f"S{comm.largest(max(here.itemsize, 1))}")
    words = np.unique(np.concatenate(swap(comm, [here] * comm.size)))[1:]
    numbers = np.where(here == b"", -1, np.searchsorted(words, here)).astype(np.int32)
    return numbers[values.codes], words


def without_values(values: np.ndarray) -> bool:
    """Return True if there are values and all are missing: None, NaN or NaT."""
    return bool(values.size and missing_values(values[:1])[0] and missing_values(values).all())


def common_type(kind: np.dtype, size: int, empty: bool, what: str, comm: Comm) -> np.dtype:
    """Return the dtype of a column on all ranks, dtype object for text; collective.

    Args:
        kind: dtype of the values here.
        size: number of values here.
        empty: all values here are missing.
        what: the column, for messages.
        comm: communicator of the ranks.

    Raises:
        UsageError: text, times, durations or numbers on some ranks, and others of these on others.
        DataError: booleans on some ranks, and missing values on others.
    """
    shares = filter(None, comm.allgather_json([kind.str, empty] if size else None))
    pairs = [(np.dtype(text), missing) for text, missing in shares]
    kinds, emptied = ([kind for kind, missing in pairs if missing == wanted] for wanted in (False, True))
    classes = sorted({_class(kind) for kind in kinds})
    if len(classes) > 1:
        raise UsageError(f"{what}: {classes[0]} on some ranks and {classes[1]} on others; give one type on all")
    if not classes:
        names = {_class(kind) for kind in emptied}
        classes = [next((name for name in CLASSES.values() if name in names), "numbers")]
    if classes == ["text"]:
        return TEXT
    if classes == ["numbers"] and emptied and kinds and all(kind.kind == "b" for kind in kinds):
        raise DataError(f"{what} is missing on some ranks, and a boolean has no missing value; fill it in")
    same = [kind for kind in emptied if _class(kind) == classes[0]]
    if classes == ["numbers"] and (len(same) < len(emptied) or not pairs):
        same.append(np.dtype(np.float64))
    return np.result_type(*kinds, *same)


def in_type(values: np.ndarray, kind: np.dtype, empty: bool) -> np.ndarray:
    """Return values in the dtype of :func:`common_type`; ``empty``: all are missing."""
    if empty and _class(values.dtype) != _class(kind):
        return np.full(values.size, {"numbers": np.nan, "text": None}.get(_class(kind), "NaT"), kind)
    return values.astype(kind, copy=False)


def _class(kind: np.dtype) -> str:
    return CLASSES.get(kind.kind, "numbers")
