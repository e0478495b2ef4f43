"""Tables of edges in Parquet and Arrow files, read through pyarrow: each rank reads its rows, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.array_input import DECIMALS, ROUNDED, WEIGHTS, as_ids, as_weights
from dgraph.graph.build.clean import RawEdges
from dgraph.graph.formats.column import IDS
from dgraph.graph.formats.column_names import are_names, edge_columns, named_columns, unused_columns
from dgraph.graph.formats.counted_header import set_direction
from dgraph.graph.formats.sniff import file_size
from dgraph.graph.formats.table_names import is_text, named_edges

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions

ROWS = 1 << 18
"""Rows read at a time."""


def read_parquet(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read a table with columns of sources, targets and optionally weights; the vertices are the ids that occur.

    Ids are names where both columns hold text, and with ``ids="string"``, which reads integers as text.

    Columns are selected by ``columns``, by name or number, else by their names (see
    :func:`~dgraph.graph.formats.column_names.edge_columns`).
    """
    return _read(path, comm, options, _parquet)


def read_arrow(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read an Arrow IPC file (Feather version 2), as a Parquet file is read."""
    return _read(path, comm, options, _arrow)


def _read(path: str, comm: Comm, options: LoadOptions, opened: Any) -> RawEdges:
    with comm.together():
        file_size(path)
        with _read_errors(path), opened(path) as (schema, rows, batches):
            names, noted = schema.names, (schema.metadata or {}).get(b"dgraph.directed")
            chosen = _columns(path, names, options.columns)
            chosen = chosen if options.weights is None else chosen[:2]
            weight_type = str(schema.field(chosen[2]).type) if len(chosen) > 2 else ""
            lo, hi = (rows * rank // comm.size for rank in (comm.rank, comm.rank + 1))
            text = options.ids == "string" or all(is_text(schema.field(name).type) for name in chosen[:2])
            kinds = ("name" if text else "id",) * 2 + ("weight",)
            columns = [_Part(path, name, kind, lo) for name, kind in zip(chosen, kinds, strict=False)]
            for batch in batches([names[place] for place in at_of(chosen, names)], lo, hi):
                for column, values in zip(columns, batch, strict=True):
                    column.take(values)
            if any(column.position != hi for column in columns):
                raise DataError(
                    f"{path}: its metadata say {rows} rows, but it has others; was it cut short? write it again"
                )
        if not rows:
            raise DataError(f"{path}: no edge; is it the right table?")
    weights = columns[2].whole(comm) if len(columns) > 2 else None
    if text:
        raw = named_edges(path, (columns[0].pieces, columns[1].pieces), weights, comm)
    else:
        src, dst = (column.whole(comm) for column in columns[:2])
        ids = np.dtype(np.int64 if comm.largest(max(src.itemsize, dst.itemsize)) == 8 else np.uint32)
        raw = RawEdges(src.astype(ids, copy=False), dst.astype(ids, copy=False), weights)
    if noted in (b"0", b"1"):
        set_direction(raw, path, noted == b"1", f"the table says dgraph.directed = {int(noted)}")
    else:
        set_direction(raw, path, True, "the default for tables")
    raw.facts.notes.append(f"columns {', '.join(chosen)}")
    unread = unused_columns(names, at_of(chosen, names), weight_chosen=options.weights is not None or len(chosen) > 2)
    raw.facts.notes += unread[0]
    raw.facts.warnings += unread[1]
    if weight_type.startswith("decimal"):
        raw.facts.notes.append(DECIMALS)
    elif weight_type == "uint64" and raw.weights is not None and raw.weights.dtype == np.float64:
        raw.facts.notes.append(ROUNDED)
    return raw


def at_of(chosen: list[str], names: list[str]) -> list[int]:
    """Return the positions of the chosen columns."""
    return [names.index(name) for name in chosen]


def _columns(path: str, names: list[str], columns: str | None) -> list[str]:
    if len(set(names)) != len(names):
        raise DataError(f"{path}: two columns have one name ({', '.join(names)}); rename one")
    if columns is None:
        places = edge_columns(names, path)
    elif are_names(columns):
        places = named_columns(columns, names, path)
    else:
        places = [int(place) - 1 for place in columns.split(",")]
        if len(places) not in (2, 3) or not all(0 <= place < len(names) for place in places):
            raise UsageError(f"columns {columns!r}: write SOURCE,TARGET[,WEIGHT], each from 1 to {len(names)}")
    return [names[place] for place in places]


class _Part:
    """This rank's rows of one column."""

    def __init__(self, path: str, name: str, kind: str, first: int):
        self.path, self.name, self.kind, self.position = path, name, kind, first
        self.pieces: list[Any] = []

    def take(self, values: Any) -> None:
        """Append a batch of values, converted to ids or weights."""
        what = f"{self.path}: {self.name}"
        if values.null_count:
            row = self.position + int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(
                f"{what}[{row}] is null; every edge has two ends and, where there are weights, one; fill it in"
            )
        if self.kind == "name":
            self.pieces.append(values.cast("large_string").cast("large_binary"))
            self.position += len(values)
            return
        if self.kind == "weight" and str(values.type).startswith("decimal"):
            values = values.cast("float64")
        array = values.to_numpy(zero_copy_only=False)
        if self.kind == "id":
            if array.dtype.kind not in "iu":
                raise DataError(
                    f"{what} holds {values.type}; both ends are integers, or both names; convert the column, or read "
                    "both as names (--ids string, ids='string')"
                )
            self.pieces.append(as_ids(array, what, self.position).copy())
        else:
            if array.dtype.kind not in "biuf":
                raise DataError(f"{what} holds {values.type}; weights are real numbers; convert the column")
            self.pieces.append(as_weights(array, what, self.position).copy())
        self.position += len(values)

    def whole(self, comm: Comm) -> np.ndarray:
        """Return all values in one dtype on all ranks; collective."""
        kinds = IDS if self.kind == "id" else WEIGHTS
        level = comm.largest(max((kinds.index(piece.dtype) for piece in self.pieces), default=0))
        out = np.empty(sum(piece.size for piece in self.pieces), kinds[level])
        end = out.size
        while self.pieces:
            piece = self.pieces.pop()
            out[end - piece.size : end] = piece
            end -= piece.size
        return out


@contextmanager
def _parquet(path: str) -> Iterator[tuple]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]

        def batches(names: list[str], lo: int, hi: int) -> Iterator[list]:
            first = 0
            for group, size in enumerate(sizes):
                begin = first
                first += size
                if first <= lo or begin >= hi:
                    continue
                for batch in file.iter_batches(ROWS, [group], columns=names):
                    skip = min(max(lo - begin, 0), len(batch))
                    part = batch.slice(skip, max(min(hi - begin, len(batch)) - skip, 0))
                    begin += len(batch)
                    yield [part.column(name) for name in names]

        yield file.schema_arrow, sum(sizes), batches


@contextmanager
def _arrow(path: str) -> Iterator[tuple]:
    import pyarrow

    with pyarrow.memory_map(path) as source, pyarrow.ipc.open_file(source) as file:
        sizes = [len(file.get_batch(group)) for group in range(file.num_record_batches)]

        def batches(names: list[str], lo: int, hi: int) -> Iterator[list]:
            first = 0
            for group, size in enumerate(sizes):
                begin, first = first, first + size
                if first > lo and begin < hi:
                    skip = max(lo - begin, 0)
                    batch = file.get_batch(group).select(names)
                    batch.validate(full=True)  # pyarrow would read where a damaged file's lengths lead: out of bounds
                    part = batch.slice(skip, max(min(hi - begin, size) - skip, 0))
                    yield [part.column(name) for name in names]

        yield file.schema, sum(sizes), batches


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    try:
        import pyarrow
    except ImportError:
        raise UsageError(f"{path}: reading this table needs pyarrow: pip install 'dgraph-analytics[parquet]'") from None
    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as wrong:
        raise DataError(f"{path}: pyarrow cannot read this table ({str(wrong)[:200]}); write it again") from wrong
