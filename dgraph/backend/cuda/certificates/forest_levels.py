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


def listed(
    kernels: RowKernels, shared: SharedColumns, columns: tuple[Any, Any, Any], ends: tuple[Any, Any]
) -> tuple[tuple[int, int], Any, Any]:
    """Return violations of valid ends, and the edges' ends, the smaller first, and weights; not collective.

    Args:
        kernels: the kernels.
        shared: columns of all ranks.
        columns: source, target and weight of each vertex' edge by gid, int64, or float64 weights; the largest value or
            infinity, and negative ends, if it has none.
        ends: source and target as gids, int64.
    """
    xp, device = kernels.device.xp, kernels.device
    numbers = xp.empty(shared.n, np.uint32)
    kernels.set(low=shared.low, high=shared.high)
    kernels.take(sources=columns[0], targets=columns[1], edge_weights=columns[2], numbers=numbers)
    kernels.take(first_ends=ends[0], second_ends=ends[1])
    kernels.launch("find_edges")
    numbers = xp.cumsum(numbers, dtype=np.uint32)
    kernels.take(numbers=numbers)
    edges = int(device.read(numbers[-1:])[0])
    pairs, weights = xp.empty(2 * edges, np.uint32), xp.empty(edges, columns[2].dtype)
    kernels.take(pairs=pairs, forest_weights=weights)
    kernels.launch("list_edges")
    kernels.take(sources=None, targets=None, edge_weights=None, numbers=None, first_ends=None, second_ends=None)
    return kernels.violations({"valid": rules.FOREST["valid"]})["valid"], pairs, weights


class ForestLevels:
    """Edges of the forest and levels of nodes; every rank has all of them.

    Args:
        kernels: the kernels.
        shared: columns of all ranks.
        pairs: gids of the ends of each edge, uint32, the smaller first.
        weights: of the edges, int64 or float64.
        dtype: of the answer's column of weights.
        by_ends: edges of one weight are in turn by their ends, as on CPUs; else as they are listed.

    Attributes:
        edges: number of edges.
        trees: number of trees.
    """

    def __init__(
        self, kernels: RowKernels, shared: SharedColumns, pairs: Any, weights: Any, dtype: Any, by_ends: bool = False
    ):
        self._kernels, self._shared, self._device, self._dtype = kernels, shared, kernels.device, dtype
        self.edges = len(weights)
        kernels.set(end=self.edges)
        if by_ends:
            larger_first = self._device.xp.empty(2 * self.edges, np.uint32)
            kernels.take(pairs=pairs, ends=larger_first)
            kernels.launch("swap_ends")
            pairs, weights = self._ordered(larger_first.view(np.uint64), pairs, weights)
        self._pairs, self._weight = self._ordered(weights, pairs, weights)
        self._above: list[Any] = []
        self._taken: list[Any] = []
        self.trees = shared.n
        kernels.take(pairs=self._pairs, forest_weights=self._weight, order=None, edge_weights=None)
        self._join()

    def _ordered(self, keys: Any, pairs: Any, weights: Any) -> tuple[Any, Any]:
        """Return the edges by ascending key; those of one key keep their order."""
        if not self.edges:
            return pairs, weights
        xp, kernels = self._device.xp, self._kernels
        ordered = xp.empty(len(pairs), np.uint32), xp.empty(self.edges, weights.dtype)
        order = xp.argsort(keys, kind="stable")
        kernels.take(order=order, pairs=pairs, edge_weights=weights, ends=ordered[0], forest_weights=ordered[1])
        kernels.launch("order_edges")
        return ordered

    def _join(self) -> None:
        device, kernels, nodes = self._device, self._kernels, self._shared.n
        xp = device.xp
        ends = self._pairs.copy()
        kernels.take(ends=ends)
        while nodes and self.edges:
            best, forest, numbers = (xp.empty(nodes, np.uint32) for _ in range(3))
            kernels.take(best=best, forest=forest, numbers=numbers)
            for kernel in ("clear_best", "choose_edges", "hook_nodes"):
                kernels.launch(kernel, nodes)
            while self._jumped(nodes):
                pass
            kernels.launch("mark_roots", nodes)
            xp.cumsum(numbers, out=numbers)
            count = int(device.read(numbers[-1:])[0])
            if count == nodes:
                break
            above = xp.empty(nodes, np.uint32)
            self._above.append(above)
            self._taken.append(best)
            kernels.take(joined_to=above)
            for kernel in ("number_nodes", "rename_ends"):
                kernels.launch(kernel, nodes)
            self.trees = nodes = count
        kernels.take(best=None, forest=None, numbers=None, joined_to=None, ends=None)

    def _jumped(self, nodes: int) -> int:
        self._kernels.launch("jump_nodes", nodes)
        row = self._kernels.broken[rules.FOREST["changed"]]
        count = int(self._device.read(row)[0])
        self._device.clear(row[:1])
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
        self._above, self._taken = ([self._joined(parts)] for parts in (self._above, self._taken))
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
        return kernels.violations({name: rules.FOREST[name] for name in ("apart", "light", "missing")})

    def _joined(self, parts: list[Any]) -> Any:
        """Return the parts one behind the other."""
        whole, first = self._device.xp.empty(sum(map(len, parts)) or 1, np.uint32), 0
        for part in parts:
            self._device.copy(whole[first : first + len(part)], part)
            first += len(part)
        return whole

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
