"""Columns of a table: pandas, Polars, or anything with Arrow's C interface, such as pyarrow, DuckDB and Ibis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import UsageError, shown
from dgraph.graph.formats.column_names import BY_NAME, IN_TABLES, edge_columns, unused_columns, weight_column
from dgraph.graph.inputs.column_arrays import column_array, pyarrow
from dgraph.graph.inputs.column_labels import labelled_column


class EdgeColumns(NamedTuple):
    """Columns of a table of edges, their names, and remarks on the other columns."""

    src: Any
    dst: Any
    weights: Any
    names: tuple[str, str, str]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    kept: Mapping[str, Any] = MappingProxyType({})

    @property
    def titles(self) -> tuple[str, str, str]:
        """Names of the three columns in messages: the argument, and the column's own name where it is another."""
        roles = SelectedColumns._fields
        return tuple(  # type: ignore[return-value]
            name if name == role else f"{role} {name}" for role, name in zip(roles, self.names, strict=True)
        )


ENDS = ("source", "target")
"""Labels of the ends' columns unless the user names others; where a table has neither, names decide as in files."""
VERTEX = "vertex"
"""Label of the column of vertices unless the user names another; the first column where a table has no such label."""


class SelectedColumns(NamedTuple):
    """Columns that the user names, each by its label or its position from 0.

    Attributes:
        source, target: columns of the ends.
        weight: column of weights; BY_NAME: the column named weight, if there is one; None: no column.
    """

    source: Any
    target: Any
    weight: Any = BY_NAME


def is_table(value: object) -> bool:
    """Return True if ``value`` is a data frame or has Arrow's C interface."""
    root = type(value).__module__.partition(".")[0]
    if root in ("pandas", "polars"):
        return hasattr(type(value), "columns")
    arrow = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    return arrow and (root != "pyarrow" or hasattr(value, "schema"))


def table_columns(
    table: Any, columns: SelectedColumns | None, keep: Sequence[str] = (), what: str = "the table"
) -> EdgeColumns:
    """Return the columns of source, target and weight, and those that are kept.

    Args:
        table: see :func:`is_table`; None has no rows.
        columns: columns that the user names; None: all are selected by their names, see ``formats/column_names.py``.
        keep: labels of further columns.
        what: for messages.

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
        labels = list(table.columns)
        places = _places(labels, columns, keep, what)
        selected = [table.iloc[:, place] for place in places]
    elif root == "polars":
        labels = list(table.columns)
        places = _places(labels, columns, keep, what)
        selected = [table.to_series(place) for place in places]
    else:
        labels, places, selected = _of_arrow(table, columns, keep, what)
    names = [str(label) for label in labels]
    notes, warnings = unused_columns(names, places, IN_TABLES, columns is not None and columns.weight is not BY_NAME)
    ends = len(places) - len(keep)
    weights = selected[2] if ends > 2 else None
    chosen = (*(names[place] for place in places[:ends]), "weight")[:3]
    kept = dict(zip(keep, selected[ends:], strict=True))
    return EdgeColumns(selected[0], selected[1], weights, chosen, tuple(notes), tuple(warnings), kept)  # type: ignore[arg-type]


def vertex_table(table: Any, vertex: Any, keep: Sequence[str] | None) -> dict[str, tuple[Any, Any]]:
    """Return name → (vertices, values) for the columns of a table of vertices; none for None.

    Raises:
        UsageError: not a table, or no such column.
    """
    if table is None:
        return {}
    if not is_table(table):
        raise UsageError(f"got {type(table).__name__}; give a data frame or an Arrow table with one row a vertex")
    if hasattr(table, "collect"):
        table = table.collect()
    if not hasattr(table, "columns") or hasattr(table, "column_names"):  # of Arrow
        table = pyarrow(f"a table of type {type(table).__name__}").table(table)
        labels, columns = table.column_names, table.columns
    else:
        labels = list(table.columns)
        columns = [table[label] for label in labels]
    place = 0 if labels and vertex == VERTEX and VERTEX not in labels else labelled_column("vertex", vertex, labels)
    others = [other for other in range(len(labels)) if other != place]
    places = others if keep is None else [labelled_column("keep", name, labels) for name in keep]
    ids = column_array(columns[place], f"vertex {labels[place]}")
    ids = ids if isinstance(ids, np.ndarray) else ids.to_numpy(zero_copy_only=False)
    return {str(labels[other]): (ids, columns[other]) for other in places}


def _of_arrow(
    table: Any, columns: SelectedColumns | None, keep: Sequence[str], what: str
) -> tuple[list[str], list[int], list]:
    """Read a stream batch by batch, so that other columns are not kept."""
    module = pyarrow(f"a table of type {type(table).__name__}")
    try:
        if hasattr(table, "__arrow_c_stream__"):
            reader = module.RecordBatchReader.from_stream(table)
        else:
            batch = module.record_batch(table)
            reader = module.RecordBatchReader.from_batches(batch.schema, [batch])
    except (module.ArrowException, TypeError, ValueError) as wrong:
        raise UsageError(
            f"got {type(table).__name__}, which is not a table ({str(wrong)[:120]}); pass rows with named columns"
        ) from wrong
    labels = reader.schema.names
    places = _places(labels, columns, keep, what)
    kept: list[list] = [[] for _ in places]
    for batch in reader:
        for chunks, place in zip(kept, places, strict=True):
            chunks.append(batch.column(place))
    types = [reader.schema.field(place).type for place in places]
    return labels, places, [module.chunked_array(chunks, kind) for chunks, kind in zip(kept, types, strict=True)]


def _places(labels: list, columns: SelectedColumns | None, keep: Sequence[str], what: str) -> list[int]:
    """Return the positions of source, target, weight, if there is one, and the columns to keep."""
    return [*_edge_places(labels, columns, what), *(labelled_column("keep", name, labels) for name in keep)]


def _edge_places(labels: list, columns: SelectedColumns | None, what: str) -> list[int]:
    names = [str(label) for label in labels]
    if columns is None:
        return edge_columns(names, what)
    named = columns._asdict()
    if (*map(str, columns[:2]),) == ENDS and not {*ENDS} & {*names}:
        places = edge_columns(names, what)
        if columns.weight is BY_NAME:
            return places
        named |= zip(ENDS, (labels[place] for place in places[:2]), strict=True)
    if columns.weight is None or columns.weight is BY_NAME:
        del named["weight"]
    chosen = {name: labelled_column(name, wanted, labels) for name, wanted in named.items()}
    for (one, place), (other, second) in combinations(chosen.items(), 2):
        if place == second:
            raise UsageError(f"{one} and {other} are both column {shown(labels[place])}; name a column for each")
    ends = list(chosen.values())
    weight = weight_column(names, what, ends) if columns.weight is BY_NAME else None
    return ends if weight is None else [*ends, weight]
