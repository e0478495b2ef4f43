"""Forest of an answer on every GPU, for the certificate of minimum spanning forests (``forest_proof.cuh``).

In each round every tree of joined vertices takes its lightest edge of the forest, and the trees that these edges join
are one node of the next level [Borůvka]. The heaviest edge on the forest's path between two vertices is the heaviest
that their nodes took before they meet [King, "A simpler minimum spanning tree verification algorithm", 1997, lemma 1].
Edges are ranked by weight, so all are different, and a level has at most half of the nodes with edges of the one below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates import rule_numbers as rules
from dgraph.backend.cuda.certificates.row_kernels import RowKernels
from dgraph.backend.cuda.certificates.shared_columns import SharedColumns

NOBODY = 0xFFFFFFFF


class ForestLevels:
    """Edges of the forest and levels of nodes; every rank has all of them.

    Args:
        kernels: the kernels.
        shared: columns of all ranks.
        low: gids of the smaller ends, uint32.
        high: gids of the larger ends.
        weight: weights of the edges, int64 or float64.
        dtype: of the answer's column of weights.

    Attributes:
        edges: number of edges.
        trees: number of trees.
    """

    def __init__(self, kernels: RowKernels, shared: SharedColumns, low: Any, high: Any, weight: Any, dtype: Any):
        self._kernels, self._shared, self._device, self._dtype = kernels, shared, kernels.device, dtype
        xp, self.edges = self._device.xp, len(low)
        order = xp.argsort(weight, kind="stable") if self.edges else xp.zeros(0, np.int64)
        self._weight = weight[order]
        self._pairs = xp.empty(2 * self.edges, np.uint32)
        self._pairs[0::2], self._pairs[1::2] = low[order], high[order]
        del order
        self._above: list[Any] = []
        self._taken: list[Any] = []
        self.trees = shared.n
        kernels.set(end=self.edges)
        kernels.take(pairs=self._pairs, forest_weights=self._weight)
        self._join()

    def _join(self) -> None:
        xp, kernels, nodes = self._device.xp, self._kernels, self._shared.n
        ends = self._pairs.copy()
        kernels.take(ends=ends)
        while nodes and self.edges:
            best, forest = xp.full(nodes, NOBODY, np.uint32), xp.empty(nodes, np.uint32)
            kernels.take(best=best, forest=forest)
            kernels.launch("choose_edges")
            kernels.launch("hook_nodes", nodes)
            while self._jumped(nodes):
                pass
            roots = forest == xp.arange(nodes, dtype=np.uint32)
            numbers = xp.cumsum(roots, dtype=np.uint32)
            count = int(numbers[-1])
            if count == nodes:
                break
            above = (numbers - np.uint32(1))[forest]
            self._above.append(above)
            self._taken.append(best)
            kernels.take(joined_to=above)
            kernels.launch("rename_ends")
            self.trees = nodes = count
        kernels.take(best=None, forest=None, joined_to=None, ends=None)

    def _jumped(self, nodes: int) -> int:
        self._kernels.launch("jump_nodes", nodes)
        row = self._kernels.broken[rules.FOREST["changed"]]
        count = int(self._device.read(row)[0])
        row[:1] = 0
        return count

    @property
    def circular(self) -> bool:
        """True if the edges contain a circle."""
        return self._shared.n - self.trees != self.edges

    def circle(self) -> tuple[int, Any]:
        """Return 1 and the first edge that no tree took, on rank 0: lighter edges join its ends [Kruskal]."""
        if self._shared.comm.rank:  # every rank has the same edges
            return 0, (-1, -1)
        kernels, row = self._kernels, rules.FOREST["circle"]
        kernels.take(words=self._device.xp.zeros((self.edges + 31) // 32, np.uint32))
        for best in self._taken:
            kernels.take(best=best)
            kernels.launch("mark_taken", len(best))
        kernels.launch("find_circle")
        first = kernels.violations({"circle": row})["circle"][1]
        low, high = self._device.get(self._pairs[2 * first : 2 * first + 2]).tolist()
        return 1, (low, high)

    def check(self) -> dict[str, tuple[int, int]]:
        """Check all arcs against the heaviest edges between their ends, and that all edges are arcs; collective."""
        xp, kernels = self._device.xp, self._kernels
        starts = np.concatenate([[0], np.cumsum([len(part) for part in self._above])]).astype(np.uint64)
        none = [xp.zeros(1, np.uint32)]
        self._above, self._taken = ([xp.concatenate(parts or none)] for parts in (self._above, self._taken))
        words = xp.zeros((self.edges + 31) // 32 + 1, np.uint32)
        kernels.set(levels=len(starts) - 1)
        kernels.take(
            above=self._above[0], taken=self._taken[0], level_starts=self._device.put(starts), words=words,
        )  # fmt: skip
        self._starts = starts.astype(np.int64)
        kernels.launch("prove_arcs")
        self._shared.united(words)
        if not self._shared.comm.rank:  # every rank has the same edges
            kernels.launch("prove_edges")
        names = {name: row for name, row in rules.FOREST.items() if name not in ("changed", "circle")}
        return kernels.violations(names)

    def heaviest(self, u: int | None, v: int | None) -> np.generic:
        """Return the weight of the heaviest edge between two vertices of a tree; 0 if none is asked."""
        if u is None or v is None:
            return self._dtype.type(0)
        latest, ends = 0, [u, v]
        for start in self._starts[:-1].tolist():
            if ends[0] == ends[1]:
                break
            places = self._device.put(np.array([start + end for end in ends]))
            latest = max(latest, *self._device.get(self._taken[0][places]).tolist())
            ends = self._device.get(self._above[0][places]).tolist()
        return self._device.get(self._weight[latest : latest + 1])[0].astype(self._dtype)

    def weight_of(self, u: int | None, v: int | None) -> np.generic:
        """Return the weight of the edge between two vertices; 0 if none is asked, or there is none."""
        if u is None or v is None:
            return self._dtype.type(0)
        edges = self._device.xp.flatnonzero((self._pairs[0::2] == u) & (self._pairs[1::2] == v))[:1]
        return np.append(self._device.get(self._weight[edges]), 0)[0].astype(self._dtype)
