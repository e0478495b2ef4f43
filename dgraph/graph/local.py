"""LocalGraph: what one rank works on. Masters first, then mirrors grouped by owner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dgraph.comm import Comm

PIECE = 1 << 16
"""Vertices that are compared at a time."""


@dataclass(frozen=True)
class Csr:
    """Rows of neighbours. ``offsets`` int64 (rows + 1,), ``neighbours`` uint32 lids, ``weights`` or None."""

    offsets: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray | None

    @property
    def arcs(self) -> int:
        """How many there are."""
        return len(self.neighbours)

    @property
    def weight_type(self) -> np.dtype | None:
        """The dtype of the weights; None: every arc weighs 1."""
        return None if self.weights is None else self.weights.dtype

    @cached_property
    def weight_range(self) -> tuple:
        """The smallest and the largest weight, in their dtype, and their sum, a float; there must be weights."""
        weights = self.weights
        if weights is None or not weights.size:
            return 0, 0, 0.0
        return weights.min(), weights.max(), float(weights.sum(dtype=np.float64))

    def row_sums(self) -> np.ndarray:
        """The sum of the weights of every row, float64 (rows,); there must be weights."""
        sums = np.zeros(len(self.offsets) - 1)
        filled = self.offsets[:-1] < self.offsets[1:]
        if filled.any():
            sums[filled] = np.add.reduceat(self.weights, self.offsets[:-1][filled], dtype=np.float64)  # type: ignore[arg-type]
        return sums


@dataclass(frozen=True)
class Mirrors:
    """The mirrors that one rank holds of another's masters, as both of them number them.

    Positions 0 .. count-1 are [column only | both | row only]: a mirror is a *column* where a local arc enters it
    and a *row* where a local arc leaves it; so columns and rows are both slices. Within a group gids ascend.

    Attributes:
        count: positions.
        columns: columns are ``0 .. columns``.
        rows: rows are ``rows .. count``.
        lids: on the owner's side, uint32 (count,): the master of each position. On the mirrors' side, None.
        first: on the mirrors' side, the lid of position 0.
    """

    count: int
    columns: int
    rows: int
    lids: np.ndarray | None = None
    first: int = 0

    def span(self, role: str) -> tuple[int, int]:
        """The positions of a role: ``row``, ``column``, ``any`` or ``none``."""
        return {"row": (self.rows, self.count), "column": (0, self.columns), "any": (0, self.count), "none": (0, 0)}[
            role
        ]

    def holding(self, lids: np.ndarray, low: int, high: int) -> np.ndarray:
        """On the owner's side: the positions in ``low .. high`` whose masters are among ``lids`` (each at most once).

        Costs a search a lid and group: for lids that are few against ``high - low``.
        """
        found = []
        for start, end in ((0, self.rows), (self.rows, self.columns), (self.columns, self.count)):
            start, end = max(start, low), min(end, high)
            if start < end:
                group = self.lids[start:end]  # type: ignore[index]
                at = np.minimum(np.searchsorted(group, lids), len(group) - 1)
                found.append(at[group[at] == lids] + start)
        return np.concatenate(found).astype(np.uint32) if found else np.empty(0, np.uint32)


@dataclass
class LocalGraph:
    """One rank's partition.

    Attributes:
        n, m, arcs: of the whole graph; an undirected edge is one of m, two of arcs.
        masters: vertices that this rank owns: lids 0 .. masters-1, by gid.
        gids: int64 (masters + mirrors,).
        original: int64, the original ids in the same order.
        out_degree: int64, in the whole graph, of masters and mirrors.
        out: local arcs by source, rows for masters and mirrors; in each, gids ascend.
        directed: False where every arc has its reverse (on whichever rank).
        mine: by peer, the mirrors that this rank holds of the peer's masters.
        theirs: by peer, the mirrors that the peer holds of this rank's masters.
        pull_requests: programs so far that would have pulled, had the in-edges been there.
        out_weight: the weighted out-degree of masters, once ``out_weights`` has found it.
    """

    n: int
    m: int
    arcs: int
    masters: int
    gids: np.ndarray
    original: np.ndarray
    out_degree: np.ndarray
    out: Csr
    directed: bool
    mine: dict[int, Mirrors] = field(default_factory=dict)
    theirs: dict[int, Mirrors] = field(default_factory=dict)
    pull_requests: int = 0
    out_weight: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Masters and mirrors."""
        return len(self.gids)

    @property
    def mirrors(self) -> int:
        return self.size - self.masters

    @cached_property
    def whole_rows(self) -> bool:
        """Whether every edge that leaves a master is here, and none that leaves a mirror."""
        here = int(self.out_degree[: self.masters].sum())
        return here == int(self.out.offsets[self.masters]) == len(self.out.neighbours)

    @cached_property
    def mirrors_pull(self) -> bool:
        """Whether a pull takes rows of mirrors: edges enter some, or leave some of a graph that is not directed."""
        role = "column" if self.directed else "row"
        spans = [side.span(role) for side in self.mine.values()]
        return any(first < last for first, last in spans)

    def degree_of(self, lid: int) -> int:
        """Edges that leave one vertex in the whole graph."""
        return int(self.out_degree[lid])

    @cached_property
    def largest_degree(self) -> int:
        """Edges that leave one vertex in the whole graph, at most; of masters and mirrors."""
        return int(self.out_degree.max(initial=0))

    @cached_property
    def incoming(self) -> Csr:
        """Local arcs by target; in each row, gids ascend. A graph whose arcs all have their reverse needs none: its
        ``out`` serves."""
        from dgraph.graph.rows import transpose

        mixed = self.out.offsets[self.masters] < self.out.arcs  # mirrors have rows, too
        order = np.argsort(self.gids).astype(np.uint32) if mixed else None
        return Csr(*transpose(self.size, self.out.offsets, self.out.neighbours, self.out.weights, order))

    @property
    def turned(self) -> bool:
        """Whether local arcs by target are there."""
        return not self.directed or "incoming" in self.__dict__

    @cached_property
    def by_id(self) -> bool:
        """Whether the smaller of two gids has the smaller original id."""
        pieces = [slice(first, first + PIECE + 1) for first in range(0, self.size, PIECE)]
        apart = (self.original[piece] - self.gids[piece] for piece in pieces)
        if all(np.all(each == self.original[0] - self.gids[0]) for each in apart):
            return True
        order = np.argsort(self.gids)
        return all(np.all(np.diff(self.original[order[piece]]) > 0) for piece in pieces)

    @cached_property
    def ascending(self) -> int:
        """Vertices, the first ones, whose original ids ascend: the masters, unless the graph is numbered otherwise."""
        ids = self.original[: self.masters]
        return self.masters if np.all(ids[1:] > ids[:-1]) else 0

    def lowest_edge(self, wrong: Callable[[np.ndarray], np.ndarray], comm: Comm) -> tuple[int, int, float] | None:
        """Source, target and weight of an edge whose weight is ``wrong``: of several the one of the lowest ids, source
        first; None where no rank has one. Collective."""
        weights = self.out.weights
        at = np.flatnonzero(wrong(weights)) if weights is not None else np.zeros(0, np.int64)
        mine = None
        if at.size:
            rows = np.searchsorted(self.out.offsets, at, side="right") - 1
            src, dst = self.original[rows], self.original[self.out.neighbours[at]]
            first = np.lexsort((dst, src))[0]
            mine = [int(src[first]), int(dst[first]), weights[at[first]].item()]  # type: ignore[index]
        found = [edge for edge in comm.allgather_json(mine) if edge]
        return tuple(min(found)) if found else None

    def owns(self, vertex: int) -> bool:
        """Whether a master has this original id."""
        return self.lid(vertex) is not None

    def lid(self, vertex: int) -> int | None:
        """The master that has this original id; None where it is another rank's, or nobody's."""
        ids = self.original[: self.masters]
        if not self.ascending:
            found = np.flatnonzero(ids == vertex)
            return int(found[0]) if found.size else None
        at = int(np.searchsorted(ids, vertex))
        return at if at < ids.size and ids[at] == vertex else None

    @cached_property
    def masters_read(self) -> np.ndarray:
        """Masters that other ranks hold rows of, and so read (uint32, ascending)."""
        read = np.zeros(self.masters, np.bool_)
        for side in self.theirs.values():
            read[side.lids[slice(*side.span("row"))]] = True  # type: ignore[index]
        return np.flatnonzero(read).astype(np.uint32)

    @cached_property
    def entering(self) -> np.ndarray:
        """Local arcs that enter each of the last vertices, uint32: those that may lack the reverse of such an arc in
        their own row. They are the mirrors where every master's row is whole, and else all."""
        from dgraph.graph.rows import count_columns

        return count_columns(self.out.neighbours, self.masters if self.whole_rows else 0, self.size)
