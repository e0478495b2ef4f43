"""Number tokens that ``scan.py`` leaves to others: their bytes, and the doubles nearest to them."""

from __future__ import annotations

import re

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.build.array_input import ROUNDED
from dgraph.graph.formats.scan import LARGEST

VANISHED = "some weights are too small for a double, below 4.9e-324: read as 0"
REMARKS = ROUNDED, VANISHED
"""Remarks on weights, in the order of the load line."""


def remarks_on(text: np.ndarray, spans: np.ndarray, values: np.ndarray) -> set[str]:
    """Return what is to be said of number tokens ``text[start:end]`` of int64 ``spans`` (k, 2), read as doubles."""
    remarks = {ROUNDED} if any_integer(text, spans) else set()
    zeros = tokens(text, spans[values == 0]).tolist()
    return remarks | ({VANISHED} if any(re.match(rb"[^eE]*[1-9]", word) for word in zeros) else set())


def correctly_rounded(text: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Return the doubles nearest to the number tokens ``text[start:end]`` of int64 ``spans`` (k, 2)."""
    numbers = np.empty(len(spans))
    step = max(1, (1 << 22) // int((spans[:, 1] - spans[:, 0]).max(initial=1)))
    for first in range(0, len(spans), step):
        part = spans[first : first + step]
        numbers[first : first + step] = tokens(text, part).astype(np.float64)
    return numbers


def tokens(text: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Return the bytes ``text[start:end]`` of int64 ``spans`` (k, 2), as an array of bytes of one width."""
    width = max(1, int((spans[:, 1] - spans[:, 0]).max(initial=1)))
    letters = np.zeros((len(spans), width), np.uint8)
    copy_tokens(text, spans, letters)
    return letters.view(f"S{width}")[:, 0]


@njit(cache=True)
def any_integer(text, spans):
    """Return True if a number token ``text[start:end]`` of int64 ``spans`` (k, 2) is written as an integer."""
    for i in range(spans.shape[0]):
        plain = spans[i, 1] > spans[i, 0]
        for j in range(spans[i, 0], spans[i, 1]):
            plain = plain and (np.uint8(48) <= text[j] <= np.uint8(57) or text[j] == 43 or text[j] == 45)
        if plain:
            return True
    return False


def all_whole(text: np.ndarray, spans: np.ndarray) -> bool:
    """Return True if all number tokens ``text[start:end]`` of int64 ``spans`` (k, 2) are integers that fit 63 bits."""
    unsigned = [word.lstrip(b"+-") for word in tokens(text, spans).tolist()]
    return all(word.isdigit() and len(word.lstrip(b"0")) < 20 and int(word[-19:]) <= LARGEST for word in unsigned)


def _copy_few_tokens(text, spans, words):
    places = spans[:, :1] + np.arange(words.shape[1])
    within = places < spans[:, 1:]
    words[within] = text[places[within]]


@njit(cache=True, nogil=True, few=_copy_few_tokens)
def copy_tokens(text, spans, letters):
    """Store ``text[start:end]`` of every span at the start of a row of ``letters``."""
    for i in range(spans.shape[0]):
        for j in range(spans[i, 0], spans[i, 1]):
            letters[i, j - spans[i, 0]] = text[j]
