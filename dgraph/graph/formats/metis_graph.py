"""METIS's ``.graph``: a header, then a line a vertex with its neighbours, each edge in the lines of both its ends.

``% comment`` · ``n m [fmt [ncon]]``: m edges; fmt's digits are flags for vertex sizes, vertex weights and edge weights.
Ids from 1. An empty line is a vertex without neighbours. METIS 5.1 manual, section 4.1.

Some programs write files that list each edge once. They are read if ``directed`` is given: as arcs, or as edges that go
both ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.formats import scan
from dgraph.graph.formats.column import GROWTH, IDS, WEIGHTS, GrowingColumn
from dgraph.graph.formats.counted_header import check_size, header_number, set_direction
from dgraph.graph.formats.lines import lines_of_range, scattered_lines
from dgraph.graph.formats.sniff import LONGEST, TOO_LONG, FileHead, file_size, read_head, words_of

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions

FORMS = tuple(f"{form:03b}" for form in range(8))


def read_metis(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read METIS's and Chaco's adjacency lists: a line a vertex, ids from 1; undirected. Vertex weights are skipped."""
    head = read_head(path, "%", comm)
    with comm.together():
        n, m, skip, weighted, form = _header(path, head)
        check_size(path, n, m, options)
    cause = _cause(form, skip, head.number)
    rows = _Rows(path, n, skip, weighted, options.weights is None, head.number, cause)
    if head.packing:
        rows.read_scattered(head, comm)
    else:
        rows.read_range(head, comm)
    src, dst, weights = rows.arcs(comm)
    arcs, vertex_lines = comm.total(src.size), comm.total(rows.rows)
    with comm.together():
        if src.max(initial=0) > n:
            raise DataError(f"{path}: {vertex_lines} lines of neighbours; line {head.number} says {n}; correct it")
    once = arcs == m > 0
    listed = once and options.directed is not None
    with comm.together():
        if vertex_lines < n:
            raise DataError(
                f"{path}: {vertex_lines} lines of neighbours, but the header (line {head.number}) says {n} vertices; "
                "was the file cut short? an empty line is a vertex without neighbours"
            )
        if once and not listed:
            raise DataError(
                f"{path}: {arcs} neighbours for the {m} edges of the header (line {head.number}): the file lists each "
                "edge once, and METIS lists each in the lines of both its ends; say --directed (directed=True) to read "
                f"what is listed as arcs, or --undirected (directed=False) as edges that go both ways{cause}"
            )
        if not listed and arcs != 2 * m:
            shape = "was the file cut short" if arcs < 2 * m else "was something appended"
            raise DataError(
                f"{path}: {arcs} neighbours, but the header (line {head.number}), counting each edge twice, says "
                f"{2 * m}; {shape}? fetch it again or correct the header{cause}"
            )
    as_listed = listed or options.directed is True
    raw = RawEdges(src, dst, weights, n=n, base=1, mirrored=not as_listed)
    set_direction(raw, path, as_listed, "asked for" if as_listed else "the .graph format lists neighbours")
    if listed:
        raw.facts.notes.append("each edge is listed once")
    if skip:
        raw.facts.notes.append("vertex sizes and weights are not read")
    return raw


def _cause(form: str, skip: int, line: int) -> str:
    """Return an explanation of the header's format for messages about wrong neighbours; "" if it has no vertex data."""
    if not skip:
        return ""
    what = ["the size of the vertex"] * (form[0] == "1") + ["its weights"] * (form[1] == "1")
    numbers = "number" if skip == 1 else f"{skip} numbers"
    return (
        f"; the format {form} in the header says that the first {numbers} of every line {'is' if skip == 1 else 'are'} "
        f"{' and '.join(what)}, and not a neighbour: if the lines have none, correct the header (line {line})"
    )


def _header(path: str, head: FileHead) -> tuple[int, int, int, bool, str]:
    """Return n, m, numbers before the neighbours in every line, True if edges have weights, and the format."""
    words = words_of(head.line)
    form = words[2].zfill(3) if len(words) > 2 else "000"
    if not 2 <= len(words) <= 4 or form not in FORMS:
        raise DataError(
            f"{path}:{head.number}: got {head.line[:60]!r}; the first line that is not a comment says "
            "'VERTICES EDGES [FORMAT [WEIGHTS]]' with a format of up to three binary digits; is this another format?"
        )
    n, m = (header_number(word, what, path, head.number) for word, what in zip(words, ("vertices", "edges")))  # noqa: B905
    weights = header_number(words[3], "weights of a vertex", path, head.number) if len(words) > 3 else int(form[1])
    if weights and form[1] == "0":
        raise DataError(f"{path}:{head.number}: {weights} weights a vertex, but the format {form} has none; correct it")
    return n, m, int(form[0]) + weights, form[2] == "1", form


