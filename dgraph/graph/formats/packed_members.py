"""Unpack gzip and zstd files: members and frames at once on threads, and ahead of the thread that takes the text.

A file is a chain of members (gzip) or frames (zstd), and where one ends is known only once it is unpacked. Threads
therefore start at the first bytes of each cell of the file that look like the start of a member; the chain takes what
began at its position, and drops what did not. A member that fills many cells is unpacked by one thread at a time.
"""

from __future__ import annotations

import io
import os
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from dgraph._support.threads import MOST
from dgraph.errors import DataError
from dgraph.graph.formats.packed import zstd_library
from dgraph.graph.reading import Reading

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

CELL = 1 << 20
"""Bytes of the file in which a thread looks for the start of a member."""
FED, TAKEN = 1 << 16, 1 << 18
"""Most packed bytes that one call unpacks, and most bytes of text that it returns."""
AHEAD, STEP = 1 << 25, 1 << 20
"""Most bytes of text that a thread unpacks from one cell before they are needed, and of those that follow."""
CUT = "cut"
"""Error of a member whose end is missing."""


class Packing(NamedTuple):
    """One kind of compression.

    Attributes:
        kind: its name.
        member: word for a part that is packed by itself.
        start: how it begins.
        marks: bytes that every start has, which are searched for, and the bytes of it before them.
        unpacker: makes the library's unpacker.
        damaged: error that it raises.
    """

    kind: str
    member: str
    start: re.Pattern[bytes]
    marks: tuple[tuple[bytes, int], ...]
    unpacker: Callable[[], Any]
    damaged: type[Exception]


def packing_row(kind: str) -> Packing:
    """Return the row of ``gzip`` or ``zstd``. Raises a UsageError if no library for it is installed."""
    if kind == "gzip":
        start = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]", re.DOTALL)
        return Packing(kind, "member", start, ((b"\x1f\x8b\x08", 0),), lambda: zlib.decompressobj(31), zlib.error)
    zstd = zstd_library()
    start = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)  # the second: a skippable frame
    marks = (b"\x28\xb5\x2f\xfd", 0), (b"\x2a\x4d\x18", 1)
    return Packing(kind, "frame", start, marks, zstd.ZstdDecompressor, zstd.ZstdError)


