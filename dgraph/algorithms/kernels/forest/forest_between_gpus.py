"""Minimum spanning forest over GPUs of several ranks (``forest_parts.cuh``).

Each GPU lists the edges of its own rows and holds the trees of the whole graph. In every round the first edge of each
tree is reduced over GPUs, and all GPUs join the same trees. At the end every GPU joins the edges of the forest again,
from the beginning and without messages, and fills the rows of its own vertices. Entry: :class:`ForestBetweenGpus`.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.forest.forest_cpu import Answers
from dgraph.algorithms.kernels.forest.forest_cuda import GpuForest
from dgraph.algorithms.kernels.forest.forest_search import First, RowSearch, Weights, bytes_needed, sampled
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gathered.numbering import Numbering, lacking, numbering_bytes, numbering_of
from dgraph.backend.cuda.transports.bulk_moves import Leaving
from dgraph.comm import Comm
from dgraph.engine.rounds.context import Context

PAIR = 16
"""Bytes of a root and its first word."""


class ForestBetweenGpus(GpuForest):
    """Finder of minimum spanning forests on a rank's GPU, beside those of other ranks."""

    def fits(self, ctx: Context) -> bool:
        """Return True if every rank has a GPU with memory for the trees of the whole graph; collective."""
        local, comm, backend = ctx.local, ctx.comm, self.backend
        if backend.links is None or not 0 < local.n < 2**32 - 1:
            return False
        with ctx.record("prepare"), comm.watchdog.paused():
            part = backend.part_of(local, comm)
            self.weights = ctx.once("forest weights", lambda: Weights.of(local.out).of_all(comm))
            sample = ctx.once("forest sample", lambda: _sampled(part, comm))
            self.first = First.of(sample, local.n, local.arcs, part.edges, self.weights)
            need = bytes_needed(part, local.n, self.weights, self.first) + PAIR * _most_pairs(local.n, comm)
            missing = lacking(part, comm, need + _bytes_of_places(part, comm), ("whole", "oriented"))
        if missing:
            ctx.record.choose("placement", "hosts", f"a GPU lacks {missing:,} bytes of memory for the forest")
        return not missing

    def solve(self, ctx: Context) -> Answers:
        """Return this rank's columns, on its GPU, the sum of the weights, and the number of edges; collective."""
        comm, part = ctx.comm, self.backend.graph_of(ctx.local)
        with ctx.record("prepare"), comm.watchdog.paused():
            numbering = numbering_of(part, comm)
            places, ids = numbering.id_order()
        began = time.perf_counter()
        with comm.agreeing(values=1 + comm.size):
            search = SharedSearch(part, self.weights, ids, places, self.first, numbering)
            search.join()
            columns = search.columns()
        ctx.record.add("exchange", search.exchanging)
        ctx.record.add("compute", time.perf_counter() - began - search.exchanging)
        return columns


def _sampled(part: DeviceGraph, comm: Comm) -> np.ndarray:
    """Return a sorted sample of the weights of all ranks' arcs; collective."""
    with comm.together():
        sample = sampled(part)
    return np.sort(np.concatenate(comm.allgatherv(sample)))


def _most_pairs(n: int, comm: Comm) -> int:
    """Return how many pairs a rank sends to each other one at most; else it sends words of a slice of the vertices."""
    return n // (2 * comm.size)


def _bytes_of_places(part: DeviceGraph, comm: Comm) -> int:
    """Return the bytes for the numbering and for the order of ids, which are sorted once."""
    local = part.local
    if part.numbering is not None and part.numbering.is_ordered:
        return 0
    return numbering_bytes(part, comm.size) + (4 * local.size if hasattr(local, "built") else 40 * local.n)


class SharedSearch(RowSearch):
    """Search of one rank's rows for the trees of the whole graph.

    Attributes:
        exchanging: seconds in which words were reduced over ranks.
    """

    def __init__(self, part: DeviceGraph, weights: Weights, ids: Any, places: Any, first: First, numbering: Numbering):
        super().__init__(part, part.device, part.local.n, weights, ids, (places, None), True, first)
        self.moves, self.exchanging, self._alone = numbering.moves, 0.0, False

    def _first_round(self) -> None:
        """Let every vertex join along its first edge, where edges fit one word, and do the other rounds."""
        if not self.packed:
            self._list("list_arcs", self.first.edges)
            self._rounds()
            return
        self._launch("choose_in_rows")
        self._reduce("best")
        self._launch("hook")
        self._launch("settle")
        self._leave_roots(self._counted()[1])
        self._name_trees()
        self._list("list_arcs", self.first.edges, all_roots=False)
        self._rounds()

    def _mark_giant(self) -> None:
        self._name_trees()
        super()._mark_giant()

    def _name_trees(self) -> None:
        """Note the tree of every row."""
        self.arrays["tree"] = self.device.xp.empty(self.graph.local.size, np.uint32)
        self._launch("name_trees")

    def _rename(self) -> None:
        self._alone = True
        super()._rename()

    def _chosen(self) -> bool:
        if self._alone:
            return super()._chosen()
        chosen = self._reduce("best", self.numbers["edge_count"])
        if chosen and not self.packed:
            self._launch("choose_pairs")
            self._reduce("second")
        return chosen

    def _reduce(self, name: str, edges: int = 1) -> bool:
        """Reduce the first word of each tree over ranks, unless all have 0 ``edges``: return False; collective.

        Ranks send pairs of a root and its word, or all words where there are too many roots.

        Args:
            name: "best" or "second".
            edges: that this rank has left.
        """
        second, moves, peers = int(name == "second"), self.moves, range(self.moves.comm.size)
        self._launch("count_words", second)
        count = self._counted()[0]
        most, *counts = self._most(edges, *[count * (peer == moves.comm.rank) for peer in peers])
        if not most:
            return False
        pairs = max(counts) <= _most_pairs(self.n, moves.comm)
        if pairs:
            self.arrays["sent"] = self.device.xp.empty(2 * count, np.uint64)
            self._launch("pack", second)
            self._counted()
        began = time.perf_counter()
        if pairs:
            leaving = {peer: Leaving.of(self.arrays["sent"]) for peer in peers if peer != moves.comm.rank}
            words = [[2 * count * (peer != rank) for peer in peers] for rank, count in enumerate(counts)]
            moves.move(np.uint64, leaving, lambda _, first, piece: self._merge(piece, second), np.array(words))
        else:
            moves.allreduce(self.arrays[name], self.device.xp.minimum)
        self.exchanging += time.perf_counter() - began
        return True

    def _merge(self, pairs: Any, second: int) -> None:
        self.arrays["received"], self.numbers["arrived"] = pairs, len(pairs) // 2
        self._launch("merge", second)

    def _most(self, *figures: int) -> list[int]:
        """Return the largest of each figure on any rank, or raise the error by which a rank ended before; collective.

        There is one figure for all ranks, and one for each.
        """
        return [-least for least in self.moves.comm.agree(None, *(-figure for figure in figures))]

    def _summed(self, sums: np.ndarray) -> np.ndarray:
        self._most(*[0] * (1 + self.moves.comm.size))
        return self.moves.comm.allreduce(sums)
