"""Results of searches from many sources; what an estimate of memory gets in their place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dgraph.errors import DataError
from dgraph.result.columns import UNREACHED, FieldColumn

ENDLESS = np.iinfo(np.int64).max

LEVELS, BITS = "levels", "bits"
"""What a search keeps of each source."""


@dataclass
class Reached:
    """Result of searches from many sources, by master.

    Attributes:
        far: sum of the distances from the sources that reach the vertex, int64 (masters,).
        reached: number of sources other than itself that reach it, int64 (masters,). Where levels or bits are kept,
            a GPU leaves ``far`` and ``reached`` empty.
        pairs: number of pairs of a source and one of this rank's masters that it reaches, itself too.
        depth: largest distance.
        levels: distance from each source, int32 (masters, sources), -1 where there is no path; (masters, 0) unless
            requested.
        bits: a bit for each source, set where it reaches the vertex, uint64 (masters, words); (masters, 0) unless
            requested.
        word: sources of a word of ``bits``.
    """

    far: np.ndarray
    reached: np.ndarray
    pairs: int
    depth: int
    levels: np.ndarray
    bits: np.ndarray
    word: int = 64

    def hops(self) -> list[FieldColumn]:
        """Return a column for each source from ``levels``: int64, ``UNREACHED`` without a path."""
        return [self._column(self.levels[:, i], hops_of) for i in range(self.levels.shape[1])]

    def marks(self, sources: int) -> list[FieldColumn]:
        """Return a column for each source from ``bits``: int64, 1 or 0."""
        places = (divmod(i, self.word) for i in range(sources))
        return [self._column(self.bits[:, word], partial(_bit, place)) for word, place in places]

    def _column(self, values: Any, convert: Callable[[Any], Any]) -> FieldColumn:
        return FieldColumn({"values": values}, "values", convert)


def hops_of(levels: Any) -> Any:
    """Return levels as int64, ``UNREACHED`` where they are negative."""
    return np.where(levels < 0, UNREACHED, levels.astype(np.int64))


def _bit(place: int, words: Any) -> Any:
    return (words >> np.uint64(place) & np.uint64(1)).astype(np.int64)


def tables(masters: int, sources: int, keep: str, word: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Return ``levels`` and ``bits`` of :class:`Reached` before a search that is to keep one of them, or neither."""
    levels = np.full((masters, sources if keep == LEVELS else 0), -1, np.int32)
    return levels, np.zeros((masters, -(-sources // word) if keep == BITS else 0), np.uint64)


class NothingReached:
    """Kernel that reaches nothing."""

    def search(self, ctx, sources: np.ndarray, *, keep: str = "", limit: int = ENDLESS) -> Reached:
        """Return distances of unreached vertices."""
        masters, none = ctx.local.masters, np.zeros(ctx.local.masters, np.int64)
        return Reached(none, none, 0, 0, *tables(masters, len(sources), keep))


@dataclass
class Summed:
    """Dependencies summed over sources.

    Attributes:
        sums: by master, float64 (masters,).
        depth: largest distance from a source.
    """

    sums: Any
    depth: int

    def scaled(self, lids: np.ndarray, own: float, others: float) -> FieldColumn:
        """Return the sums times ``own`` at ``lids``, and times ``others`` elsewhere."""
        values = self.sums * others
        values[lids] = self.sums[lids] * own
        return FieldColumn({"sums": values}, "sums")


def paths_differ(sources: np.ndarray) -> DataError:
    """Return the error of a batch of sources whose numbers of shortest paths differ too much."""
    return DataError(
        f"bc counts shortest paths, and their numbers to vertices at one distance from one of the sources "
        f"{sources.tolist()} differ by a factor of more than 2^900, which float64 does not hold; take a part of the "
        "graph, or edges with fewer shortest paths of equal length"
    )


class NothingSummed:
    """Kernel without dependencies."""

    def search(self, ctx, sources: np.ndarray, *, endpoints: bool = False) -> Summed:
        """Return zeros."""
        return Summed(np.zeros(ctx.local.masters), 0)
