"""Tables of edges in text files: each rank reads its lines, and an error names the first wrong line of all ranks.

:func:`read_table` is the entry; ``line_reader.py`` reads lines, ``lines.py`` distributes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from itertools import chain

import numpy as np

from dgraph.comm.base import Comm
from dgraph.comm.context_values import set_within
from dgraph.comm.rank_threads import rank_threads
from dgraph.comm.serial import SerialComm
from dgraph.errors import DataError, option
from dgraph.graph.formats import lines, plain_arrays, scan
from dgraph.graph.formats.column import GROWTH
from dgraph.graph.formats.line_layout import Layout
from dgraph.graph.formats.line_reader import LineReader, LineTable
from dgraph.graph.formats.placed_lines import PlacedLines
from dgraph.graph.formats.sniff import DataStart, file_size
from dgraph.graph.reading import Reading

PIECE = 4
"""Pieces of a file that threads take in turn, in chunks of ``lines.py``; one thread reads a chunk at a time."""


def read_table(path: str, layout: Layout, begin: DataStart, comm: Comm, lenient: bool = False) -> LineTable:
    """Read a file from the start of its lines of values; collective.

    Returns:
        Ids as uint32 if all of them fit, else int64; weights int32, int64 or float64, the narrowest that holds them
        all. The same dtypes on every rank.

    Raises:
        DataError: a line that violates the layout; the lowest such line number is given. If ``lenient``, such lines are
            skipped and counted, unless they are most.
    """
    parser = None if comm.size > 1 or begin.packing else _parser.get()
    table = parser and parser(path, layout, begin, lenient)
    if table is None:
        reader = LineReader(layout, lenient, rank_threads(comm))
        if begin.packing:
            _read_scattered(path, reader, begin, comm)
        else:
            _read_ranges(path, reader, begin, comm)
        table = reader.table(comm)
    refuse_most(path, comm.total(table.src.size), table.dropped, layout.example)
    return table


Parser = Callable[[str, Layout, DataStart, bool], "LineTable | None"]
"""Reads the lines of a whole file, in the arguments' order path, layout, begin, lenient; None: the host is to do it."""
_parser: ContextVar[Parser | None] = ContextVar("parser", default=None)


def parsing_with(parser: Parser) -> AbstractContextManager[None]:
    """Let a parser read plain text on one rank within the body; its columns may be on a GPU."""
    return set_within(_parser, parser)


def table_of_lines(text: np.ndarray, layout: Layout, lenient: bool) -> LineTable | None:
    """Return the values of some lines; hidden ones are numbered among them. None if a line is wrong."""
    reader = LineReader(layout, lenient)
    if not reader.take(text, 1.0):
        return None
    reader.hidden = reader.fresh
    return reader.table(SerialComm())


def fault_of(raw: str, layout: Layout) -> str:
    """Return the error that :func:`read_table` reports for one line, given as Latin-1; "" if there is none."""
    reader = LineReader(layout, False)
    reader.take(np.frombuffer(raw.encode("latin-1"), np.uint8), 1.0)
    return reader.fault and f"{reader.fault}{layout.first}"


def columns_read(columns: tuple[int, ...], weighs: bool) -> tuple[int, ...]:
    """Return the kinds of columns to read; unless the graph ``weighs``, the weight column must exist but is skipped."""
    return columns if weighs else tuple(scan.ANY if kind in (scan.INTEGER, scan.NUMBER) else kind for kind in columns)


def refuse_most(path: str, kept: int, dropped: int, example: str) -> None:
    """Refuse a file of which most lines would be dropped; both counts are over all ranks."""
    if dropped > kept:
        raise DataError(
            f"{path}: {dropped} of {kept + dropped} lines would be dropped; a line is {example!r}; is the file of "
            f"another form? Without {option('lenient', True)} the first wrong line is named"
        )


def _read_ranges(path: str, reader: LineReader, begin: DataStart, comm: Comm) -> None:
    """Read the lines that start in this rank's part of the bytes; collective."""
    with comm.together():
        if (here := file_size(path)) != begin.size:
            raise DataError(
                f"{path}: {here} bytes on rank {comm.rank}, {begin.size} on rank 0; give all ranks the same file"
            )
        span = begin.size - begin.start
        lo, hi = (begin.start + span * rank // comm.size for rank in (comm.rank, comm.rank + 1))
        plain_arrays.expect(hi - lo)
        reading = Reading(hi - lo)
        size = lines.CHUNK * (PIECE if (hi - lo) // lines.CHUNK > PIECE and reader.threads > 1 else 1)

        def texts(low: int) -> Iterator[tuple[np.ndarray, bool]]:
            """Yield the lines that start in one piece of the file, and True if they are padded."""
            text = reader.buffer(lambda: lines.LineBuffer(file, begin.start, size)).lines(low, min(low + size, hi))
            if text is None:
                yield from ((text, False) for text in lines.lines_of_range(path, low, min(low + size, hi), begin.start))
            else:
                yield text, True

        with open(path, "rb") as file:
            if size == lines.CHUNK:
                for text, padded in chain.from_iterable(map(texts, range(lo, hi, size))):
                    reading.add(text.size)
                    if not reader.take(text, max(1.0, (hi - lo) / max(reading.done, 1)), padded):
                        break
            else:
                if scan.TARGET in reader.layout.columns and reader.plain().usable:
                    reader.placed = PlacedLines(hi - lo, reader.weighted)
                reader.take_all(range(lo, hi, size), texts, lambda low: reading.reach(low + size - lo))
    before = begin.number - 1 + comm.before(reader.lines)
    with comm.together():
        reader.check(path, before, begin)


def _read_scattered(path: str, reader: LineReader, begin: DataStart, comm: Comm) -> None:
    """Read the lines of a compressed file that rank 0 scatters; collective."""
    before = begin.number - 1
    blocks = lines.scattered_lines(path, begin.packing, begin.start, comm)
    if comm.size == 1 and reader.threads > 1:
        damaged = reader.take_all(blocks, lambda text: [(text, False)])
        reader.check(path, before, begin)
        if damaged is not None:
            raise damaged
        return
    for text in blocks:
        reader.lines = 0
        with comm.together():
            reader.take(text, GROWTH)
        counts = comm.allgather(np.array([reader.lines], np.int64))[:, 0]
        with comm.together():
            reader.check(path, before + int(counts[: comm.rank].sum()), begin)
        before += int(counts.sum())
