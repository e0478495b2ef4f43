"""Vertices on the command line: ``7``, ``1,2,3``, ``1=0.5,2=2`` or ``@FILE``; file names of several runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dgraph.errors import DataError, OutputError, UsageError


def sources(text: str) -> list[int]:
    """Return the vertex ids in ``text``, in order: one, a list, or ``@FILE`` with blanks or commas between ids.

    Raises:
        UsageError: a word that is not a vertex id (an integer of 0 or more), or an empty list.
        DataError: the same, in a file.
        OutputError: the file cannot be read.
    """
    return [_id(word, where, error) for word, where, error in _words(text)]


def names(text: str) -> list[str]:
    """Return the vertex names in ``text``, in the forms of :func:`sources`; raises its errors."""
    return [word for word, *_ in _words(text)]


def weighted(text: str, named: bool = False) -> list[int] | list[str] | dict[int, float] | dict[str, float]:
    """Return vertex ids as :func:`sources` does, or a dict where ``text`` holds ``id=weight``.

    Args:
        text: as for :func:`sources`; either every vertex has a weight or none.
        named: True for names of vertices in place of ids.

    Raises:
        UsageError, DataError, OutputError: as :func:`sources` does; also a vertex with two weights, or a weight that
            is not a number.
    """
    words = list(_words(text))
    if not any("=" in word for word, *_ in words):
        return names(text) if named else sources(text)
    found: dict = {}
    for word, where, error in words:
        vertex, _, weight = word.rpartition("=")
        called = vertex if named else _id(vertex, where, error)
        if called in found:
            raise error(f"{where}: vertex {vertex} has two weights, {found[called]:g} and {weight}; give it one")
        try:
            found[called] = float(weight)
        except ValueError:
            raise error(f"{where}: got {word!r}; write id=weight for every vertex, or ids alone") from None
    return found


def name_of(path: Path, source: int | str | None, several: bool) -> Path:
    """Return the file of the run from ``source``: ``dist.txt``, or ``dist.7.txt`` if there are several runs."""
    return path.with_name(f"{path.stem}.{in_file(source)}{path.suffix}") if several else path


def in_file(source: int | str | None) -> str:
    """Return a source as a part of a file name: ``/`` becomes ``%2F``, and ``%`` becomes ``%25``."""
    return str(source).replace("%", "%25").replace("/", "%2F")


def _words(text: str) -> Iterator[tuple[str, str, type[Exception]]]:
    """Yield each word, its place in the input, and the class of error for a wrong one."""
    error: type[Exception] = UsageError
    lines = [(text, repr(text))]
    if text.startswith("@"):
        error, path = DataError, Path(text[1:])
        try:
            listed = path.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as failed:
            why = failed.strerror if isinstance(failed, OSError) else "it is not text"
            raise OutputError(f"{text}: the list of vertices cannot be read: {why}") from failed
        lines = [(line.partition("#")[0], f"{path}:{number}") for number, line in enumerate(listed, 1)]
    found = [(word, where, error) for line, where in lines for word in line.replace(",", " ").split()]
    if not found:
        raise error(f"{text!r} names no vertex; write an id, a list 1,2,3, or @FILE with ids in it")
    yield from found


def _id(word: str, where: str, error: type[Exception]) -> int:
    if not (word.isascii() and word.isdigit()) or int(word) >= 1 << 63:
        place = "" if where == repr(word) else f"{where}: "
        raise error(
            f"{place}got {word!r}, but a vertex id is an integer from 0 to 2**63 - 1 "
            "(--ids string reads names of vertices)"
        )
    return int(word)