class _Run:
    """Members that begin in one cell, unpacked step by step.

    Attributes:
        begin: byte of the file at which the first one begins.
        end: byte after what was unpacked.
        texts: what was unpacked and not yet taken.
        done: True once the members were unpacked, or could not be.
        wrong: error after the text that was unpacked; "" if there is none.
    """

    def __init__(self, file: int, packing: Packing, begin: int):
        self.file, self.packing = file, packing
        self.begin = self.end = self._member = begin
        self.texts: list[bytes] = []
        self.done, self.wrong = False, ""
        self._last, self._unpacker = (begin // CELL + 1) * CELL, packing.unpacker()

    def unpack(self, most: int) -> _Run:
        """Unpack ``most`` bytes of text or more, unless there are fewer, into ``texts``; return this run."""
        size = 0
        while size < most and not self.done:
            hungry = getattr(self._unpacker, "needs_input", True)
            fed = self._packed(FED) if hungry else b""
            try:
                text = self._unpacker.decompress(fed, TAKEN)
            except self.packing.damaged as wrong:
                self._fail(f"the {self.packing.member} that begins at byte {self._member} is damaged ({wrong})")
                break
            eof = self._unpacker.eof
            self.end += len(fed) - len(
                self._unpacker.unused_data if eof else getattr(self._unpacker, "unconsumed_tail", b"")
            )
            size += len(text)
            if text:
                self.texts.append(text)
            if eof:
                self._next()
            elif hungry and not fed and not text:
                self._fail(CUT)
        return self

    def check(self, path: str) -> None:
        """Raise the error of the members, if there is one."""
        kind, member = self.packing.kind, self.packing.member
        if self.wrong == CUT:
            raise DataError(
                f"{path}: ends inside what {kind} has packed; was it cut short? The {member} that begins at byte "
                f"{self._member} has no end; fetch it again"
            )
        if self.wrong:
            raise DataError(f"{path}: {kind} cannot unpack it: {self.wrong}; fetch it again")

    def _next(self) -> None:
        """Go on with the next member, if it begins in the cell."""
        if self.packing.kind == "gzip":  # zeros may follow a member
            while (block := self._packed(FED)) and not block.strip(b"\0"):
                self.end += len(block)
            self.end += len(block) - len(block.lstrip(b"\0"))
        start = self._packed(4)
        if start and not self.packing.start.match(start):
            self._fail(f"byte {self.end} and those after it are not a {self.packing.member}")
        elif not start or self.end >= self._last:
            self.done = True
        else:
            self._member, self._unpacker = self.end, self.packing.unpacker()

    def _packed(self, most: int) -> bytes:
        return os.pread(self.file, most, self.end)

    def _fail(self, why: str) -> None:
        self.done, self.wrong = True, why


def _guessed(file: int, packing: Packing, cell: int) -> _Run | None:
    """Return the members of a cell, from the first bytes on that look like one, unpacked; None if there are none."""
    packed, starts = os.pread(file, CELL + 3, cell * CELL), []
    for mark, before in packing.marks:
        place = packed.find(mark, before)
        while place >= 0 and not packing.start.match(packed, place - before):
            place = packed.find(mark, place + 1)
        starts += [place - before] * (0 <= place - before < CELL)
    return _Run(file, packing, cell * CELL + min(starts)).unpack(AHEAD) if starts else None


def texts(path: str, kind: str, threads: int) -> Generator[bytes, None, None]:
    """Yield the text of a file in order, in parts of about :data:`TAKEN` bytes, unpacked on threads.

    Raises:
        DataError: the file is cut short or damaged, after the text before that.
    """
    packing, position = packing_row(kind), 0
    pool: ThreadPoolExecutor | None = None
    guesses: dict[int, Future[_Run | None]] = {}
    with ExitStack() as ending:
        file = ending.enter_context(open(path, "rb")).fileno()
        size = os.fstat(file).st_size
        cells, reading = -(-size // CELL), Reading(size)
        if threads > 1:
            from concurrent.futures import ThreadPoolExecutor  # 5 ms, which plain text does without

            pool = ThreadPoolExecutor(min(threads, MOST))
            ending.callback(pool.shutdown, cancel_futures=True)
        while position < size:
            cell, run = position // CELL, None
            for near in range(cell + 1, min(cell + 1 + 2 * threads, cells)) if pool else ():
                if near not in guesses:
                    guesses[near] = pool.submit(_guessed, file, packing, near)  # type: ignore[union-attr]
            for past in [guess for guess in guesses if guess <= cell]:
                guess = guesses.pop(past)
                if past == cell:
                    run = guess.result()
                else:
                    guess.cancel()
            if run is None or run.begin != position:
                run = _Run(file, packing, position).unpack(STEP)
            while run.texts:
                taken, run.texts, end = run.texts, [], run.end
                later = None if run.done or pool is None else pool.submit(run.unpack, STEP)
                yield from taken
                reading.reach(end)
                if later is not None:
                    later.result()
                elif not run.done:
                    run.unpack(STEP)
            run.check(path)
            position = run.end


class _Text(io.RawIOBase):
    """Text of a packed file as a stream; seeking back begins anew."""

    def __init__(self, path: str, kind: str, threads: int):
        self._path, self._kind, self._threads = path, kind, threads
        self._begin()

    def _begin(self) -> None:
        self._parts, self._rest, self._position = texts(self._path, self._kind, self._threads), memoryview(b""), 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, or its start."""
        if not self._rest:
            self._rest = memoryview(next(self._parts, b""))
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        self._position += size
        return size

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte of the text from its start, or from here."""
        if whence == os.SEEK_END:
            raise io.UnsupportedOperation("the size of packed text is not known")
        offset += self._position if whence == os.SEEK_CUR else 0
        if offset < self._position:
            self._parts.close()
            self._begin()
        skipped = memoryview(bytearray(min(offset - self._position, TAKEN)))
        while self._position < offset and self.readinto(skipped[: offset - self._position]):
            pass
        return self._position

    def close(self) -> None:
        """End the threads and close the file."""
        self._parts.close()
        super().close()


@contextmanager
def unpacked(path: str, kind: str, threads: int = 1) -> Iterator[IO[bytes]]:
    """Open a file compressed with ``kind`` (``""``: plain) as a stream of its text.

    Args:
        path: the file.
        kind: ``gzip``, ``zstd`` or "".
        threads: that unpack it; with one, the caller does.

    Raises:
        UsageError: ``kind`` is zstd, and no library for it is installed.
        DataError: inside the block, if the compressed data are cut short or damaged.
    """
    if kind == "zstd":
        zstd_library()
    with open(path, "rb") if not kind else io.BufferedReader(_Text(path, kind, threads), FED) as file:
        yield file
