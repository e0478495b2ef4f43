"""Columns of a table: pandas, Polars, or anything with Arrow's C interface, such as pyarrow, DuckDB and Ibis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dgraph.errors import UsageError, unknown
from dgraph.graph.formats.column_names import edge_columns
from dgraph.graph.inputs.vertex_columns import pyarrow


class EdgeColumns(NamedTuple):
    """Columns of a table of edges, and their names."""

    src: Any
    dst: Any
    weights: Any
    names: tuple[str, str, str]


def is_table(value: object) -> bool:
    """Return True if ``value`` is a data frame or has Arrow's C interface."""
    frame = type(value).__module__.partition(".")[0] in ("pandas", "polars") and hasattr(type(value), "columns")
    return frame or hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def table_columns(table: Any, columns: Sequence[str | int | None] | None) -> EdgeColumns:
    """Return the columns of source, target and weight.

    Args:
        table: see :func:`is_table`; None has no rows.
        columns: names or positions from 0 of source, target and perhaps weight; None: found by their names, else the
            first two or three.

    Raises:
        UsageError: not a table, or no such column.
    """
    if table is None:
        return EdgeColumns(None, None, None, ("source", "target", "weight"))
    if not is_table(table):
        raise UsageError(
            f"got {type(table).__name__}; a table is a data frame of pandas or Polars, or has __arrow_c_stream__; "
            "arrays go to from_edges"
        )
    root = type(table).__module__.partition(".")[0]
    if root == "polars" and hasattr(table, "collect"):
        table = table.collect()
    if root == "pandas":
        labels = [str(label) for label in table.columns]
        at = _positions(labels, columns)
        found = [table.iloc[:, each] for each in at]
    elif root == "polars":
        labels = list(table.columns)
        at = _positions(labels, columns)
        found = [table.to_series(each) for each in at]
    else:
        labels, at, found = _of_arrow(table, columns)
    names = [labels[each] for each in at]
    return EdgeColumns(found[0], found[1], found[2] if len(found) > 2 else None, (*names, "weight")[:3])  # type: ignore[arg-type]


def _of_arrow(table: Any, columns: Sequence[str | int | None] | None) -> tuple[list[str], list[int], list]:
    """Read a stream batch by batch, so that other columns are not kept."""
    module = pyarrow(f"a table of type {type(table).__name__}")
    if hasattr(table, "__arrow_c_stream__"):
        reader = module.RecordBatchReader.from_stream(table)
    else:
        batch = module.record_batch(table)
        reader = module.RecordBatchReader.from_batches(batch.schema, [batch])
    at = _positions(reader.schema.names, columns)
    kept: list[list] = [[] for _ in at]
    for batch in reader:
        for chunks, each in zip(kept, at, strict=True):
            chunks.append(batch.column(each))
    types = [reader.schema.field(each).type for each in at]
    return (
        reader.schema.names,
        at,
        [module.chunked_array(chunks, kind) for chunks, kind in zip(kept, types, strict=True)],
    )


def _positions(labels: list[str], columns: Sequence[str | int | None] | None) -> list[int]:
    if columns is None:
        return edge_columns(labels, "the table")
    places = []
    for column in columns:
        if column is None:
            continue
        if isinstance(column, str):
            if column not in labels:
                raise unknown("column", column, labels)
            if labels.count(column) > 1:
                raise UsageError(f"{labels.count(column)} columns are called {column!r}; say its position, from 0")
            places.append(labels.index(column))
        elif -1 < column < len(labels):
            places.append(int(column))
        else:
            raise UsageError(f"column {column}: the table has {len(labels)}, counted from 0; name one")
    return places
