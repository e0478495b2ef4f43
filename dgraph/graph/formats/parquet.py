"""Tables of edges in Parquet and Arrow files, read through pyarrow: each rank reads its rows, a group a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Lock, local
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph._support.threads import in_order
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.array_input import DECIMALS, ROUNDED, WEIGHTS, arrow_dtype, arrow_numbers, as_ids, as_weights
from dgraph.graph.build.attribute_columns import attributes_of, of_arrow, type_notes
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.formats.column import IDS, Arena
from dgraph.graph.formats.column_names import are_names, edge_columns, named_columns, named_kept, unused_columns
from dgraph.graph.formats.counted_header import set_direction
from dgraph.graph.formats.plain_scan import NARROW_ID
from dgraph.graph.formats.sniff import file_size
from dgraph.graph.formats.table_names import TableNames, is_text, names_pool
from dgraph.graph.kept_rules import kept_rules
from dgraph.graph.reading import Reading

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions

ROWS = 1 << 19
"""Rows read at a time: few calls that wait for the interpreter lock."""
NAMED_ROWS = 1 << 14
"""Rows read at a time where a column holds text, which takes more memory."""
BUFFER = 1 << 20
"""Bytes of a column that are read from a Parquet file at a time."""
NAMED_BUFFER = 1 << 17
"""As :data:`BUFFER`, of a column of names."""
UNUSED = 1 << 16
"""Names of which the decoded texts are freed before their memory goes back to the system."""


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


def table_weights(path: str, parquet: bool, columns: str | None) -> np.dtype | None:
    """Return the type of the weights that a table's schema names, None without weights; its rows are not read.

    Args:
        path: a Parquet file, or an Arrow file.
        parquet: it is a Parquet file.
        columns: as ``LoadOptions.columns``.
    """
    with _read_errors(path), (_parquet if parquet else _arrow)(path) as (schema, _, _):
        chosen = chosen_columns(path, schema.names, columns)
        if len(chosen) < 3:
            return None
        kind = schema.field(chosen[2]).type
        decimal = str(kind).startswith("decimal")
        return as_weights(np.empty(0, np.float64 if decimal else arrow_dtype(kind)), chosen[2]).dtype


def _read(path: str, comm: Comm, options: LoadOptions, opened: Any) -> RawEdges:
    threads = rank_threads(comm)
    with comm.together():
        if options.lenient:
            raise UsageError(
                f"{path}: lenient drops lines of text, and no rows of a table; leave it out, and drop the rows that "
                "lack a value, or fill them in"
            )
        file_size(path)
        with _read_errors(path), opened(path) as (schema, rows, groups):
            names, noted = schema.names, (schema.metadata or {}).get(b"dgraph.directed")
            chosen = chosen_columns(path, names, options.columns)
            chosen = chosen if options.weights is None else chosen[:2]
            weight_type = str(schema.field(chosen[2]).type) if len(chosen) > 2 else ""
            lo, hi = (rows * rank // comm.size for rank in (comm.rank, comm.rank + 1))
            text = options.ids == "string" or all(is_text(schema.field(name).type) for name in chosen[:2])
            _check_types(path, schema, chosen, text)
            rules = kept_rules(options.keep)
            named_kept(rules, names, path)
            kinds = ("name" if text else "id",) * 2 + ("weight",) * (len(chosen) - 2) + ("kept",) * len(rules)
            parts = [_Part(path, name, kind, lo, hi) for name, kind in zip([*chosen, *rules], kinds, strict=True)]
            ends = TableNames(hi - lo)

            def store(task: tuple[_Part, Callable[[], Iterator[tuple[int, Any]]]]) -> float:
                part, group = task
                count = 0
                for first, values in group():
                    if part.kind == "name":
                        ends.add(parts.index(part), first - lo, part.filled(values, first))
                    else:
                        part.store(values, first)
                    count += len(values)
                return count / len(parts)

            row, stored = file_size(path) / max(rows, 1), 0.0
            reading = Reading(round(row * (hi - lo)))
            listed = zip(*(groups(part.name, lo, hi) for part in parts), strict=True)
            tasks = (task for group in listed for task in zip(parts, group, strict=True))
            for count in in_order(store, tasks, threads):
                stored += count
                reading.reach(round(row * stored))
        if not rows:
            raise DataError(f"{path}: no edge; is it the right table?")
    columns, kept = parts[: len(chosen)], parts[len(chosen) :]
    weights = columns[2].whole(comm) if len(columns) > 2 else None
    if text:
        raw = ends.edges(path, weights, comm)
    else:
        src, dst = (column.whole(comm) for column in columns[:2])
        ids = np.dtype(np.int64 if comm.largest(max(src.itemsize, dst.itemsize)) == 8 else np.uint32)
        raw = RawEdges(src.astype(ids, copy=False), dst.astype(ids, copy=False), weights, disposable=True)
    if noted in (b"0", b"1"):
        set_direction(raw, path, noted == b"1", f"the table says dgraph.directed = {int(noted)}")
    else:
        set_direction(raw, path, True, "the default for tables")
    raw.facts.notes.append(f"columns {', '.join(chosen)}")
    with comm.together():
        arrays = {column.name: column.kept(schema.field(column.name).type) for column in kept}
    raw.attributes = attributes_of(arrays, rules, hi - lo, comm)
    read, weight_chosen = [names.index(name) for name in (*chosen, *rules)], options.weights is not None
    unread = unused_columns(names, read, weight_chosen=weight_chosen or len(chosen) > 2)
    raw.facts.notes += [*unread[0], *type_notes({name: schema.field(name) for name in rules})]
    raw.facts.warnings += unread[1]
    if weight_type.startswith("decimal"):
        raw.facts.notes.append(DECIMALS)
    elif weight_type == "uint64" and raw.weights is not None and raw.weights.dtype == np.float64:
        raw.facts.notes.append(ROUNDED)
    return raw


def chosen_columns(path: str, names: list[str], columns: str | None) -> list[str]:
    """Return the names of the columns of sources, targets and, if there are any, weights."""
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


def _check_types(path: str, schema: Any, chosen: list[str], text: bool) -> None:
    """Refuse columns whose types are none of ids or names, as ``text`` says, or of weights."""
    for place, name in enumerate(chosen):
        kind = schema.field(name).type
        what, letter = f"{path}: {name} holds {kind}", arrow_dtype(kind).kind
        if place > 1 and not (letter in "biuf" or str(kind).startswith("decimal")):
            raise DataError(f"{what}; weights are real numbers; convert the column")
        if place < 2 and text and not (is_text(kind) or letter in "iu"):
            raise DataError(f"{what}; names are text, and integers are read as such; convert the column to one of them")
        if place < 2 and not text and letter not in "iu":
            raise DataError(
                f"{what}; both ends are integers, or both names; convert the column, or read both as names "
                "(--ids string, ids='string')"
            )


class _Part:
    """This rank's rows ``lo .. hi - 1`` of one column. Threads store batches of them in any order.

    Ids and weights are stored where they belong in one array, of the dtype of the first batch; batches of wider dtypes
    wait until all are there.

    Attributes:
        batches: row → values of kept columns, and ids and weights wider than the array.
    """

    def __init__(self, path: str, name: str, kind: str, lo: int, hi: int):
        self.path, self.name, self.kind, self.lo, self.size = path, name, kind, lo, hi - lo
        self.batches: dict[int, Any] = {}
        self._array: np.ndarray | None = None
        self._lock = Lock()

    def store(self, values: Any, first: int) -> None:
        """Store a batch of values, of which the first is that of row ``first``, as ids, weights or kept values."""
        what = f"{self.path}: {self.name}"
        if self.kind == "kept":
            text = is_text(values.type) and "view" not in str(values.type)
            self.batches[first] = values.dictionary_encode() if text else values
            return
        values = self.filled(values, first)
        if self.kind == "weight" and str(values.type).startswith("decimal"):
            values = values.cast("float64")
        array = arrow_numbers(values)
        if self.kind == "id":
            if not (array.dtype == np.int64 and self._put_narrow(array.view(np.uint64), first)):
                self._put(ids := as_ids(array, what, first), first, ids.dtype)
            return
        self._put(weights := as_weights(array, what, first), first, weights.dtype)

    def filled(self, values: Any, first: int) -> Any:
        """Return a batch whose first value is that of row ``first``; refuse one with nulls."""
        if hasattr(values, "dictionary") and values.dictionary.null_count:
            values = values.dictionary_decode()
        if values.null_count:
            row = first + int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(
                f"{self.path}: {self.name}[{row}] is null; every edge has two ends and, where there are weights, one; "
                "fill it in, or drop the row"
            )
        return values

    def _put_narrow(self, values: np.ndarray, first: int) -> bool:
        """Store ids that fit 32 bits in one pass over them; return False if one does not, or the array is wider."""
        with self._lock:
            if self._array is None and values[:1].max(initial=0) <= NARROW_ID:
                self._array = Arena().empty(self.size, IDS[0])
        if self._array is None or self._array.dtype != IDS[0]:
            return False
        return int(_narrowed(values, self._array[first - self.lo : first - self.lo + values.size])) <= NARROW_ID

    def _put(self, values: np.ndarray, first: int, kind: np.dtype) -> None:
        """Store values that the dtype ``kind`` holds."""
        with self._lock:
            if self._array is None:
                self._array = Arena().empty(self.size, kind)
        if self._kinds.index(kind) > self._kinds.index(self._array.dtype):
            self.batches[first] = values
        else:
            self._array[first - self.lo : first - self.lo + values.size] = values

    @property
    def _kinds(self) -> tuple[np.dtype, ...]:
        return IDS if self.kind == "id" else WEIGHTS

    def pieces(self) -> list[Any]:
        """Return the batches in the order of their rows, and forget them."""
        batches, self.batches = self.batches, {}
        return [batches[first] for first in sorted(batches)]

    def kept(self, kind: Any) -> Any:
        """Return all values for :func:`attributes_of`."""
        import pyarrow

        pieces = self.pieces()
        kind = pieces[0].type if pieces else kind
        return of_arrow(pyarrow.chunked_array(pieces, kind), f"{self.path}: {self.name}")

    def whole(self, comm: Comm) -> np.ndarray:
        """Return all values in one dtype on all ranks; collective."""
        array = np.empty(0, self._kinds[0]) if self._array is None else self._array
        level = max(map(self._kinds.index, [array.dtype, *(batch.dtype for batch in self.batches.values())]))
        array = array.astype(self._kinds[comm.largest(level)], copy=False)
        for first, values in self.batches.items():
            array[first - self.lo : first - self.lo + values.size] = values
        self._array, self.batches = None, {}
        return array


def _narrowed_few(values, ids):
    ids[:] = values
    return np.bitwise_or.reduce(values)


@njit(cache=True, nogil=True, few=_narrowed_few)
def _narrowed(values, ids):
    """Store the low halves of uint64 values; return the bits that any of them has."""
    bits = np.uint64(0)
    for i in range(values.size):
        bits |= values[i]
        ids[i] = np.uint32(values[i])
    return bits


class _PerThread:
    """Files that are open until the end of a block, one a thread: readers of pyarrow are for one thread at a time."""

    def __init__(self, opened: Callable[[], Any], files: ExitStack):
        self.opened, self.files, self.own = opened, files, local()

    def __call__(self) -> Any:
        if not hasattr(self.own, "file"):
            self.own.file = self.files.enter_context(self.opened())
        return self.own.file


@contextmanager
def _parquet(path: str) -> Iterator[tuple]:
    from pyarrow import parquet

    with ExitStack() as files:
        file = _PerThread(lambda: parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False), files)
        file_of_names = _PerThread(partial(_file_of_names, path), files)
        metadata, schema = file().metadata, file().schema_arrow
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

        def batches(name: str, lo: int, hi: int, group: int, begin: int) -> Iterator[tuple[int, Any]]:
            end, text = begin + sizes[group], is_text(schema.field(name).type)
            rows, own = (min(ROWS, NAMED_ROWS), file_of_names()) if text else (ROWS, file())
            for batch in own.iter_batches(rows, [group], columns=[name], use_threads=False):
                yield _part(batch.column(name), begin, lo, hi)
                begin += len(batch)
                if text and (begin - end) % UNUSED < len(batch):
                    names_pool().release_unused()
            if begin != end:
                raise DataError(
                    f"{path}: its metadata say {sum(sizes)} rows, but it has others; was it cut short? write it again"
                )

        yield schema, sum(sizes), partial(_groups, sizes, batches)


@contextmanager
def _arrow(path: str) -> Iterator[tuple]:
    import pyarrow

    with ExitStack() as files, pyarrow.memory_map(path) as source:
        file = _PerThread(lambda: pyarrow.ipc.open_file(source), files)
        sizes = [len(file().get_batch(group)) for group in range(file().num_record_batches)]

        def batches(name: str, lo: int, hi: int, group: int, begin: int) -> Iterator[tuple[int, Any]]:
            values = file().get_batch(group).column(name)
            values.validate(full=True)  # pyarrow would read where a damaged file's lengths lead: out of bounds
            yield _part(values, begin, lo, hi)

        yield file().schema, sum(sizes), partial(_groups, sizes, batches)


def _groups(sizes: list[int], batches: Callable, name: str, lo: int, hi: int) -> Iterator[Callable]:
    """Yield, for each group that has some of rows ``lo .. hi - 1``, a function that reads a column's batches."""
    first = 0
    for group, size in enumerate(sizes):
        begin, first = first, first + size
        if first > lo and begin < hi:
            yield partial(batches, name, lo, hi, group, begin)


def _part(values: Any, begin: int, lo: int, hi: int) -> tuple[int, Any]:
    """Cut values that begin at row ``begin`` to rows ``lo .. hi - 1``; return the first row and the values."""
    skip = min(max(lo - begin, 0), len(values))
    return begin + skip, values.slice(skip, max(min(hi - begin, len(values)) - skip, 0))


def _file_of_names(path: str) -> Any:
    """Open a file whose columns are decoded into memory of :func:`names_pool`; a ``ParquetFile`` has no such option."""
    from pyarrow import parquet

    options = {"buffer_size": NAMED_BUFFER, "pre_buffer": False}
    file = parquet.ParquetFile(path, **options)
    metadata, file.reader = file.metadata, type(file.reader)(memory_pool=names_pool())
    file.reader.open(path, use_memory_map=False, metadata=metadata, **options)
    return file


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
    except MemoryError:
        raise DataError(
            f"{path}: its rows do not fit in memory; use more ranks on more machines; if it has fewer rows than its "
            "metadata say, write it again"
        ) from None
