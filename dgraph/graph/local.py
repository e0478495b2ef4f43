"""``LocalGraph``: the partition that one rank works on. Masters come first, then mirrors grouped by owner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph._support.affinity import cores
from dgraph._support.threads import extremes, in_order

if TYPE_CHECKING:
    from dgraph.comm import Comm

PIECE = 1 << 16
"""Vertices compared at a time."""


WEIGHTS = 1 << 20
"""Weights measured at a time."""


def _weight_figures(weights: np.ndarray) -> tuple:
    low, high = weights.min(), weights.max()
    narrow = weights.dtype == np.int32 and max(-int(low), int(high)) * weights.size < 1 << 31  # a third of the time
    with np.errstate(over="ignore"):
        return low, high, float(weights.sum(dtype=np.int32 if narrow else np.float64))


@dataclass(frozen=True)
class Csr:
    """Rows of neighbours in compressed form.

    Attributes:
        offsets: int64 (rows + 1,), from 0.
        neighbours: uint32 lids (arcs,), row after row.
        weights: in the order of ``neighbours``; None if every arc weighs 1.
    """

    offsets: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray | None

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return len(self.neighbours)

    @cached_property
    def hints(self) -> np.ndarray:
        """Neighbour in each row where the pulls of CPU threads look first, uint32 (rows,); they write it, too."""
        return np.zeros(len(self.offsets) - 1, np.uint32)

    @cached_property
    def layouts(self) -> dict[str, Any]:
        """Layouts of these rows that solvers keep for later calls, by the solver's name."""
        return {}

    @cached_property
    def agreed(self) -> dict[str, Any]:
        """Facts of the partition, by name, that its ranks agreed on for later calls; equal on all ranks."""
        return {}

    @property
    def weight_type(self) -> np.dtype | None:
        """Dtype of the weights; None if every arc weighs 1."""
        return None if self.weights is None else self.weights.dtype

    @cached_property
    def weight_range(self) -> tuple:
        """Smallest and largest weight, in their dtype, and the sum as a float; for weighted graphs."""
        return self.measured(1)

    def measured(self, threads: int) -> tuple:
        """Return :attr:`weight_range`, which threads measure at the first call; the sum is that of any number."""
        if "weight_range" in self.__dict__:
            return self.weight_range
        weights, figures = self.weights, (0, 0, 0.0)
        if weights is not None and weights.size:
            pieces = (weights[first : first + WEIGHTS] for first in range(0, weights.size, WEIGHTS))
            lows, highs, sums = zip(*in_order(_weight_figures, pieces, threads), strict=True)
            figures = np.minimum.reduce(lows), np.maximum.reduce(highs), sum(sums)
        self.__dict__["weight_range"] = figures
        return figures

    @cached_property
    def simple_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Offsets and uint32 neighbours without loops and repeated neighbours; the same arrays where there are none."""
        offsets, neighbours = self.offsets, self.neighbours.view(np.uint32)
        rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets))
        kept = rows != neighbours
        kept[1:] &= (neighbours[1:] != neighbours[:-1]) | (rows[1:] != rows[:-1])
        if kept.all():
            return offsets, neighbours
        lengths = np.bincount(rows[kept].astype(np.int64), minlength=len(offsets) - 1)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), neighbours[kept]

    def row_sums(self) -> np.ndarray:
        """Return the sum of the weights of every row, float64 (rows,); for weighted graphs."""
        sums = np.zeros(len(self.offsets) - 1)
        filled = self.offsets[:-1] < self.offsets[1:]
        if filled.any():
            sums[filled] = np.add.reduceat(self.weights, self.offsets[:-1][filled], dtype=np.float64)  # type: ignore[arg-type]
        return sums


@dataclass(frozen=True)
class Mirrors:
    """Mirrors that one rank holds of another's masters, in the numbering that both ranks use.

    Positions 0 .. count-1 are [column only | both | row only]: a mirror is a *column* if a local arc enters it and a
    *row* if a local arc leaves it. So columns and rows are both slices. Within a group gids ascend.

    Attributes:
        count: positions.
        columns: columns are ``0 .. columns``.
        rows: rows are ``rows .. count``.
        lids: on the owner's side, uint32 (count,): the master of each position. On the mirrors' side, None.
        first: on the mirrors' side, the lid of position 0.
        turned: True in a reversed graph, where columns are rows and rows are columns.
    """

    count: int
    columns: int
    rows: int
    lids: np.ndarray | None = None
    first: int = 0
    turned: bool = False

    def span(self, role: str) -> tuple[int, int]:
        """Return the positions of a role: ``row``, ``column``, ``any`` or ``none``.

        Columns begin at 0 and rows end at ``count``. In a reversed graph all positions count as both, unless all are of
        one role.
        """
        columns, rows, count = self.columns, self.rows, self.count
        if self.turned:
            columns, rows = 0 if self.rows == count else count, count if self.columns == 0 else 0
        return {"row": (rows, count), "column": (0, columns), "any": (0, count), "none": (0, 0)}[role]

    def holding(self, lids: np.ndarray, low: int, high: int) -> np.ndarray:
        """Return, on the owner's side, the positions in ``low .. high`` whose masters are among ``lids``.

        ``lids`` holds each lid at most once. The cost is one binary search per lid and group: use it for few lids.
        """
        parts = []
        for start, end in ((0, self.rows), (self.rows, self.columns), (self.columns, self.count)):
            start, end = max(start, low), min(end, high)
            if start < end:
                group = self.lids[start:end]  # type: ignore[index]
                positions = np.minimum(np.searchsorted(group, lids), len(group) - 1)
                parts.append(positions[group[positions] == lids] + start)
        return np.concatenate(parts).astype(np.uint32) if parts else np.empty(0, np.uint32)


@dataclass
class LocalGraph:
    """One rank's partition.

    Attributes:
        n, m, arcs: of the whole graph; an undirected edge is one of m, two of arcs.
        masters: number of vertices that this rank owns: lids 0 .. masters-1, by gid.
        gids: int64 (masters + mirrors,).
        original: int64, the original ids in the same order.
        out_degree: int64, in the whole graph, of masters and mirrors.
        out: local arcs by source, rows for masters and mirrors; in each row gids ascend.
        directed: False if every arc has its reverse (on any rank).
        own_mirrors: by peer, the mirrors that this rank holds of the peer's masters.
        peer_mirrors: by peer, the mirrors that the peer holds of this rank's masters.
        pull_requests: programs so far that would have pulled if the in-edges had been built.
        out_weight: the weighted out-degree of masters, cached by ``out_weights``.
        in_degree: the in-degrees of masters and mirrors, cached by ``in_degrees``.
        incoming_from: makes ``incoming`` from the in-edges before a change of the graph; None: ``out`` is transposed.
        turned: the reversed partition, cached by ``reversed_graph``.
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
    own_mirrors: dict[int, Mirrors] = field(default_factory=dict)
    peer_mirrors: dict[int, Mirrors] = field(default_factory=dict)
    pull_requests: int = 0
    out_weight: np.ndarray | None = None
    in_degree: np.ndarray | None = None
    incoming_from: Callable[[], Csr] | None = None
    turned: LocalGraph | None = None

    @property
    def size(self) -> int:
        """Number of masters and mirrors."""
        return len(self.gids)

    @property
    def mirrors(self) -> int:
        """Number of mirrors."""
        return self.size - self.masters

    @cached_property
    def whole_rows(self) -> bool:
        """True if all out-edges of masters are on this rank, and none of mirrors."""
        return bool(self.out_degree[: self.masters].sum() == self.out.offsets[self.masters] == self.out.arcs)

    @cached_property
    def mirrors_pull(self) -> bool:
        """True if a pull reads rows of mirrors: in-edges of mirrors, or out-edges if the graph is undirected."""
        role = "column" if self.directed else "row"
        spans = [side.span(role) for side in self.own_mirrors.values()]
        return any(first < last for first, last in spans)

    @cached_property
    def out_weight_range(self) -> tuple[float, float]:
        """Smallest and largest of the weighted out-degrees that are not 0; 1.0 twice if there are none."""
        assert self.out_weight is not None
        some = self.out_weight[self.out_weight != 0]
        return (float(some.min()), float(some.max())) if some.size else (1.0, 1.0)

    def degree_of(self, lid: int) -> int:
        """Return the out-degree of one vertex in the whole graph."""
        return int(self.out_degree[lid])

    @cached_property
    def largest_degree(self) -> int:
        """Largest out-degree, in the whole graph, of masters and mirrors."""
        return extremes(self.out_degree, cores())[1] if self.size else 0

    @cached_property
    def incoming(self) -> Csr:
        """Local in-edges (CSC), built at first use; in each row gids ascend.

        A graph whose arcs all have their reverse does not need it: use ``out``.
        """
        if self.incoming_from is not None:
            make, self.incoming_from = self.incoming_from, None
            return make()
        from dgraph.graph.rows import transpose

        mixed = self.out.offsets[self.masters] < self.out.arcs  # some mirrors have rows: lids are not in gid order
        order = np.argsort(self.gids).astype(np.uint32) if mixed else None
        return Csr(*transpose(self.size, self.out.offsets, self.out.neighbours, self.out.weights, order))

    @property
    def has_incoming(self) -> bool:
        """True if local in-edges are available without building them."""
        return not self.directed or "incoming" in self.__dict__ or self.incoming_from is not None

    @cached_property
    def by_id(self) -> bool:
        """True if the smaller of two gids has the smaller original id."""
        pieces = [slice(first, first + PIECE + 1) for first in range(0, self.size, PIECE)]
        apart = (self.original[piece] - self.gids[piece] for piece in pieces)
        if all(np.all(ids == self.original[0] - self.gids[0]) for ids in apart):
            return True
        order = np.argsort(self.gids)
        return all(np.all(np.diff(self.original[order[piece]]) > 0) for piece in pieces)

    @cached_property
    def repeats(self) -> bool:
        """True if a row of this rank names a neighbour twice."""
        offsets, neighbours = self.out.offsets, self.out.neighbours
        again = neighbours[1:] == neighbours[:-1]
        ends = offsets[1:-1]
        again[ends[(ends > 0) & (ends < len(neighbours))] - 1] = False
        return bool(again.any())

    @cached_property
    def ascending(self) -> int:
        """Number of leading vertices whose original ids ascend: all masters, or 0 if the graph was renumbered."""
        ids = self.original[: self.masters]
        return self.masters if np.all(ids[1:] > ids[:-1]) else 0

    @cached_property
    def ascending_order(self) -> np.ndarray | None:
        """Permutation of the masters by which original ids ascend; None if they do."""
        return None if self.ascending else np.argsort(self.original[: self.masters])

    def owners(self, rank: int) -> np.ndarray:
        """Return the rank that owns each vertex here, int32 (masters + mirrors,); ``rank`` is this one."""
        owner = np.full(self.size, rank, np.int32)
        for peer, side in self.own_mirrors.items():
            owner[side.first : side.first + side.count] = peer
        return owner

    @cached_property
    def largest_id(self) -> int:
        """Largest original id of this rank's vertices; -1 if it has none."""
        return int(self.original.max(initial=-1))

    def lowest_edge(self, wrong: Callable[[np.ndarray], np.ndarray], comm: Comm) -> tuple[int, int, float] | None:
        """Return source, target and weight of the edge of lowest ids whose weight is ``wrong``; collective.

        Edges are compared by source, then target. None if no rank has such an edge.
        """
        weights = self.out.weights
        arcs = np.flatnonzero(wrong(weights)) if weights is not None else np.zeros(0, np.int64)
        mine = None
        if arcs.size:
            rows = np.searchsorted(self.out.offsets, arcs, side="right") - 1
            src, dst = self.original[rows], self.original[self.out.neighbours[arcs]]
            first = np.lexsort((dst, src))[0]
            mine = [int(src[first]), int(dst[first]), weights[arcs[first]].item()]  # type: ignore[index]
        edges = [edge for edge in comm.allgather_json(mine) if edge]
        return tuple(min(edges)) if edges else None

    def owns(self, vertex: int) -> bool:
        """Return True if a master has this original id."""
        return self.lid(vertex) is not None

    def lid(self, vertex: int) -> int | None:
        """Return the master that has this original id; None if no master of this rank has it."""
        ids = self.original[: self.masters]
        if not self.ascending:
            masters = np.flatnonzero(ids == vertex)
            return int(masters[0]) if masters.size else None
        position = int(ids.searchsorted(vertex))
        return position if position < ids.size and ids[position] == vertex else None

    @cached_property
    def masters_read(self) -> np.ndarray:
        """Masters of which other ranks hold row mirrors (uint32, ascending): other ranks read their values."""
        read = np.zeros(self.masters, np.bool_)
        for side in self.peer_mirrors.values():
            read[side.lids[slice(*side.span("row"))]] = True  # type: ignore[index]
        return np.flatnonzero(read).astype(np.uint32)

    @cached_property
    def entering(self) -> np.ndarray:
        """Number of local arcs that enter each of the last vertices, uint32.

        Counted are the vertices whose own row may lack the reverse of such an arc: the mirrors if every master's row is
        complete, else all.
        """
        from dgraph.graph.rows import count_columns

        return count_columns(self.out.neighbours, self.masters if self.whole_rows else 0, self.size)
