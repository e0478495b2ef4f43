"""Vertices on the command line: ids as ``7``, ``1,2,3`` or ``1=0.5,2=2``, names one an argument, either from ``@FILE``.

An option's arguments become :class:`Vertices`, which are read as ids or as names when it is known which the graph has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dgraph.cli.columns.vertex_file import VERTEX, has_vertex_column, vertex_columns
from dgraph.comm import Comm
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.names import ENCODING, Names

MARK = "@"
"""First character of ``@FILE``; a name that begins with it is written with two."""


@dataclass(frozen=True)
class Word:
    """One vertex or several, with or without weights, as an argument or a line of a file.

    Attributes:
        text: the argument or line.
        place: the option, or file and line.
        in_file: True for a line.
        value: number or label of the vertex, from a table; None: none, or as ``text`` writes it.
    """

    text: str
    place: str
    in_file: bool = False
    value: Any = None

    def wrong(self, why: str) -> UsageError | DataError:
        """Return an error about the word."""
        return (DataError if self.in_file else UsageError)(f"{self.place}: {why}")


@dataclass(frozen=True)
class Vertices:
    """Vertices that an option names, not yet read as ids or names.

    Attributes:
        option: the option.
        arguments: its values, in order.
        words: the values, with the lines of a file in place of ``@FILE``.
        weights: True if vertices may have weights.
        one: True if it is one vertex.
    """

    option: str
    arguments: tuple[str, ...]
    words: tuple[Word, ...]
    weights: bool = False
    one: bool = False

    @classmethod
    def of(cls, option: str, arguments: Sequence[str], weights: bool = False, one: bool = False) -> Vertices:
        """Read the files among an option's values; the arguments are the attributes.

        Raises:
            DataError: a file is empty or not text.
            OutputError: a file cannot be read.
        """
        words = tuple(word for argument in arguments for word in _words(option, argument))
        return cls(option, tuple(arguments), words, weights, one)

    def read(self, named: bool) -> Any:
        """Return a vertex, a list of vertices, or a dict of vertex → weight.

        Args:
            named: True: an argument or line is a name. False: it is one id or several, and the option is given once.

        Raises:
            UsageError, DataError: it is neither; a weight is missing or not a number; no vertex, or too many.
        """
        return self._value(self._entries(named))

    def of_graph(self, names: Names | None, comm: Comm) -> Any:
        """Return what :meth:`read` does, after a check that the graph has each name; collective.

        Args:
            names: names of the graph's vertices; None: they are integers.
            comm: the ranks.

        Raises:
            UsageError: also a name that no vertex has.
        """
        entries = self._entries(names is not None)
        if names is not None:
            vertices = [vertex for vertex, _, _ in entries]
            for vertex, number, (_, _, word) in zip(vertices, names.lookup(vertices, comm), entries, strict=True):
                if number < 0:
                    raise UsageError(f"{word.place}: {names.unknown(vertex, comm)}{self._advice(word, vertex)}")
        return self._value(entries)

    def _entries(self, named: bool) -> list[tuple[Any, float | None, Word]]:
        """Return each vertex, its weight or None, and its word."""
        if not named and len(self.arguments) > 1:
            first, second = self.arguments[:2]
            raise UsageError(
                f"argument {self.option}: it is given twice, as {first!r} and {second!r}; give it once (only names of "
                "vertices take an option each)"
            )
        words = list(self.words) if named else [part for word in self.words for part in _parts(word)]
        if not words or not all(word.text for word in words):
            raise (self.words or (Word("", self.option),))[0].wrong(
                f"{self.arguments[0]!r} names no vertex; write an id, a list 1,2,3, a name, or {MARK}FILE"
            )
        if self.one and len(words) > 1:
            raise UsageError(f"got {self.option} {' and '.join(self.arguments)}, but it is one vertex")
        ends = [_weight(word, named) if self.weights else None for word in words]
        if all(end is None for end in ends):
            return [(word.text if named else _id(word.text, word), None, word) for word in words]
        kind = "name" if named else "id"
        for word, end in zip(words, ends, strict=True):
            if end is None or end == "":
                raise word.wrong(f"got {word.text!r}; write {kind}=weight for every vertex, or {kind}s alone")
        vertices = [word.text.rpartition("=")[0] if word.value is None else word.text for word in words]
        return [
            (vertex if named else _id(vertex, word), float(end or 0) if word.value is None else end, word)
            for vertex, end, word in zip(vertices, ends, words, strict=True)
        ]

    def _value(self, entries: Sequence[tuple[Any, float | None, Word]]) -> Any:
        if self.one:
            return entries[0][0]
        if entries[0][1] is None:
            return [vertex for vertex, _, _ in entries]
        weights: dict[Any, float] = {}
        for vertex, weight, word in entries:
            if vertex in weights:
                raise word.wrong(f"vertex {vertex} has two weights, {weights[vertex]:g} and {weight:g}; give it one")
            weights[vertex] = weight or 0.0
        return weights

    def _advice(self, word: Word, vertex: str) -> str:
        """Return the end of an error about a name that no vertex has, from its form."""
        if vertex != word.text:
            return f"; behind the last = stands the weight: write {word.text}=1 for the vertex {word.text!r}"
        if word.in_file and ("," in vertex or "#" in vertex):
            return "; a file of names has one a line, and no comments"
        return f"; one argument is one name: repeat {self.option} for several" if "," in vertex and not self.one else ""


def has_names(graph: str | None, ids: str | None) -> bool | None:
    """Return True if the vertices of a graph are named, False if they are integers, None if its load will show it.

    Args:
        graph: file or generator; None: a generated graph.
        ids: option ``--ids``.
    """
    from dgraph.graph.formats import FORMATS, NAMING, TABLES, suffix_of
    from dgraph.graph.generate import is_generator

    if ids == "string":
        return True
    if graph is None or is_generator(graph):
        return False
    reader = FORMATS.get(suffix_of(graph))
    return None if reader is None or reader in (TABLES if ids == "integer" else NAMING) else False


def name_of(path: Path, source: int | str | None, several: bool) -> Path:
    """Return the file of the run from ``source``: ``dist.txt``, or ``dist.7.txt`` if there are several runs."""
    return path.with_name(f"{path.stem}.{in_file(source)}{path.suffix}") if several else path


def in_file(source: int | str | None) -> str:
    """Return a source as a part of a file name: ``/`` becomes ``%2F``, and ``%`` becomes ``%25``."""
    return str(source).replace("%", "%25").replace("/", "%2F")


def _words(option: str, argument: str) -> Iterator[Word]:
    """Yield the words of an argument: itself, or the lines of its file that are not empty."""
    if not argument.startswith(MARK) or argument.startswith(2 * MARK):
        yield Word(argument.removeprefix(MARK), option)
        return
    path, hint = Path(argument[1:]), f"(a name that begins with {MARK} is written {MARK}{argument})"
    try:
        if has_vertex_column(path):
            yield from _rows(path)
            return
        content = path.read_bytes()
    except (OSError, ValueError) as failed:
        why = failed.strerror if isinstance(failed, OSError) else failed
        raise OutputError(f"{argument}: the list of vertices cannot be read: {why} {hint}") from failed
    if b"\0" in content:
        raise DataError(f"{argument}: the list of vertices is not UTF-8 text; write it anew, one a line")
    lines = re.split("\r\n|\n|\r", content.decode(*ENCODING).removeprefix("\ufeff"))
    words = [Word(line, f"{path}:{number}", True) for number, line in enumerate(lines, 1) if line]
    if not words:
        raise DataError(f"{argument!r} names no vertex; write an id or a name on each line of the file {hint}")
    yield from words


def _rows(path: Path) -> Iterator[Word]:
    """Yield the vertices of a result's file, with the values of its first other column."""
    columns = vertex_columns(path, named=True)
    if VERTEX not in columns:
        raise DataError(f"{path} has the columns {', '.join(columns)}; one called {VERTEX} has the vertices; rename it")
    vertices = columns.pop(VERTEX).tolist()
    values = next(iter(columns.values()), None)
    for row, vertex in enumerate(vertices):
        value = None
        if values is not None:
            value = float("nan") if values[row] is None else values[row : row + 1].tolist()[0]
        value, vertex = (word.decode(*ENCODING) if isinstance(word, bytes) else word for word in (value, vertex))
        yield Word("" if vertex is None else str(vertex), f"{path}, row {row + 1}", True, value)


