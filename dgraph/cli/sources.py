"""Vertices on the command line: ``7``, ``1,2,3``, ``1=0.5,2=2`` or ``@FILE``; and the file names of several runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dgraph.errors import DataError, OutputError, UsageError


def sources(text: str) -> list[int]:
    """The vertex ids that ``text`` names, in its order: one, a list, or ``@FILE`` with ids between blanks or commas.

    Raises:
        UsageError: a word that is not a vertex id (an integer, not negative), or an empty list.
        DataError: the same, in a file.
        OutputError: the file cannot be read.
    """
    return [_id(word, where, error) for word, where, error in _words(text)]


def names(text: str) -> list[str]:
    """The names of vertices in ``text``, as :func:`sources` takes ids; raises as it does."""
    return [word for word, *_ in _words(text)]


def weighted(text: str, named: bool = False) -> list[int] | list[str] | dict[int, float] | dict[str, float]:
    """Vertex ids as in :func:`sources`, or with ``id=weight`` words a dict; ``named``: names in place of ids. Raises as
    it does."""
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
    """Where the run from ``source`` is written: ``dist.txt`` is ``dist.7.txt`` when there are several runs."""
    return path.with_name(f"{path.stem}.{in_file(source)}{path.suffix}") if several else path


def in_file(source: int | str | None) -> str:
    """A source as a part of a file's name: ``/`` is written ``%2F``, and ``%`` ``%25``."""
    return str(source).replace("%", "%25").replace("/", "%2F")


def _words(text: str) -> Iterator[tuple[str, str, type[Exception]]]:
    """Every word, where it stands, and the error that a wrong one is."""
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
        told = "" if where == repr(word) else f"{where}: "
        raise error(
            f"{told}got {word!r}, but a vertex id is an integer from 0 to 2**63 - 1 "
            "(with --ids string vertices of an edge list are called by words)"
        )
    return int(word)
