"""Certificate of weakly connected components.

Theorem. Let l be labels and f a map of vertices such that f(v) is connected to v by a path and f(v) ≤ v. If l is equal
at both ends of every arc, and l(v) = f(v) for every v, then l(v) is the smallest vertex of v's component. So labels
are equal exactly within components. Proof: by the first condition one label L is on all of v's component. By the
second, L = f(v) lies in the component, and L = f(u) ≤ u for every u in it.

f is computed here by hooking and pointer jumping. A bug in this code cannot accept a wrong label: it hooks two
vertices only along an arc, and only the larger under the smaller, so f has the two properties in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


def cc(
    distributed: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Check column ``labels``; collective.

    Raises:
        ValidationFailed: a label is wrong.
    """
    block, claimed = distributed.block, columns["labels"]
    label = block.ids.to_gid(claimed, distributed.comm)
    vertex = Rule("labels are vertices", "vertex {v} has label {l}, which is not a vertex")
    vertex.test(label < 0, {"v": distributed.gids}, {"l": claimed})
    distributed.judge(vertex)
    own = Rule("a label's vertex carries it", "vertex {v} has label {l}, but vertex {l} has another")
    own.test(distributed.fetch(label, label)[0] != label, {"v": distributed.gids}, {"l": claimed})
    equal = Rule("labels are equal along arcs", "arc {u} → {v} joins label {lu} with label {lv}")
    top = _forest(block.offsets, block.targets, block.first)
    parent = distributed.gids.astype(block.targets.dtype)
    mine = parent[top]
    hi: list[np.ndarray] = []
    lo: list[np.ndarray] = []
    for piece in distributed.pieces(claimed, mine):
        here, (there, theirs) = claimed[piece.rows], piece.there
        equal.test(here != there, {"u": piece.src, "v": piece.dst}, {"lu": here, "lv": there})
        ours = mine[piece.rows]
        cross = ours > theirs if not block.directed else ours != theirs  # the reverse arc covers the other half
        for held, part in zip((hi, lo), _pairs(ours[cross], theirs[cross]), strict=True):
            held.append(part)
    distributed.judge(equal, own)
    empty = parent[:0]
    _hook(distributed, parent, *_pairs(np.concatenate([empty, *hi]), np.concatenate([empty, *lo])))
    found = parent[top].astype(np.int64)
    larger = Rule("labels are the smallest", "vertex {v} has label {l}, but its component has the smaller vertex {s}")
    apart = Rule(
        "no two components of one label",
        "vertex {v} has label {l}, but no path joins them: {s} is the smallest vertex of its component",
    )
    at: tuple[dict, dict] = ({"v": distributed.gids, "s": found}, {"l": claimed})
    if not block.ids.ascending:
        found, label = _smallest(distributed, found), claimed
        at = {"v": distributed.gids}, {"s": found, "l": claimed}
    larger.test(found < label, *at)
    apart.test(found > label, *at)
    distributed.judge(larger, apart)
    return ["labels are equal along arcs", "every vertex is joined to its label", "labels are the smallest ids"]


def _smallest(distributed, root):
    """Return the smallest original id of each row's component; ``root`` is a vertex that identifies the component."""
    smallest = distributed.block.ids.to_original(distributed.gids, distributed.comm)
    order = np.lexsort((smallest, root))
    firsts = order[np.flatnonzero(np.diff(root[order], prepend=-1))]
    rows, ids = distributed.send(root[firsts], smallest[firsts])
    np.minimum.at(smallest, rows, ids)
    return distributed.fetch(root, smallest)[0]


def _hook(distributed, parent, hi, lo):
    """Merge trees until no pair ``hi > lo`` of adjacent roots remains; ``parent`` then holds the smallest root.

    Every root hooks onto its smallest smaller neighbour. A root that is smaller than all of its neighbours gains a
    child, or is adjacent to a smaller root afterwards. So two rounds at least halve the roots, and 2 log2(n) suffice.
    """
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


@njit(cache=True)
def _forest(offsets, targets, first):
    """Return the smallest row connected to each row by arcs within this rank; int64 (rows,).

    Union-find with path halving.
    """
    rows = offsets.size - 1
    parent = np.arange(rows)
    for row in range(rows):
        for i in range(offsets[row], offsets[row + 1]):
            v = np.int64(targets[i]) - first
            if 0 <= v < rows:
                u = row
                while parent[u] != u:
                    parent[u] = parent[parent[u]]
                    u = parent[u]
                while parent[v] != v:
                    parent[v] = parent[parent[v]]
                    v = parent[v]
                parent[max(u, v)] = min(u, v)
    for row in range(rows):
        parent[row] = parent[parent[row]]  # a parent is a smaller row, so its entry is final
    return parent