def _parts(word: Word) -> Iterator[Word]:
    """Yield the ids of a word, which blanks and commas separate; in a file, ``#`` begins a comment."""
    if word.value is not None:
        yield word
        return
    text = word.text.partition("#")[0] if word.in_file else word.text
    yield from (Word(part, word.place, word.in_file) for part in text.replace(",", " ").split())


def _weight(word: Word, named: bool) -> Any:
    """Return the value of a table, or the number behind the last ``=``.

    Without a number, a name has None, and an id with the mark "".
    """
    if word.value is not None:
        if word.value != word.value:
            raise word.wrong(f"vertex {word.text} has no value; fill it in, or drop the row")
        return word.value
    vertex, mark, weight = word.text.rpartition("=")
    plain = weight.isascii() and "_" not in weight and weight == weight.strip()
    try:
        float(weight)
    except ValueError:
        plain = False
    return weight if vertex and plain else "" if mark and not named else None


def _id(text: str, word: Word) -> int:
    digits = text.lstrip("0")
    if not re.fullmatch("[0-9]+", text) or len(digits) > 19 or int(digits or 0) >= 1 << 63:
        raise word.wrong(
            f"got {text!r}, but a vertex id is an integer from 0 to 2**63 - 1 (--ids string reads names of vertices)"
        )
    return int(digits or 0)
