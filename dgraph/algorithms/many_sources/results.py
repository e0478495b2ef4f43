"""Results of searches from many sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from dgraph.errors import DataError
from dgraph.graph.halo import NumberedRows
from dgraph.result.columns import UNREACHED, Column, FieldColumn

ENDLESS = np.iinfo(np.int64).max

LEVELS, BITS = "levels", "bits"
"""What a search keeps of each source: distances, or which vertices it reaches."""


class SourceSearch(Protocol):
    """Algorithm that searches from many sources.

    Attributes:
        name: its name.
        keep: ``LEVELS``, ``BITS``, or neither.
        limit: largest distance; None: there is no limit.
    """

    name: str
    keep: str
    limit: Any


def hops(limit: int | None) -> int:
    """Return the largest number of hops."""
    return ENDLESS if limit is None else limit


@dataclass
class ReachedVertices:
    """Result of searches from many sources, by master.

    Attributes:
        far: sum of the distances from the sources that reach the vertex, int64, or float64 by weights (masters,).
        reached: number of sources other than itself that reach it, int64 (masters,). Both are undefined where
            columns are kept.
        pairs: number of pairs of a source and a vertex that it reaches, itself too, on all ranks; 0 without columns.
        depth: largest distance in hops; None by weights.
        columns: column of each source, if they are kept.
    """

    far: np.ndarray
    reached: np.ndarray
    pairs: int = 0
    depth: int | None = None
    columns: list[Column] = field(default_factory=list)


class KeptSources:
    """Columns that a search by hops keeps of each source, by master.

    Attributes:
        levels: distance from each source, int32 (masters, sources), -1 where there is no path; (masters, 0) unless
            they are kept.
        bits: a bit for each source, set where it reaches the vertex, uint64 (masters, words); (masters, 0) unless
            they are kept.
    """

    def __init__(self, masters: int, sources: int, keep: str, word: int = 64):
        """Allocate the table; ``word``: sources of a word of ``bits``."""
        self.levels = np.full((masters, sources if keep == LEVELS else 0), -1, np.int32)
        self.bits = np.zeros((masters, -(-sources // word) if keep == BITS else 0), np.uint64)
        self._places = [divmod(i, word) for i in range(sources if keep == BITS else 0)]

    def columns(self) -> list[Column]:
        """Return a column for each source, int64: hops or ``UNREACHED``, or 1 and 0; none if nothing is kept."""
        levels: list[Column] = [_column(level, hops_of) for level in self.levels.T]
        return levels + [_column(self.bits[:, word], partial(_bit, place)) for word, place in self._places]


def decoded(seen: np.ndarray, digits: Iterable[np.ndarray], place: Any) -> np.ndarray:
    """Return levels, int32, of the bits ``place`` of words: -1 where ``seen`` is 0, else those of their digits."""
    levels = np.zeros(np.broadcast_shapes(seen.shape, np.shape(place)), np.int32)
    for b, digit in enumerate(digits):
        levels |= (digit >> place & 1).astype(np.int32) << b
    return np.where(seen >> place & 1, levels, -1)


def _column(values: np.ndarray, convert: Any) -> FieldColumn:
    return FieldColumn({"values": values}, "values", convert)


def hops_of(levels: Any) -> Any:
    """Return levels as int64, ``UNREACHED`` where they are negative."""
    return np.where(levels < 0, UNREACHED, levels.astype(np.int64))


def _bit(place: int, words: Any) -> Any:
    return (words >> np.uint64(place) & np.uint64(1)).astype(np.int64)


def put_rows(table: np.ndarray, first: int, rows: np.ndarray) -> None:
    """Write rows to the columns of ``table`` from ``first`` on; those beyond its end belong to no source."""
    table[:, first : first + len(rows)] = rows[: max(table.shape[1] - first, 0)].T


@dataclass
class Summed:
    """Dependencies summed over sources.

    Attributes:
        sums: by master, float64 (masters,).
        depth: largest distance in hops from a source; None: it is unknown.
        arcs: sums of kept arcs, float64; empty unless they were requested.
        replica: the graph, which numbers these arcs.
    """

    sums: Any
    depth: int | None = None
    arcs: np.ndarray = field(default_factory=lambda: np.zeros(0))
    replica: NumberedRows | None = None

    def scaled(self, lids: np.ndarray, own: float, others: float) -> Column:
        """Return the column of sums times ``own`` at ``lids``, and times ``others`` elsewhere, made when it is read."""
        return partial(_scaled, self.sums, lids, own, others)


def _scaled(sums: np.ndarray, lids: np.ndarray, own: float, others: float) -> np.ndarray:
    """Return sums times ``own`` at ``lids``, and times ``others`` elsewhere."""
    values = sums * others
    values[lids] = sums[lids] * own
    return values


def add_parts(sums: np.ndarray, parts: list[np.ndarray]) -> None:
    """Add the rows of each rank's part in their order."""
    for part in parts:
        for row in part:
            sums += row


def paths_differ(sources: np.ndarray) -> DataError:
    """Return the error of a batch of sources whose numbers of shortest paths differ too much."""
    return DataError(
        f"bc counts shortest paths, and their numbers to vertices at one distance from one of the sources "
        f"{sources.tolist()} differ by a factor of more than 2^900, which float64 does not hold; take a part of the "
        "graph, or edges with fewer shortest paths of equal length"
    )
