"""Values of the measures of similarity, and lists of the most similar vertices, for kernels."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import INNER

JACCARD, OVERLAP, SORENSEN, COSINE, ADAMIC_ADAR, RESOURCE_ALLOCATION = range(6)


@njit(**INNER)
def scaled(measure, total, one, two):
    """Return the similarity of vertices of two degrees whose common neighbours' shares sum to ``total``."""
    if measure > RESOURCE_ALLOCATION:
        return float(one) * float(two)
    return total if measure >= ADAMIC_ADAR or total == 0.0 else quotient(measure, total, one, two)


@njit(**INNER)
def quotient(measure, total, one, two):
    """Return the similarity of vertices that have common neighbours, of numbers or, as plain Python, of arrays."""
    if measure == JACCARD:
        return total / (one + two - total)
    if measure == OVERLAP:
        return total / np.minimum(one, two)
    if measure == SORENSEN:
        return 2 * total / (one + two)
    return total / np.sqrt(1.0 * one * two)


@njit(**INNER)
def inserted(best, values, row, filled, w, value):
    """Put vertex ``w`` into a row of ``filled`` vertices by falling value, then id, if it has a place there.

    Returns:
        The number of vertices in the row.
    """
    k, place = best.shape[1], filled
    while place and (values[row, place - 1] < value or (values[row, place - 1] == value and best[row, place - 1] > w)):
        place -= 1
    if place == k:
        return filled
    filled = min(filled + 1, k)
    for j in range(filled - 1, place, -1):
        best[row, j], values[row, j] = best[row, j - 1], values[row, j - 1]
    best[row, place], values[row, place] = w, value
    return filled
