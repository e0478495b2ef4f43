"""The first lines of a text file: what kind of file it is, and what its header says."""

from __future__ import annotations

import os
import stat
from dataclasses import asdict, dataclass

from dgraph.comm.base import Comm
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.formats.packed import packing, unpacked

LONGEST = 1 << 20
"""bytes in a line at most"""
TOO_LONG = "got a line of more than a million bytes; an edge is shorter; is this a text file?"

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
class Begin:
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
class Head:
    """The first lines of a file, as every rank knows them.

    Attributes:
        first: the first line of all.
        line: the first line that is neither empty nor a comment; "" where there is none.
        number: its line number.
        start, after: offsets of its first byte and of the line after it.
        size: bytes in the file.
        packing: what it is compressed with, or ""; offsets are those of the text.
    """

    first: str
    line: str
    number: int
    start: int
    after: int
    size: int
    packing: str = ""

    @property
    def here(self) -> Begin:
        """That line itself."""
        return Begin(self.start, self.number, self.size, self.packing)

    @property
    def below(self) -> Begin:
        """The line after it."""
        return Begin(self.after, self.number + 1, self.size, self.packing)


def read_head(path: str, comments: str, comm: Comm, empty: bool = False) -> Head:
    """The head of a text file, which may be ``empty``; collective, read by rank 0.

    Raises:
        UsageError: no such file, or not a file.
        DataError: an empty file, or one that is not text.
    """
    told = None
    with comm.together():
        if comm.rank == 0:
            told = asdict(_head(path, comments, empty))
    return Head(**comm.bcast_json(told))


def _head(path: str, comments: str, empty: bool) -> Head:
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
            line = raw.decode(errors="replace").removesuffix("\n").removesuffix("\r").strip(" \t")
            first = line if first is None else first
            if line and not _comment(line, comments):
                return Head(first, line, number, begin, after, size, kind)
    if not number and not empty:
        raise DataError(f"{path}: the file is empty; is it the right one, and written to its end?")
    return Head(first or "", "", number + 1, after, after, size, kind)


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
