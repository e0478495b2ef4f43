"""Edge lists whose ends are words: words become numbers, and the table of names is kept.

:func:`read_named` is the entry. ``named_lines.py`` reads lines, ``graph/names.py`` numbers the words of all ranks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dgraph._support.threads import in_order
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import DataError, option
from dgraph.graph.block import LoadFacts
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.formats.counted_header import set_direction
from dgraph.graph.formats.first_line import OTHERWISE, counts_of, counts_warning
from dgraph.graph.formats.hidden_lines import hidden_before
from dgraph.graph.formats.kept_text import read_kept
from dgraph.graph.formats.lines import lines_of_range, scattered_lines
from dgraph.graph.formats.list_columns import ListColumns
from dgraph.graph.formats.named_lines import NameForm, NameReader
from dgraph.graph.formats.number_tokens import REMARKS
from dgraph.graph.formats.quoted import split_fields
from dgraph.graph.formats.sniff import DataStart, FileHead, file_size
from dgraph.graph.formats.text import refuse_most
from dgraph.graph.named_ids import NamedIds
from dgraph.graph.names import number_names
from dgraph.graph.reading import Reading

if TYPE_CHECKING:
    from dgraph.graph.formats.edge_form import EdgeForm
    from dgraph.graph.load_options import LoadOptions

SHARE = 8
"""Pieces of text that are read of a chunk: the places of names take more memory than their lines."""
OR_HEADER = "; or, if it names columns or counts, say --header (header=True)"


def read_named(
    path: str, head: FileHead, columns: ListColumns, separator: str, form: EdgeForm, comm: Comm, options: LoadOptions
) -> RawEdges:
    """Read lines of columns; collective.

    Args:
        path: the file.
        head: its first lines.
        columns: which are read.
        separator: the one character between columns, which names then cannot contain; "": any blanks.
        form: the rest of the syntax.
        comm: communicator of the ranks.
        options: of the load.
    """
    syntax = NameForm(form.later, columns.usual, form.decimal, options.weights is None, options.lenient)
    reader = NameReader(columns.places, columns.count, separator, syntax)
    with comm.together():
        strict = NameReader(columns.places, columns.count, separator, replace(syntax, lenient=False))
        first = _FirstLine(path, head, columns, separator, strict, options)
    _read(path, reader, head.here if options.header is False else head.below, comm)
    raw = RawEdges(np.empty(0, np.int64), np.empty(0, np.int64))
    if options.header is None:
        first.resolve(reader, raw.facts, comm)
    columns.report(head, separator, raw.facts, options)
    names, raw.src, raw.dst, raw.weights = reader.table(comm)
    raw.n, raw.ids, raw.disposable = int(names.starts[-1]), NamedIds(names), True
    raw.facts.lines_dropped = comm.total(reader.dropped)
    edges = comm.total(raw.src.size)
    refuse_most(path, edges, raw.facts.lines_dropped, "SOURCE TARGET")
    if not edges:
        passed = ""
        if options.header is None:
            passed = f" (line {head.number} was taken as a header: {option('header', False)})"
        raise DataError(f"{path}: no edge; a line is 'SOURCE TARGET'; is the file written to its end?{passed}")
    with comm.together():
        if comm.rank == 0:
            before = hidden_before(path, head, form.comments, separator, columns.usual, (edges, raw.n))
            reader.hidden.add(before.count, before.line, before.text)
    reader.hidden.report(raw.facts, comm)
    set_direction(raw, path, True, "the default for edge lists")
    raw.facts.notes += [remark for remark in REMARKS if comm.total(remark in reader.remarks)]
    raw.attributes = read_kept(
        path, columns.names, separator, form.later, head.below, raw.src.size, comm, options, raw.facts
    )
    return raw


def _read(path: str, reader: NameReader, begin: DataStart, comm: Comm) -> None:
    """Read this rank's lines from ``begin`` on; collective."""
    threads = rank_threads(comm)
    if begin.packing:
        before = begin.number - 1
        for text in scattered_lines(path, begin.packing, begin.start, comm):
            reader.lines = 0
            with comm.together():
                reader.take(text)
            before += _checked(reader, path, before, comm)
    else:
        span = begin.size - begin.start
        lo, hi = (begin.start + span * rank // comm.size for rank in (comm.rank, comm.rank + 1))
        with comm.together():
            if file_size(path) != begin.size:
                raise DataError(f"{path}: ranks see files of different sizes; give all ranks the same file")
            reading = Reading(hi - lo)
            for scanned in in_order(reader.scan, lines_of_range(path, lo, hi, begin.start, SHARE), threads):
                reading.add(scanned.size)
                reader.add(scanned, max(1.0, reading.size / reading.done))
                if reader.fault:
                    break
        _checked(reader, path, begin.number - 1, comm)


class _FirstLine:
    """First line of a file, if the options do not say whether it is a header: an edge, names of columns, or counts.

    It is read apart from the others, because its class depends on the names in them.

    Attributes:
        fault: why it is not an edge; "" if it may be one.
        named: True if it reads like names of columns.
        counts: its numbers, if it reads like counts.
    """

    def __init__(
        self, path: str, head: FileHead, columns: ListColumns, separator: str, reader: NameReader, options: LoadOptions
    ):
        self.path, self.head, self.lenient = path, head, options.lenient
        self.text = np.frombuffer(head.raw.encode("latin-1"), np.uint8)
        exact = split_fields(head.raw.rstrip("\r\n").strip(" "), separator)
        self.ends = [exact[place].encode("latin-1") for place in columns.places[:2] if place < len(exact)]
        reader.take(self.text)
        self.fault = reader.fault
        self.named = bool(columns.names)
        self.counts = counts_of(split_fields(head.line, separator))
        if options.header is None and self.fault and not (self.named or self.counts or self.lenient):
            raise DataError(f"{path}:{head.number}: {self.fault}{OR_HEADER}")

    def resolve(self, others: NameReader, facts: LoadFacts, comm: Comm) -> None:
        """Classify the line, and pass it to ``others``, which has read the rest, if it is an edge; collective.

        Raises:
            DataError: it is neither edge nor header, or it may be both.
        """
        where = f"{self.path}:{self.head.number}"
        lines = comm.total(others.src.size + others.dropped)
        met = comm.allreduce(np.array([end in others.ends for end in self.ends], np.int64), "max").any()
        if self.named and met:
            raise DataError(
                f"{where}: got {self.head.line[:60]!r}, which reads like names of columns, but vertices of other lines "
                f"have these names, too; {OTHERWISE}"
            )
        if self.named:
            return
        if self.counts and lines and lines in self.counts.edges and _distinct(others, comm) == self.counts.vertices:
            facts.warnings.append(counts_warning(self.head))
            return
        if self.fault and not self.lenient:
            raise DataError(f"{where}: {self.fault}{OR_HEADER}")
        with comm.together():
            if comm.rank == 0:
                others.take(self.text)
        if lines and not (self.fault or met):
            facts.warnings.append(
                f"line {self.head.number}, {self.head.line[:60]!r}, was taken as an edge, and no other line has its "
                "names: if it names the columns, say --header (header=True)"
            )


def _distinct(reader: NameReader, comm: Comm) -> int:
    """Return the number of distinct names in the edges read on all ranks; collective."""
    names, _ = number_names(np.sort(reader.ends.words()), comm)
    return int(names.starts[-1])


def _checked(reader: NameReader, path: str, before: int, comm: Comm) -> int:
    """Refuse the first wrong line of all ranks; else return the number of lines read on all ranks; collective."""
    lines = comm.allgather(np.array([reader.lines], np.int64))[:, 0]
    with comm.together():
        if reader.fault:
            raise DataError(f"{path}:{before + int(lines[: comm.rank + 1].sum())}: {reader.fault}")
    reader.settle(before + int(lines[: comm.rank].sum()))
    return int(lines.sum())
