"""Minimum spanning forest over ranks: each rank's own forest first, then Borůvka's rounds on the remaining edges.

An edge that is not in the forest of its rank is in no minimum spanning forest of the graph (cycle property), so at most
one edge for each local vertex remains. Trees then choose their first edge, in the order of weight and ids of the ends,
and join along it [Borůvka 1926]. A tree is named by its root, whose owner knows which tree it joined. GPUs with enough
memory all hold all trees instead (``forest_between_gpus.py``).
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.kernels.forest.forest_columns import empty_columns, fill
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary
from dgraph.graph.local import LocalGraph

CANCELLED = "the run was cancelled before its forest was found"


class Trees:
    """Trees of a growing forest over ranks.

    Attributes:
        name, home: root of each vertex's tree, an original id, and the rank that owns it; by lid.
        parent, parent_home: for roots that this rank owns, the root of the tree that theirs joined; by lid.
    """

    def __init__(self, ctx: Context):
        self.ctx, self.local, self.comm = ctx, ctx.local, ctx.comm
        local: LocalGraph = ctx.local
        self.name, self.home = local.original.copy(), local.owners(ctx.comm.rank)
        self.parent, self.parent_home = self.name[: local.masters].copy(), self.home[: local.masters].copy()

    def joined(self, a, b, weight) -> dict[str, np.ndarray]:
        """Join the trees by edges, as :meth:`Forest.lightest` returns them; return the columns."""
        columns, number = empty_columns(self.local.masters, weight.dtype), 0
        while self.comm.total(len(a)):
            lids, *edges = self._choices(a, b, weight)
            fill(columns, lids, *edges)
            self._shorten(lids)
            self._rename(a, b)
            apart = self.name[a] != self.name[b]
            a, b, weight = (column[apart] for column in (a, b, weight))
            number += 1
            boundary(self.ctx, CANCELLED, number, self.comm.total(len(lids)))
        return columns

    def _choices(self, a, b, weight):
        """Let every tree choose its first edge and join the tree at the other end.

        Returns:
            lids of the trees that joined another, and the edges: lower ends, higher ends, weights.
        """
        lids = np.unique(np.concatenate([a, b]))
        names, of_lids = np.unique(self.name[lids], return_inverse=True)
        tree_of = np.empty(self.local.size, np.int32)
        tree_of[lids] = of_lids
        edge = np.full(len(names), len(a))  # every tree finds one below: no edge has both ends in one tree
        for ends in (a, b):
            np.minimum.at(edge, tree_of[ends], np.arange(len(a)))
        left = tree_of[a[edge]] == np.arange(len(names))
        mine, there = np.where(left, a[edge], b[edge]), np.where(left, b[edge], a[edge])
        low, high = (self.local.original[ends[edge]] for ends in (a, b))
        rows = weight[edge], low, high, self.name[there], self.home[there].astype(np.int64)
        name, weight, low, high, other, home = self.ctx.contract(
            self.name[mine], *rows, best=3, owners=self.home[mine]
        )  # fmt: skip
        lids = self._lids(name)
        self.parent[lids], self.parent_home[lids] = other, home
        (back,) = self.ctx.fetch(home, other, lambda asked: (self.parent[self._lids(asked)],))
        stays = (back == name) & (name < other)  # both chose the same edge
        self.parent[lids[stays]], self.parent_home[lids[stays]] = name[stays], self.comm.rank
        keep = ~stays
        return lids[keep], low[keep], high[keep], weight[keep]

    def _shorten(self, lids: np.ndarray) -> None:
        """Let the trees at ``lids`` name the root of those that they joined, by pointer jumping."""
        while True:
            parent, home = self.ctx.fetch(self.parent_home[lids], self.parent[lids], self._parents)
            moved = parent != self.parent[lids]
            self.parent[lids], self.parent_home[lids] = parent, home
            if not self.comm.total(int(moved.sum())):
                return
            lids = lids[moved]

    def _rename(self, a: np.ndarray, b: np.ndarray) -> None:
        """Give the ends of edges the names of the trees that they belong to now."""
        lids = np.unique(np.concatenate([a, b]))
        self.name[lids], self.home[lids] = self.ctx.fetch(self.home[lids], self.name[lids], self._parents)

    def _parents(self, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lids = self._lids(names)
        return self.parent[lids], self.parent_home[lids]

    def _lids(self, names: np.ndarray) -> np.ndarray:
        """Return the lids of masters by their original ids."""
        ids = self.local.original[: self.local.masters]
        order = self.local.ascending_order
        lids = np.searchsorted(ids, names, sorter=order)
        return lids if order is None else order[lids]