class _Rows:
    """This rank's lines of neighbours, as arcs; sources count from the rank's first line of a vertex."""

    def __init__(self, path: str, n: int, skip: int, weighted: bool, weighs: bool, header: int, cause: str):
        self.path, self.n, self.skip, self.weighted, self.header = path, n, skip, weighted, header
        self.weighs, self.cause = weighted and weighs, cause
        self.classes = scan.byte_classes("%", "")
        self.src, self.dst, self.weights = GrowingColumn(IDS), GrowingColumn(IDS), GrowingColumn(WEIGHTS)
        self.rows, self.lines, self.fault = 0, 0, ""

    def read_range(self, head: FileHead, comm: Comm) -> None:
        """Read the lines that start in this rank's part of the bytes; collective."""
        span, read = head.size - head.after, 0
        lo, hi = (head.after + span * rank // comm.size for rank in (comm.rank, comm.rank + 1))
        with comm.together():
            if file_size(self.path) != head.size:
                raise DataError(f"{self.path}: ranks see files of different sizes; give all ranks the same file")
            for text in lines_of_range(self.path, lo, hi, head.after):
                read += text.size
                self._take(text, 1, max(1.0, (hi - lo) / read))
                if self.fault:
                    break
        self._check(self.header, comm)
        self.src.add(comm.before(self.rows))

    def read_scattered(self, head: FileHead, comm: Comm) -> None:
        """Read the lines of a compressed file that rank 0 scatters; collective."""
        lines = rows = 0
        for text in scattered_lines(self.path, head.packing, head.after, comm):
            self.lines, taken = 0, self.rows
            with comm.together():
                here = int(_vertex_lines(text, self.classes))
            counts = comm.allgather(np.array([here], np.int64))[:, 0]
            with comm.together():
                self._take(text, 1 + rows + int(counts[: comm.rank].sum()) - taken, GROWTH)
            lines += self._check(self.header + lines, comm)
            rows += int(counts.sum())

    def _check(self, before: int, comm: Comm) -> int:
        """Refuse the first wrong line of all ranks; else return the number of lines read on all ranks; collective."""
        lines = comm.allgather(np.array([self.lines], np.int64))[:, 0]
        with comm.together():
            if self.fault:
                raise DataError(f"{self.path}:{before + int(lines[: comm.rank + 1].sum())}: {self.fault}")
        return int(lines.sum())

    def _take(self, text: np.ndarray, first: int, share: float) -> None:
        """Read whole lines; the source of the first is ``first`` plus the number of vertex lines read before."""
        if text.size >= LONGEST and not (text[-LONGEST:] == 10).any():
            self.lines, self.fault = self.lines + int(np.count_nonzero(text == 10)) + 1, TOO_LONG
            return
        capacity = text.size // 2 + 1
        src, dst = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
        integers = np.empty(capacity if self.weighs else 0, np.int64)
        arcs, rows, lines, wrong, token = _neighbours(
            text, self.classes, self.skip, self.weighted, self.n, first + self.rows, src, dst, integers
        )
        self.rows, self.lines = self.rows + rows, self.lines + lines
        if wrong != scan.OK:
            self.fault = _reason(wrong, text, token, self.n) + self.cause
            return
        self.src.extend(src[:arcs], share)
        self.dst.extend(dst[:arcs], share)
        if self.weighs:
            self.weights.extend(integers[:arcs], share)

    def arcs(self, comm: Comm) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return sources, targets and weights; collective."""
        levels = np.array([max(self.src.level, self.dst.level), self.weights.level], np.int64)
        ids, level = (int(v) for v in comm.allreduce(levels, "max"))
        weights = self.weights.finish(level) if self.weighs else None
        return self.src.finish(ids), self.dst.finish(ids), weights


def _reason(wrong: int, text: np.ndarray, token: int, n: int) -> str:
    quoted = repr(bytes(text[token : token + 40]).split(b"\n")[0].decode(errors="replace").split(" ")[0])
    return {
        scan.WORD: f"got {quoted}; neighbours and weights are whole numbers; correct it",
        scan.TOO_BIG: f"got {quoted}; it is above 2^63 - 1; correct it",
        scan.TOO_HIGH: f"got neighbour {quoted}; ids are 1 .. {n}; correct it",
        scan.MISSING: "the line ends before its numbers do: vertex sizes, vertex weights or an edge weight are missing",
        scan.EXTRA: f"a line of neighbours beyond the {n} vertices that the header says; correct the header",
    }[wrong]


@njit(cache=True)
def _vertex_lines(text, classes):
    """Return the number of lines that are not comments."""
    count, position = 0, 0
    while position < text.size:
        count += classes[text[position]] != scan.COMMENT
        while position < text.size and text[position] != 10:
            position += 1
        position += 1
    return count


@njit(cache=True)
def _neighbours(text, classes, skip, weighted, n, first, src, dst, weights):
    """Read lines of neighbours: arcs, lines of vertices, lines, the last line's error, and the position of its token.

    Edge weights are skipped if ``weighted`` is set but ``weights`` is empty.
    """
    arcs, rows, lines, position = 0, 0, 0, 0
    while position < text.size:
        lines += 1
        if classes[text[position]] != scan.COMMENT:
            place, row = 0, first + rows
            while True:
                position = scan.blank_end(text, classes, position)
                if scan.ends_line(text, classes, position):
                    break
                if row > n:
                    return arcs, rows, lines, scan.EXTRA, position
                value, end = scan.digits(text, position)
                if end == position or not scan.ends_token(text, classes, end):
                    return arcs, rows, lines, scan.WORD, position
                weight = weighted and place >= skip and (place - skip) % 2
                if value < 0 and (weights.size or not weight):
                    return arcs, rows, lines, scan.TOO_BIG, position
                if place >= skip:
                    if weight:
                        if weights.size:
                            weights[arcs - 1] = value
                    else:
                        if value < 1 or value > n:
                            return arcs, rows, lines, scan.TOO_HIGH, position
                        src[arcs], dst[arcs] = row, value
                        arcs += 1
                place += 1
                position = end
            if (place or skip) and (place < skip or (weighted and (place - skip) % 2)) and row <= n:
                return arcs, rows, lines, scan.MISSING, position
            rows += 1
        while position < text.size and text[position] != 10:
            position += 1
        position += 1
    return arcs, rows, lines, scan.OK, 0
