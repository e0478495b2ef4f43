"""Columns that are kept of an edge list with a header: pyarrow splits the lines that a rank's edges were read from.

Ends and weights come from the strict reader. The kept columns are read as text, beside it, and become integers, floats,
booleans or times where all ranks' values are and the type holds them. A line that only one of the two readers counts is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError, UsageError
from dgraph.graph.block import LoadFacts
from dgraph.graph.build.array_input import EXACT
from dgraph.graph.build.attribute_columns import attributes_of, of_arrow
from dgraph.graph.edge_attributes import EdgeAttribute
from dgraph.graph.formats.column_names import named_kept
from dgraph.graph.formats.lines import lines_of_range, scattered_lines
from dgraph.graph.formats.sniff import DataStart
from dgraph.graph.kept_rules import kept_rules

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions

KINDS = ("int64", "float64", "bool", "timestamp[us]", "timestamp[ns]")
"""Types that a column may have, beside text: the first that holds the values of all ranks."""
BLANKS = re.compile(rb'(?<![^ \t\n])("(?:[^"\n]|"")*")|[ \t]+')
"""A quoted field, as group 1, or blanks between fields."""
CODE = "^([+]|-?0[0-9xX])"
"""Form of a number that a numeric type would not keep as it is written."""


def read_kept(
    path: str, names: Sequence[str], separator: str, comments: str, begin: DataStart, edges: int, comm: Comm,
    options: LoadOptions, facts: LoadFacts,
) -> dict[str, EdgeAttribute]:  # fmt: skip
    """Return the columns that ``options.keep`` names, of the lines from ``begin`` on; collective.

    An empty field is missing, and a column without a value is float64. Blanks around a field are part of a text, as
    they are for pandas and Polars, and not of a number, boolean or time; where blanks separate columns, they are left
    out. A column with a number that begins like 007, 0x10 or +5 is text, as numbers would lose how it is written; the
    load line says so. A boolean is written true or false.

    Args:
        path: the file.
        names: of its columns, from the header; none without a header.
        separator: the character between columns; "": blanks and tabs.
        comments: characters that begin a comment line.
        begin: start of the lines that the edges were read from.
        edges: edges that this rank read.
        comm: communicator of the ranks.
        options: of the load.
        facts: of the load, for notes.

    Raises:
        UsageError: no header, an unknown column, ``lenient``, or pyarrow is not installed.
        DataError: a line with another number of columns.
    """
    rules = kept_rules(options.keep)
    if not rules:
        return {}
    with comm.together():
        if not names:
            raise UsageError(
                f"{path}: keep={options.keep!r}: the file has no header that names columns; write one as its first "
                "line, and say --header (header=True) if it is not recognised"
            )
        if options.lenient:
            raise UsageError(f"{path}: keep reads every line, and lenient drops some; leave one of the two out")
        named_kept(rules, names, path)
        csv = _pyarrow_csv(path)
    pieces: dict[str, list] = {name: [] for name in rules}

    def take(text: np.ndarray) -> None:
        _take(csv, path, _plain(text, separator, comments), names, separator or " ", pieces)

    if begin.packing:
        for text in scattered_lines(path, begin.packing, begin.start, comm):
            with comm.together():
                take(text)
    else:
        span = begin.size - begin.start
        lo, hi = (begin.start + span * rank // comm.size for rank in (comm.rank, comm.rank + 1))
        with comm.together():
            for text in lines_of_range(path, lo, hi, begin.start):
                take(text)
    with comm.together():
        columns = {name: _joined(chunks) for name, chunks in pieces.items()}
        trimmed = {name: without_blanks(column) for name, column in columns.items()}
        rows = len(next(iter(columns.values())))
        if rows != edges:
            raise DataError(
                f"{path}: this rank read {edges:,} edges and {rows:,} rows of kept columns; lines differ in form; "
                "quote fields that hold the separator, and remove comments behind data"
            )
        fits = [[_fits(text, kind, options.decimal) for kind in KINDS] for text in trimmed.values()]
        fits = [[*fit, not any_text(text, CODE)] for fit, text in zip(fits, trimmed.values(), strict=True)]
    fits_all = comm.allreduce(np.array(fits, np.int64).ravel(), "min").reshape(-1, len(KINDS) + 1)
    with comm.together():
        arrays = {}
        for (name, column), (*kinds, plain) in zip(columns.items(), fits_all.tolist(), strict=True):
            if codes := any(kinds[:2]) and not plain:
                facts.notes.append(f"{name} is kept as text: it holds numbers that begin like 007, 0x10 or +5")
            typed = _as(trimmed[name], KINDS[kinds.index(1)], options.decimal) if any(kinds) and not codes else column
            arrays[name] = of_arrow(typed, f"{path}: {name}")
    return attributes_of(arrays, rules, edges, comm)


def _pyarrow_csv(path: str) -> Any:
    try:
        from pyarrow import csv
    except ImportError:
        raise UsageError(f"{path}: keep needs pyarrow: pip install 'dgraph-analytics[parquet]'") from None
    return csv


def _plain(text: np.ndarray, separator: str, comments: str) -> bytes:
    """Return lines without comments and lines of blanks; one blank between columns where blanks separate them."""
    lines = text.tobytes()
    mark = f"[{re.escape(comments)}].*" if comments else ""
    lines = re.sub(rb"(?m)^[ \t]*(?:%s)?\r?\n" % mark.encode("latin-1"), b"", lines)
    if not separator:
        lines = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", lines)
        lines = BLANKS.sub(lambda match: match[1] or b" ", lines)
    return lines


def _take(csv: Any, path: str, lines: bytes, names: Sequence[str], separator: str, pieces: dict[str, list]) -> None:
    import pyarrow

    if not lines.strip():
        return
    try:
        table = csv.read_csv(
            pyarrow.py_buffer(lines),
            csv.ReadOptions(column_names=list(names), block_size=max(len(lines), 1)),
            csv.ParseOptions(delimiter=separator),
            csv.ConvertOptions(
                include_columns=list(pieces), column_types=dict.fromkeys(pieces, pyarrow.string()), null_values=[""],
                strings_can_be_null=True, quoted_strings_can_be_null=False,
            ),
        )  # fmt: skip
    except pyarrow.ArrowException as wrong:
        raise DataError(f"{path}: columns cannot be kept of a line: {str(wrong)[:200]}; correct the line") from wrong
    for name, chunks in pieces.items():
        chunks += table.column(name).chunks


def _joined(chunks: list) -> Any:
    import pyarrow

    return pyarrow.chunked_array(chunks, pyarrow.string())


def without_blanks(texts: Any) -> Any:
    """Return a column of text without the blanks and tabs around its values, as pyarrow reads numbers."""
    from pyarrow import compute

    return compute.utf8_trim(texts, " \t")


def _fits(column: Any, kind: str, decimal: str) -> bool:
    """Return True if all values of a column of text are of a type."""
    import pyarrow

    try:
        values = _as(column, kind, decimal)
    except pyarrow.ArrowException:
        return False
    return are_floats(column, values) if kind == "float64" else kind != "bool" or not any_text(column, "^[01]$")


def are_floats(column: Any, values: Any) -> bool:
    """Return False if float64 rounds an integer of a column of text beyond 2^53, or does not hold a number.

    A number too large becomes infinite, one too small 0.
    """
    import pyarrow

    sizes = np.abs(values.to_numpy())
    for sizes_beyond, form in (
        (sizes >= EXACT, "^[-+]?[0-9]+$"), (sizes == np.inf, "[0-9]"), (sizes == 0, "^[^eE]*[1-9]"),
    ):  # fmt: skip
        if sizes_beyond.any() and any_text(column.filter(pyarrow.array(sizes_beyond)), form):
            return False
    return True


def any_text(texts: Any, form: str) -> bool:
    """Return True if one of the texts has this form."""
    from pyarrow import compute

    return bool(compute.any(compute.match_substring_regex(texts, form)).as_py())


def _as(column: Any, kind: str, decimal: str) -> Any:
    from pyarrow import compute

    if kind == "float64" and decimal != ".":
        column = compute.replace_substring(compute.replace_substring(column, ".", "?"), decimal, ".")
    return column.cast(kind)
