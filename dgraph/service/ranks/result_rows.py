"""Rows of a distributed result for the front: a spooled Arrow file, rows of some vertices, the top rows."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from dgraph.errors import UsageError, unknown
from dgraph.graph.names import decode_names
from dgraph.result.arrow_tables import missing
from dgraph.result.columns import rows_at
from dgraph.result.files.file_rows import FileRows
from dgraph.result.files.shared_file import SharedFile, output_errors
from dgraph.result.files.table_file import save_table
from dgraph.result.result import Result


def spool(
    result: Result, path: Path, columns: Sequence[str] | None = None, offset: int = 0, limit: int | None = None
) -> int:
    """Write rows by ascending vertex into an Arrow file, which appears complete or not at all; collective.

    Rank 0 writes; it holds about a million rows of the others at a time.

    Args:
        result: the rows; missing values become null.
        path: the file, on rank 0's host.
        columns: names, in this order; None: all.
        offset: first row to write.
        limit: most rows to write; None: all.

    Returns:
        The number of rows written.

    Raises:
        UsageError: no such column.
        OutputError: the system refused.
    """
    comm, numbers = result.comm, _numbers(result)
    wanted = list(numbers) if columns is None else list(columns)
    for name in wanted:
        if name not in numbers:
            raise unknown(f"column of {result.algorithm}", name, numbers)
    named = numbers if result.named is None else result.named.here()
    rows = FileRows({name: named[name] for name in wanted}, comm, numbers["vertex"], nullable=result.nullable)
    end = rows.total if limit is None else min(offset + limit, rows.total)
    draft, descriptor = path.with_name(f".{path.name}.part"), -1
    try:
        with comm.together(), output_errors(path):
            if comm.rank == 0:
                descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        save_table(SharedFile(path, descriptor, comm), rows, ".arrow", offset, end)
        with comm.together(), output_errors(path):
            if comm.rank == 0:
                os.replace(draft, path)
    finally:
        if descriptor >= 0:
            os.close(descriptor)
            draft.unlink(missing_ok=True)
    return max(end - offset, 0)


def rows_of(result: Result, vertices: Sequence[int | str]) -> dict[str, list]:
    """Return the rows of some vertices in their order, on every rank; missing values are None; collective.

    Raises:
        UsageError: not vertices of the graph.
    """
    comm, numbers = result.comm, _numbers(result)
    asked = _asked(result, vertices)
    ids = numbers["vertex"]
    row = np.searchsorted(ids, asked)
    here = np.flatnonzero((row < ids.size) & (ids[np.minimum(row, max(ids.size - 1, 0))] == asked) if ids.size else [])
    here = here.astype(np.int64)
    places = np.concatenate(comm.allgatherv(here))
    if places.size < asked.size:
        lost = np.setdiff1d(np.arange(asked.size), places)[0]
        raise UsageError(f"{vertices[int(lost)]!r} is not a vertex of the graph; leave it out")
    columns = {}
    for name in numbers:
        whole = np.concatenate(comm.allgatherv(np.ascontiguousarray(rows_at(numbers, name, row[here]))))
        columns[name] = np.empty_like(whole)
        columns[name][places] = whole
    if result.named is not None:
        columns = dict(result.named.with_names(columns, comm))
    return listed(columns, result.nullable)


def listed(columns: Mapping[str, np.ndarray], nullable: Collection[str]) -> dict[str, list]:
    """Return columns as lists for JSON: names as str, missing values as None."""
    lists = {}
    for name, values in columns.items():
        mask = missing(name, values, nullable)
        if values.dtype.kind == "f":
            mask = ~np.isfinite(values)
        shown = decode_names(values) if values.dtype.kind == "S" else values
        if mask is not None and mask.any():
            shown = shown.astype(object)
            shown[mask] = None
        lists[name] = shown.tolist()
    return lists


def _asked(result: Result, vertices: Sequence[int | str]) -> np.ndarray:
    """Return the numbers of vertices, int64; collective."""
    if result.named is not None:
        return np.array(result.named.names.find([str(vertex) for vertex in vertices], result.comm), np.int64)
    for vertex in vertices:
        if isinstance(vertex, bool) or not isinstance(vertex, int) or not 0 <= vertex < 1 << 63:
            raise UsageError(f"{vertex!r:.60} is not a vertex of the graph: its vertices are integers; leave it out")
    return np.array(vertices, np.int64)


def _numbers(result: Result) -> Mapping[str, np.ndarray]:
    """Return the columns with numbers of vertices in place of names."""
    return result.columns if result.named is None else result.named.columns
