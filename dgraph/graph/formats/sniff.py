"""The first lines of a text file: what kind of file it is, and what its header says."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import IO

from dgraph.comm.base import Comm
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.formats.packed import packing, unpacked

LONGEST = 1 << 20
"""bytes in a line at most"""
TOO_LONG = "got a line of more than a million bytes; an edge is shorter; is this a text file?"
SAMPLE = 1000
"""lines after the first that say how many columns an edge list has"""
SAMPLE_BYTES = 1 << 18
"""in which those lines must lie"""

BINARY = {
    b"BZh": "compressed by bzip2; unpack it with bunzip2 first",
    b"\xfd7zXZ": "compressed by xz; unpack it with unxz first",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
    b"\x01\0\0\0\0\0\0\0": "a Galois binary graph; its name ends in .gr",
    b"\x02\0\0\0\0\0\0\0": "a Galois binary graph; its name ends in .gr",
}


@dataclass(frozen=True)
class DataStart:
    """Where in a file lines of values begin.

    Attributes:
        start: byte offset, in the text.
        number: line number.
        size: bytes in the file.
        packing: what it is compressed with, or "".
    """

    start: int
    number: int
    size: int
    packing: str = ""


@dataclass(frozen=True)
class FileHead:
    """The first lines of a file, as every rank knows them.

    Attributes:
        first: the first line of all.
        line: the first line that is neither empty nor a comment; "" where there is none.
        number: its line number.
        start, after: offsets of its first byte and of the line after it.
        size: bytes in the file.
        packing: what it is compressed with, or ""; offsets are those of the text.
        raw: the bytes of that line, as Latin-1.
        following: lines after it that are neither empty nor comments, where they were asked for.
    """

    first: str
    line: str
    number: int
    start: int
    after: int
    size: int
    packing: str = ""
    raw: str = ""
    following: Sequence[str] = ()

    @property
    def here(self) -> DataStart:
        """That line itself."""
        return DataStart(self.start, self.number, self.size, self.packing)

    @property
    def below(self) -> DataStart:
        """The line after it."""
        return DataStart(self.after, self.number + 1, self.size, self.packing)


def read_head(path: str, comments: str, comm: Comm, empty: bool = False, sample: bool = False) -> FileHead:
    """The head of a text file, which may be ``empty``; collective, read by rank 0.

    Args:
        sample: also give the lines that follow, at most :data:`SAMPLE` of them.

    Raises:
        UsageError: no such file, or not a file.
        DataError: an empty file, or one that is not text.
    """
    told = None
    with comm.together():
        if comm.rank == 0:
            told = asdict(_head(path, comments, empty, sample))
    return FileHead(**comm.bcast_json(told))


def _head(path: str, comments: str, empty: bool, sample: bool) -> FileHead:
    size = file_size(path)
    with open(path, "rb") as file:
        kind = packing(file.read(8))
    with unpacked(path, kind) as text:
        start = text.read(8)
        for magic, what in BINARY.items():
            if start.startswith(magic):
                raise DataError(f"{path}: the file is {what}")
        after = 3 if start.startswith(b"\xef\xbb\xbf") else 0
        text.seek(after)
        first, number = None, 0
        while raw := text.readline(LONGEST):
            number += 1
            if len(raw) == LONGEST and raw[-1:] != b"\n":
                raise DataError(f"{path}:{number}: {TOO_LONG}")
            begin, after = after, after + len(raw)
            line = _text(raw)
            first = line if first is None else first
            if line and not _comment(line, comments):
                following = _following(text, comments) if sample else []
                return FileHead(first, line, number, begin, after, size, kind, raw.decode("latin-1"), following)
    if not number and not empty:
        raise DataError(f"{path}: the file is empty; is it the right one, and written to its end?")
    return FileHead(first or "", "", number + 1, after, after, size, kind)


def _following(text: IO[bytes], comments: str) -> list[str]:
    """The next lines that are neither empty nor comments, as many as are looked at."""
    lines: list[str] = []
    rest = SAMPLE_BYTES
    while len(lines) < SAMPLE and rest > 0 and (raw := text.readline(LONGEST)):
        if len(raw) == LONGEST and raw[-1:] != b"\n":
            break
        rest -= len(raw)
        line = _text(raw)
        if line and not _comment(line, comments):
            lines.append(line)
    return lines


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace").removesuffix("\n").removesuffix("\r").strip(" \t")


def words_of(line: str) -> list[str]:
    """The words between blanks; what else Unicode calls space is none."""
    return [word for word in line.replace("\t", " ").split(" ") if word]


def _comment(line: str, comments: str) -> bool:
    return line[0] in comments and (not line[0].isalpha() or len(line) == 1 or line[1] in " \t")


def name_of(path: str) -> str:
    """What a graph that was read from a file is called."""
    return os.path.basename(path)


def file_size(path: str) -> int:
    """Bytes in a regular file that can be read.

    Raises:
        UsageError: it is not there, is not a file, or cannot be the name of one.
        OutputError: it cannot be opened.
    """
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{path}: not a regular file; every rank reads its own part, so give a plain file")
        with open(path, "rb"):
            return found.st_size
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{path}: no such file") from None
    except PermissionError:
        raise OutputError(f"{path}: not readable by this user; change its permissions") from None
    except (OSError, ValueError) as wrong:  # a name that is too long, or holds a zero byte
        raise UsageError(f"{path[:200]!r}: no name of a file ({wrong}); correct it") from None
