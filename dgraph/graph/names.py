"""Vertex names: a sorted table of words, distributed over the ranks. A name's number is its position.

:func:`number_names` builds the table by a sample sort; ``named_ids.py`` uses the numbers as ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from operator import methodcaller

import numpy as np

from dgraph.comm.base import Comm
from dgraph.comm.owner_directed import fetch, swap
from dgraph.errors import SHOWN, UsageError, shown

CHUNK = 1 << 16
"""Names that a rank looks up at a time."""
SAMPLES = 1024
"""Names that each rank contributes to the sample from which all ranks compute the splitters."""


NEAREST = 3
"""Names that an error about an unknown one shows."""
COMPARED = 1 << 17
"""Characters of names that a rank compares with an unknown one: 0.3 s at most."""

ENCODING = ("utf-8", "surrogateescape")
"""Encoding of names in files; bytes that are not UTF-8 are preserved."""


@dataclass(frozen=True)
class Names:
    """All names, ascending by their bytes; no two are equal.

    Attributes:
        here: this rank's names, bytes of one width on all ranks (dtype S), shape (k,).
        starts: int64, shape (P + 1,): the number of each rank's first name, then the number of all names.
    """

    here: np.ndarray
    starts: np.ndarray

    def of(self, numbers: np.ndarray, comm: Comm) -> np.ndarray:
        """Return the names of these numbers, str (dtype object), None for -1; collective."""
        return decode_names(self.words(numbers, comm))

    def words(self, numbers: np.ndarray, comm: Comm) -> np.ndarray:
        """Return the names of these numbers as bytes (dtype S), ``b""`` for -1; collective, a chunk at a time."""
        answers = np.zeros(numbers.size, self.here.dtype)
        valid = np.flatnonzero(numbers >= 0)
        for step in range(comm.largest(-(-valid.size // CHUNK))):
            part = valid[step * CHUNK : (step + 1) * CHUNK]
            wanted = numbers[part].astype(np.int64)
            owner = np.searchsorted(self.starts, wanted, side="right") - 1
            (answers[part],) = fetch(comm, owner, wanted, lambda asked: (self.here[asked - self.starts[comm.rank]],))
        return answers

    def find(self, names: Sequence[str], comm: Comm) -> list[int]:
        """Return the numbers of names, equal on every rank; collective.

        Raises:
            UsageError: a name that no vertex has.
        """
        numbers = self.lookup(names, comm)
        for name, number in zip(names, numbers, strict=True):
            if number < 0:
                raise self.unknown(name, comm)
        return numbers

    def lookup(self, names: Sequence[str], comm: Comm) -> list[int]:
        """Return the numbers of names, -1 for a name that no vertex has, equal on every rank; collective."""
        numbers = np.full(len(names), -1, np.int64)
        for i, name in enumerate(names):
            word = name.encode(*ENCODING)
            position = int(np.searchsorted(self.here, np.bytes_(word)))
            if position < self.here.size and self.here[position] == word:
                numbers[i] = self.starts[comm.rank] + position
        return comm.allreduce(numbers, "max").tolist()

    def unknown(self, name: str, comm: Comm) -> UsageError:
        """Return the error for a name that no vertex has, with the nearest names; collective."""
        count, near = int(self.starts[-1]), self.nearest(name, comm)
        if near:
            hint = f"the nearest of its {count} names {'is' if len(near) == 1 else 'are'} {', '.join(map(repr, near))}"
        else:
            hint = f"it has {count} names, and none that was compared is like it"
        return UsageError(f"{shown(name)} is not a vertex of the graph; {hint}")

    def nearest(self, name: str, comm: Comm) -> list[str]:
        """Return names like ``name``, the most like it first, equal on every rank; collective.

        Each rank compares a bounded number of names: those around ``name``, and around it in other cases and without
        outer blanks, in the order of their bytes.
        """
        near = most_like(name, self.here)
        gathered = np.concatenate(swap(comm, [near] * comm.size))
        return decode_names(most_like(name, np.sort(gathered))).tolist()


def number_names(words: np.ndarray, comm: Comm) -> tuple[Names, np.ndarray]:
    """Assign ascending numbers to the distinct ``words`` of all ranks; collective.

    Args:
        words: dtype S, ascending and distinct on this rank.
        comm: communicator of the ranks.

    Returns:
        The table of all names, and the number of each of the words, int64.
    """
    width = comm.largest(max(words.itemsize, 1))
    words = words.astype(f"S{width}", copy=False)
    if comm.size == 1:
        return Names(words, np.array([0, words.size])), np.arange(words.size)
    mine = words[:: max(1, words.size // SAMPLES)]
    sample = np.sort(np.concatenate(swap(comm, [mine] * comm.size)))
    splitters = sample[sample.size * np.arange(1, comm.size) // comm.size] if sample.size else words[:0]
    inner = np.searchsorted(words, splitters) if sample.size else np.zeros(comm.size - 1, np.int64)
    cuts = np.concatenate([[0], inner, [words.size]])
    parts = [words[cuts[r] : cuts[r + 1]] for r in range(comm.size)]
    came = swap(comm, parts)
    here = np.unique(np.concatenate(came))
    starts = np.concatenate([[0], np.cumsum(comm.allgather(np.array([here.size], np.int64))[:, 0])])
    answers = [starts[comm.rank] + np.searchsorted(here, part) for part in came]
    return Names(here, starts), np.concatenate(comm.alltoallv([answer.astype(np.int64) for answer in answers]))


def most_like(name: str, words: np.ndarray) -> np.ndarray:
    """Return the words most like a name, at most ``NEAREST``, from the most like on.

    Args:
        name: the name; above ``SHOWN`` characters nothing is compared.
        words: dtype S, ascending. Compared are those around each form of the name: ``COMPARED`` characters in all.
    """
    forms = [form(name).encode(*ENCODING) for form in (str, str.lower, str.upper, str.title, str.strip)]
    if not words.size or len(name) > SHOWN:
        return words[:0]
    reach = COMPARED // (2 * len(forms) * max(len(name), 1))
    places = np.searchsorted(words, np.array(forms))[:, None] + np.arange(-reach, reach)
    places = np.unique(places.clip(0, words.size - 1))
    folded: dict[str, list[int]] = {}
    for place, text in zip(places.tolist(), decode_names(words[places]), strict=True):
        folded.setdefault(text.casefold(), []).append(place)
    close = get_close_matches(name.casefold(), folded, NEAREST)
    return words[[place for text in close for place in folded[text]][:NEAREST]]


def decode_names(words: np.ndarray) -> np.ndarray:
    """Return names as str (dtype object), None for ``b""``, decoded a chunk at a time.

    Dtype object, as in pandas: dtype U would take four bytes a row for every character of the longest name.
    """
    names = np.empty(words.size, object)
    for begin, text in decoded_chunks(words):
        names[begin : begin + len(text)] = text
    names[words == b""] = None
    return names


def decoded_chunks(words: np.ndarray) -> Iterator[tuple[int, list[str]]]:
    """Yield names as lists of str, a chunk at a time, each with the position of its first."""
    for begin in range(0, words.size, CHUNK):
        yield begin, list(map(methodcaller("decode", *ENCODING), words[begin : begin + CHUNK].tolist()))
