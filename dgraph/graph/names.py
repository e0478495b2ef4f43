"""Vertices that are called by words: a sorted table of names, spread over the ranks. A name's number is its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import methodcaller

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import UsageError

CHUNK = 1 << 16
"""names that a rank asks for at a time"""
SAMPLES = 1024
"""names that each rank shows the others, to agree who holds what"""


ENCODING = ("utf-8", "surrogateescape")
"""of names in files; bytes that are no UTF-8 come back as they were"""


@dataclass(frozen=True)
class Names:
    """All names, ascending by their bytes; no two are equal.

    Attributes:
        here: this rank's, bytes of one width on all ranks (dtype S), shape (k,).
        starts: int64, shape (P + 1,): the number of each rank's first name, then how many there are.
    """

    here: np.ndarray
    starts: np.ndarray

    def of(self, numbers: np.ndarray, comm: Comm) -> np.ndarray:
        """The names of these numbers, str (dtype object), None for -1; collective."""
        return spelled(self.words(numbers, comm))

    def words(self, numbers: np.ndarray, comm: Comm) -> np.ndarray:
        """The names of these numbers as bytes (dtype S), none (``b""``) for -1; collective, a chunk at a time."""
        out = np.zeros(numbers.size, self.here.dtype)
        known = np.flatnonzero(numbers >= 0)
        for step in range(comm.largest(-(-known.size // CHUNK))):
            part = known[step * CHUNK : (step + 1) * CHUNK]
            wanted = numbers[part].astype(np.int64)
            owner = np.searchsorted(self.starts, wanted, side="right") - 1
            order = np.argsort(owner, kind="stable")
            cuts = np.searchsorted(owner[order], np.arange(comm.size + 1))
            asked = comm.alltoallv([wanted[order[cuts[r] : cuts[r + 1]]] for r in range(comm.size)])
            found = [self.here[each - self.starts[comm.rank]] for each in asked]
            out[part[order]] = np.concatenate(swapped(found, self.here.dtype, comm))
        return out

    def find(self, names: Sequence[str], comm: Comm) -> list[int]:
        """The numbers of names, which every rank passes alike; collective.

        Raises:
            UsageError: a name that no vertex has.
        """
        numbers = np.full(len(names), -1, np.int64)
        for i, name in enumerate(names):
            word = name.encode(*ENCODING)
            at = int(np.searchsorted(self.here, np.bytes_(word)))
            if at < self.here.size and self.here[at] == word:
                numbers[i] = self.starts[comm.rank] + at
        numbers = comm.allreduce(numbers, "max")
        for name, number in zip(names, numbers.tolist(), strict=True):
            if number < 0:
                raise UsageError(f"{name!r} is no vertex of the graph; it has {int(self.starts[-1])} names; pick one")
        return [int(number) for number in numbers]


def number_names(words: np.ndarray, comm: Comm) -> tuple[Names, np.ndarray]:
    """Number the distinct ``words`` (dtype S, ascending, distinct here) of all ranks; collective.

    Returns:
        the table of all names, and the number of each of the words, int64.
    """
    width = comm.largest(max(words.itemsize, 1))
    words = words.astype(f"S{width}")
    shown = words[:: max(1, words.size // SAMPLES)]
    sample = np.sort(np.concatenate(swapped([shown] * comm.size, words.dtype, comm)))
    splitters = sample[sample.size * np.arange(1, comm.size) // comm.size] if sample.size else words[:0]
    inner = np.searchsorted(words, splitters) if sample.size else np.zeros(comm.size - 1, np.int64)
    cuts = np.concatenate([[0], inner, [words.size]])
    parts = [words[cuts[r] : cuts[r + 1]] for r in range(comm.size)]
    came = swapped(parts, words.dtype, comm)
    here = np.unique(np.concatenate(came))
    starts = np.concatenate([[0], np.cumsum(comm.allgather(np.array([here.size], np.int64))[:, 0])])
    answers = [starts[comm.rank] + np.searchsorted(here, part) for part in came]
    return Names(here, starts), np.concatenate(comm.alltoallv([each.astype(np.int64) for each in answers]))


def spelled(words: np.ndarray) -> np.ndarray:
    """Names as str (dtype object), None where there is none (``b""``), a chunk at a time.

    Objects, as pandas has them: an array of dtype U takes four bytes a row for every character of the longest name.
    """
    out = np.empty(words.size, object)
    for begin, text in texts(words):
        out[begin : begin + len(text)] = text
    out[words == b""] = None
    return out


def texts(words: np.ndarray) -> Iterator[tuple[int, list[str]]]:
    """Names as str, a chunk at a time, each with the place of its first."""
    for begin in range(0, words.size, CHUNK):
        yield begin, list(map(methodcaller("decode", *ENCODING), words[begin : begin + CHUNK].tolist()))


def swapped(parts: list[np.ndarray], dtype: np.dtype, comm: Comm) -> list[np.ndarray]:
    """Arrays of words of one dtype, to every rank its own; what each rank gave to this one."""
    raw = [np.ascontiguousarray(part).view(np.uint8) if part.size else np.empty(0, np.uint8) for part in parts]
    return [part.view(dtype) for part in comm.alltoallv(raw)]
