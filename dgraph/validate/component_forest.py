"""Smallest vertex that a path joins to each row, by hooking and pointer jumping between ranks.

Two vertices are hooked only along an arc, and only the larger under the smaller: see ``components.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.validate import answer_kernels
from dgraph.validate.host.host_rows import HostRows

ALL = 2**62
"""More arcs than a row has."""


class ComponentForest:
    """Trees of vertices that arcs join."""

    def __init__(self, distributed: Any, rows: HostRows):
        self._distributed, self._rows = distributed, rows

    def lowest(self, quick: bool = False) -> np.ndarray:
        """Return the smallest gid of each row's component; original id, if ids do not ascend with gids. Collective.

        ``quick``: visit two arcs a row, then all of the rows outside of the largest tree, which may leave several
        trees in a component.
        """
        distributed, block = self._distributed, self._rows.block
        joined = self._here(quick)
        top = joined[: block.rows]
        parent = distributed.gids.astype(block.targets.dtype)
        if distributed.comm.size > 1:
            gids = np.append(parent, self._rows.ghosts.astype(parent.dtype))
            self._across(parent, parent[top], gids[joined[block.rows :]])
        lowest = parent[top].astype(np.int64)
        return lowest if block.ids.ascending else self._originals(lowest)

    def _here(self, quick: bool) -> np.ndarray:
        """Return the smallest row that this rank's arcs connect to each row, and to each ghost; int64, extended."""
        block, rows, parent, passed = self._rows.block, self._rows, np.arange(self._rows.size), -1
        graph = block.offsets, block.targets, rows.table, quick or block.directed or rows.comm.size > 1, parent
        for arcs in (2, ALL) if quick else (ALL,):
            while any(rows.run(lambda _, *part: answer_kernels.join_arcs(*part, *graph, arcs, passed))):  # noqa: B023
                pass
            answer_kernels.flatten(parent)
            passed = int(np.bincount(parent).argmax()) if quick and parent.size else -1
        return parent

    def _across(self, parent: np.ndarray, mine: np.ndarray, of_ghosts: np.ndarray) -> None:
        """Join trees of different ranks, through rows that are ghosts of other ranks.

        Args:
            parent: of trees, by row; changed.
            mine: root of each row, a gid.
            of_ghosts: root of each ghost, its own gid if no arc to it was visited.
        """
        ours, theirs = [parent[:0]], [parent[:0]]
        for rows, roots in self._rows.sent_back(of_ghosts):
            ours.append(mine[rows])
            theirs.append(np.where(roots == self._distributed.gids[rows], mine[rows], roots))
        self._hook(parent, *_pairs(np.concatenate(ours), np.concatenate(theirs)))

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
