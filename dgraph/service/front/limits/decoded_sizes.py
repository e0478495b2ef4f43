"""Bytes that the rows of a table take once they are decoded, computed without decoding them.

A column of runs (Arrow's run-end encoding, Parquet's RLE), of dictionary indices or of views is small in a file however
many rows it has. :func:`arrow_bytes` and :func:`parquet_bytes` count rows × width from lengths, indices and metadata.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dgraph.service.front.problem_documents import Problem

WIDTHS = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12, "BOOLEAN": 1}
"""Physical type of Parquet → bytes of a value."""

OFFSET = 4
"""Bytes of a value of variable length beside its text."""

ROWS = 1 << 16
"""Rows of Parquet whose lengths are read at a time."""

Sizes = int | np.ndarray
"""Bytes of every value of an array, or one number if all have the same."""


def arrow_bytes(array: Any) -> int:
    """Return the bytes of an Arrow array's decoded values, at least 1 a row."""
    import pyarrow.types as types

    kind = array.type
    if isinstance(array, _extension()):
        return arrow_bytes(array.storage)
    if types.is_run_end_encoded(kind):
        ends = np.asarray(array.run_ends, np.int64)
        runs = np.diff(np.clip(ends - array.offset, 0, len(array)), prepend=0)
        return _sum(_sizes(array.values), runs)
    if types.is_struct(kind) or types.is_union(kind):
        return len(array) + sum(arrow_bytes(array.field(k)) for k in range(kind.num_fields))
    if types.is_list_view(kind) or types.is_large_list_view(kind):  # rows may share values
        return len(array) * 2 * OFFSET + _sum(_largest(_sizes(array.values)), np.asarray(array.sizes))
    if types.is_nested(kind):  # lists and maps, whose values are in the body once
        return len(array) * OFFSET + arrow_bytes(array.values if hasattr(array, "values") else array.flatten())
    sizes = _sizes(array)
    return sizes * len(array) if isinstance(sizes, int) else int(sizes.sum())


def _sizes(array: Any) -> Sizes:
    """Return the bytes of each value of an array, once decoded."""
    import pyarrow.types as types

    kind = array.type
    if types.is_dictionary(kind):
        sizes = _sizes(array.dictionary)
        if isinstance(sizes, int):
            return sizes
        indices = array.indices.fill_null(0) if array.indices.null_count else array.indices
        return sizes[np.asarray(indices)] if sizes.size else OFFSET
    if types.is_string_view(kind) or types.is_binary_view(kind):
        views = np.frombuffer(array.buffers()[1], np.int32)[:: 16 // 4]  # a view begins with its length
        return views[array.offset : array.offset + len(array)].astype(np.int64) + OFFSET
    if types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind) or types.is_large_binary(kind):
        width = np.int64 if "large" in str(kind) else np.int32
        if not len(array):
            return OFFSET
        offsets = np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array) + 1]
        return np.diff(offsets.astype(np.int64)) + OFFSET
    if types.is_nested(kind) or types.is_run_end_encoded(kind) or isinstance(array, _extension()):
        return arrow_bytes(array)  # of all values: a bound for each
    try:
        return max(kind.bit_width // 8, 1)
    except ValueError:  # the type of nulls
        return 1


def _extension() -> Any:
    import pyarrow

    return pyarrow.ExtensionArray


def _largest(sizes: Sizes) -> int:
    return sizes if isinstance(sizes, int) else int(sizes.max(initial=1))


def _sum(sizes: Sizes, counts: np.ndarray) -> int:
    """Return the bytes of values that occur ``counts`` times each."""
    if isinstance(sizes, int):
        return sizes * int(counts.sum())
    return int(np.dot(sizes.astype(float), counts[: len(sizes)]))  # a sum of integers might overflow


def parquet_bytes(path: Path, limit: int) -> tuple[int, int]:
    """Return the columns of a Parquet file, and the bytes that its rows decode to.

    Metadata say it, except of texts in a dictionary; these are read, still as indices, until they exceed ``limit``.

    Raises:
        Problem: 422 for texts that are stored as differences, whose lengths only decoding shows.
    """
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema
        texts: set[str] = set()
        size = 0
        for group in (metadata.row_group(k) for k in range(metadata.num_row_groups)):
            for k, column in enumerate(group.column(k) for k in range(group.num_columns)):
                width = WIDTHS.get(column.physical_type, schema.column(k).length if k < len(schema) else 0)
                size += max(column.total_uncompressed_size, max(column.num_values, group.num_rows) * max(width, 1))
                if column.physical_type == "BYTE_ARRAY":
                    if "DELTA_BYTE_ARRAY" in column.encodings:
                        detail = "which show their size only when they are decoded; write it plain or by a dictionary"
                        raise Problem(422, f"the column {column.path_in_schema} has texts as differences, {detail}")
                    texts.add(column.path_in_schema)
        columns = metadata.num_columns
    if texts and size <= limit:
        size = max(size, _text_bytes(path, sorted(texts), limit))
    return columns, size


def _text_bytes(path: Path, names: list[str], limit: int) -> int:
    """Return the bytes of columns of texts, or of their first rows, which exceed the limit."""
    from pyarrow import parquet

    size = 0
    with parquet.ParquetFile(path, read_dictionary=names) as file:
        for batch in file.iter_batches(ROWS, columns=names):
            size += sum(map(arrow_bytes, batch.columns))
            if size > limit:
                break
    return size
