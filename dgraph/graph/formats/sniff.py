"""Read the first lines of a text file: detect its kind, compression and header."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import IO

from dgraph.comm.base import Comm
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.formats.packed import packing
from dgraph.graph.formats.packed_members import unpacked

LONGEST = 1 << 20
"""Bytes in a line at most."""
TOO_LONG = "got a line of more than a million bytes; an edge is shorter; is this a text file?"
CARRIAGE = (
    "a carriage return stands inside the line, and lines end in LF or CR LF; convert the line ends (for example: "
    "tr -s '\\r' '\\n')"
)
SHOWN = 60
"""Characters of a line that a message quotes."""
SAMPLE = 1000
"""Lines after the first from which the number of columns of an edge list is inferred."""
SAMPLE_BYTES = 1 << 18
"""Bytes after the first line that are searched for these lines."""

BINARY = {
    b"BZh": "compressed by bzip2; unpack it with bunzip2 first",
    b"\xfd7zXZ": "compressed by xz; unpack it with unxz first",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"\xff\xfe\0\0": "UTF-32 text; save it as UTF-8",
    b"\0\0\xfe\xff": "UTF-32 text; save it as UTF-8",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
    b"\x01\0\0\0\0\0\0\0": "a Galois binary graph; its name ends in .gr",
    b"\x02\0\0\0\0\0\0\0": "a Galois binary graph; its name ends in .gr",
}
WIDE = {
    rb"[\t-~]\0\0\0[\t-~]|\0\0\0[\t-~]\0\0\0[\t-~]": "UTF-32 text",
    rb"[\t-~]\0[\t-~]\0|\0[\t-~]\0[\t-~]": "UTF-16 text",
}
"""Beginnings of text without a byte order mark."""


@dataclass(frozen=True)
class DataStart:
    """Position in a file at which lines of values begin.

    Attributes:
        start: byte offset, in the text.
        number: line number.
        size: bytes in the file.
        packing: its compression, or "".
    """

    start: int
    number: int
    size: int
    packing: str = ""


@dataclass(frozen=True)
class FileHead:
    """First lines of a file, broadcast by rank 0.

    Attributes:
        first: the file's first line.
        line: the first line that is neither empty nor a comment; "" if there is none.
        number: its line number.
        start: offset of its first byte.
        after: offset of the line after it.
        size: bytes in the file.
        packing: its compression, or ""; offsets are those of the text.
        raw: the bytes of ``line``, as Latin-1.
        following: lines after it that are neither empty nor comments, if a sample was requested.
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
        """Start of ``line``."""
        return DataStart(self.start, self.number, self.size, self.packing)

    @property
    def below(self) -> DataStart:
        """Start of the line after ``line``."""
        return DataStart(self.after, self.number + 1, self.size, self.packing)


def read_head(
    path: str, comments: str, comm: Comm, empty: bool = False, sample: bool = False, later: str | None = None
) -> FileHead:
    """Read the head of a text file on rank 0 and broadcast it; collective.

    Args:
        path: the file.
        comments: characters that begin a comment line before the data.
        comm: communicator of the ranks.
        empty: True if the file may be empty.
        sample: True to also return the lines that follow, at most :data:`SAMPLE` of them.
        later: characters that begin a comment line after the first line of data; None: ``comments``.

    Raises:
        UsageError: no such file, or not a file.
        DataError: an empty file, or one that is not text.
    """
    fields = None
    with comm.together():
        if comm.rank == 0:
            fields = asdict(_head(path, comments, empty, sample, comments if later is None else later))
    return FileHead(**comm.bcast_json(fields))


def _head(path: str, comments: str, empty: bool, sample: bool, later: str) -> FileHead:
    size = file_size(path)
    with open(path, "rb") as file:
        kind = packing(file.read(8))
    with unpacked(path, kind) as text:
        start = text.read(8)
        for magic, what in BINARY.items():
            if start.startswith(magic):
                raise DataError(f"{path}: the file is {what}")
        for pattern, what in WIDE.items():
            if re.match(pattern, start, re.DOTALL):
                raise DataError(f"{path}: the file is {what}; save it as UTF-8")
        after = 3 if start.startswith(b"\xef\xbb\xbf") else 0
        text.seek(after)
        first, number = None, 0
        while raw := text.readline(LONGEST):
            number += 1
            if len(raw) == LONGEST and raw[-1:] != b"\n":
                reason = CARRIAGE if b"\r" in raw else TOO_LONG
                raise DataError(f"{path}:{number}: {reason}")
            begin, after = after, after + len(raw)
            line = _decode_line(raw, " " if sample else " \t")
            if "\r" in line:
                raise DataError(f"{path}:{number}: got {shortened(line)!r}; {CARRIAGE}")
            first = line if first is None else first
            if not _is_skipped(line, comments):
                following = _following(text, later) if sample else []
                return FileHead(first, line, number, begin, after, size, kind, raw.decode("latin-1"), following)
    if not number and not empty:
        raise DataError(f"{path}: the file is empty; is it the right one, and written to its end?")
    return FileHead(first or "", "", number + 1, after, after, size, kind)


def lines_before(path: str, head: FileHead) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of the lines before the first line of data."""
    with unpacked(path, head.packing) as text:
        for number in range(1, head.number):
            yield number, _decode_line(text.readline(LONGEST), " ").removeprefix("\ufeff")


def shortened(line: str) -> str:
    """Return a line as messages quote it."""
    return line if len(line) <= SHOWN else line[:SHOWN] + "…"


def _following(text: IO[bytes], comments: str) -> list[str]:
    """Return the next lines that are neither empty nor comments, up to the limits of the sample."""
    lines: list[str] = []
    rest = SAMPLE_BYTES
    while len(lines) < SAMPLE and rest > 0 and (raw := text.readline(LONGEST)):
        if len(raw) == LONGEST and raw[-1:] != b"\n":
            break
        rest -= len(raw)
        line = _decode_line(raw, " ")
        if "\r" not in line and not _is_skipped(line, comments):
            lines.append(line)
    return lines


def _decode_line(raw: bytes, blanks: str) -> str:
    """Return a line without its end, and without ``blanks`` around it; in a sample tabs may separate empty columns."""
    return raw.decode(errors="replace").removesuffix("\n").removesuffix("\r").strip(blanks)


def words_of(line: str) -> list[str]:
    """Split a line at blanks and tabs; other Unicode spaces do not separate words."""
    return [word for word in line.replace("\t", " ").split(" ") if word]


def _is_skipped(line: str, comments: str) -> bool:
    """Return True for an empty line and a comment."""
    line = line.strip(" \t")
    return not line or _is_comment(line, comments)


def _is_comment(line: str, comments: str) -> bool:
    return line[0] in comments and (not line[0].isalpha() or len(line) == 1 or line[1] in " \t")


def name_of(path: str) -> str:
    """Return the name of a graph that is read from a file."""
    return os.path.basename(path)


def file_size(path: str) -> int:
    """Return the size in bytes of a regular, readable file.

    Raises:
        UsageError: it does not exist, is not a file, or its name is invalid.
        OutputError: it cannot be opened.
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{path}: not a regular file; every rank reads its own part, so give a plain file")
        with open(path, "rb"):
            return status.st_size
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{path}: no such file") from None
    except PermissionError:
        raise OutputError(f"{path}: not readable by this user; change its permissions") from None
    except (OSError, ValueError) as wrong:  # a name that is too long, or holds a zero byte
        raise UsageError(f"{path[:200]!r}: not a file name ({wrong}); correct it") from None
