"""Comment lines of an edge list that may be edges: they have as many columns as the edges, and are counted and shown.

Comments stand before the first line of data. In files of names a later line is a comment only if the user said which
mark begins one; in files of integers it is skipped. ``scan.hides_fields`` decides for one line, :class:`HiddenLines`
collects the lines of all ranks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import plain
from dgraph.comm.base import Comm
from dgraph.graph.block import LoadFacts
from dgraph.graph.formats.first_line import names_ends
from dgraph.graph.formats.quoted import split_fields
from dgraph.graph.formats.scan import byte_classes, hides_fields
from dgraph.graph.formats.sniff import FileHead, lines_before, shortened


@dataclass
class HiddenLines:
    """Skipped lines of this rank that have as many columns as the edges.

    Attributes:
        count: number of lines.
        line: number of the first of them in the file, from 1; 0 if there is none.
        text: the first of them, shortened.
    """

    count: int = 0
    line: int = 0
    text: str = ""

    def add(self, count: int, line: int, text: str) -> None:
        """Add lines, of which the first is this one."""
        if count and not (self.count and self.line < line):
            self.line, self.text = line, shortened(text)
        self.count += count

    def report(self, facts: LoadFacts, comm: Comm) -> None:
        """Add the lines of all ranks to the lines dropped, and name the first in a warning; collective."""
        lines = comm.allgather(np.array([self.line or np.iinfo(np.int64).max], np.int64))[:, 0]
        total = comm.total(self.count)
        if not total:
            return
        facts.lines_dropped += total
        texts = comm.allgather_json(self.text)
        text = texts[int(np.argmin(lines))]
        more = f", and so were {total - 1:,} more such lines" if total > 1 else ""
        facts.warnings.append(
            f"line {int(lines.min())}, {text!r}, was skipped as a comment, but has as many columns as an edge{more}: "
            "if it is an edge, say --comment '' (comment=''); no line is a comment then"
        )


def hidden_before(
    path: str, head: FileHead, comments: str, separator: str, fields: int, counts: tuple[int, int]
) -> HiddenLines:
    """Return the lines before the data that may be edges.

    Commented names of columns, such as SNAP's ``# FromNodeId ToNodeId``, are not counted, nor are commented counts of
    vertices and edges, such as KONECT's ``% 5 4 4``.

    Args:
        path: the file.
        head: its first lines.
        comments: characters that begin a comment line.
        separator: of the columns.
        fields: columns of the data.
        counts: number of edges; the smallest number that may be the count of vertices.
    """
    hidden = HiddenLines()
    classes = byte_classes(comments, separator)
    for number, line in lines_before(path, head):
        text = line.lstrip(" \t")
        if text and plain(hides_fields)(np.frombuffer(text.encode(), np.uint8), classes, fields):
            names = split_fields(text[1:].strip(" \t"), separator)
            hidden.add(not (names_ends(names, (0, 1)) or _are_counts(text, counts)), number, text)
    return hidden


def _are_counts(text: str, counts: tuple[int, int]) -> bool:
    edges, vertices = counts
    numbers = [int(word) for word in re.findall("[0-9]+", text)]
    if text[1:2] not in (" ", "\t") or edges not in numbers:
        return False
    numbers.remove(edges)
    return min(numbers, default=-1) >= vertices
