"""Smallest vertex that a path joins to each row, by hooking and pointer jumping between ranks.

Two vertices are hooked only along an arc, and only the larger under the smaller: see ``components.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.validate import answer_kernels
from dgraph.validate.host.host_rows import HostRows


class ComponentForest:
    """Trees of vertices that arcs join."""

    def __init__(self, distributed: Any, rows: HostRows):
        self._distributed, self._rows = distributed, rows

    def lowest(self) -> np.ndarray:
        """Return the smallest gid of each row's component; original id, if ids do not ascend with gids. Collective."""
        distributed, block = self._distributed, self._rows.block
        top = self._here()
        parent = distributed.gids.astype(block.targets.dtype)
        if distributed.comm.size > 1:
            self._across(parent, parent[top])
        lowest = parent[top].astype(np.int64)
        return lowest if block.ids.ascending else self._originals(lowest)

    def _here(self) -> np.ndarray:
        """Return the smallest row connected to each row by arcs within this rank; int64 (rows,)."""
        block, rows = self._rows.block, self._rows
        parent = np.arange(block.rows)

        def join(number: int, low: int, high: int) -> bool:
            graph = block.offsets, block.targets, block.first
            return answer_kernels.join_arcs(low, high, *graph, block.directed or rows.comm.size > 1, parent)

        while any(rows.run(join)):
            pass
        answer_kernels.flatten(parent)
        return parent

    def _across(self, parent: np.ndarray, mine: np.ndarray) -> None:
        """Join trees of different ranks."""
        distributed, block = self._distributed, self._rows.block
        hi: list[np.ndarray] = []
        lo: list[np.ndarray] = []
        for piece in distributed.pieces(mine):
            ours, theirs = mine[piece.rows], piece.there[0]
            cross = ours > theirs if not block.directed else ours != theirs  # the reverse arc covers the other half
            for values_of_rank, part in zip((hi, lo), _pairs(ours[cross], theirs[cross]), strict=True):
                values_of_rank.append(part)
        empty = parent[:0]
        self._hook(parent, *_pairs(np.concatenate([empty, *hi]), np.concatenate([empty, *lo])))

    def _originals(self, root):
        """Return the smallest original id of each component; ``root`` is a vertex that identifies it."""
        distributed = self._distributed
        smallest = distributed.block.ids.to_original(distributed.gids, distributed.comm)
        order = np.lexsort((smallest, root))
        firsts = order[np.flatnonzero(np.diff(root[order], prepend=-1))]
        rows, ids = distributed.send(root[firsts], smallest[firsts])
        np.minimum.at(smallest, rows, ids)
        return distributed.fetch(root, smallest)[0]

    def _hook(self, parent, hi, lo):
        """Merge trees until no pair ``hi > lo`` of adjacent roots remains; ``parent`` then holds the smallest root.

        Every root hooks onto its smallest smaller neighbour. A root that is smaller than all of its neighbours gains a
        child, or is adjacent to a smaller root afterwards. So two rounds at least halve the roots:
        2 log2(n) suffice.
        """
        distributed = self._distributed
        while distributed.comm.total(hi.size):
            lowest = np.flatnonzero(np.concatenate([hi[:1] == hi[:1], hi[1:] != hi[:-1]]))
            rows, low = distributed.send(hi[lowest], lo[lowest])
            np.minimum.at(parent, rows, low)
            moved = np.flatnonzero(parent != distributed.gids)
            while distributed.comm.total(moved.size):
                grandparent = distributed.fetch(parent[moved], parent)[0]
                last = grandparent == parent[moved]
                parent[moved] = grandparent
                moved = moved[~last]
            hi, lo = _pairs(distributed.fetch(hi, parent)[0], distributed.fetch(lo, parent)[0])


def _pairs(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct unordered pairs of unequal ends, the larger end first; ascending."""
    unequal = one != other
    hi, lo = np.maximum(one, other)[unequal], np.minimum(one, other)[unequal]
    order = np.lexsort((lo, hi))
    hi, lo = hi[order], lo[order]
    first = np.concatenate([hi[:1] == hi[:1], (hi[1:] != hi[:-1]) | (lo[1:] != lo[:-1])])
    return hi[first], lo[first]
