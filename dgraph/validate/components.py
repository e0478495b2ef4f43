"""Certificate of connected components, directions ignored.

Theorem. Let l be labels and f a map of vertices such that f(v) is joined to v by a path and f(v) ≤ v. If l is equal
at both ends of every arc, and l(v) = f(v) for every v, then l(v) is the smallest vertex of v's component, so that
labels are equal exactly within components. Proof: by the first, one label L is on all of v's component; by the
second, L = f(v) lies in it, and L = f(u) ≤ u for every u of it.

f is found here by hooking and pointer jumping: whatever this code gets wrong, two vertices are only ever joined
because an arc joins them, and only ever to the smaller one, so a wrong label is not let through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


def cc(
    ground: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Labels."""
    block, claimed = ground.block, columns["labels"]
    label = block.ids.to_gid(claimed, ground.comm)
    vertex = Rule("labels are vertices", "vertex {v} has label {l}, which is no vertex")
    vertex.test(label < 0, {"v": ground.gids}, {"l": claimed})
    ground.judge(vertex)
    own = Rule("a label's vertex carries it", "vertex {v} has label {l}, but vertex {l} has another")
    own.test(ground.fetch(label, label)[0] != label, {"v": ground.gids}, {"l": claimed})
    equal = Rule("labels are equal along arcs", "arc {u} → {v} joins label {lu} with label {lv}")
    top = _forest(block.offsets, block.targets, block.first)
    boss = ground.gids.astype(block.targets.dtype)
    mine = boss[top]
    hi: list[np.ndarray] = []
    lo: list[np.ndarray] = []
    for piece in ground.pieces(claimed, mine):
        here, (there, theirs) = claimed[piece.rows], piece.there
        equal.test(here != there, {"u": piece.src, "v": piece.dst}, {"lu": here, "lv": there})
        ours = mine[piece.rows]
        cross = ours > theirs if not block.directed else ours != theirs  # the reverse arc brings the other half
        for held, part in zip((hi, lo), _pairs(ours[cross], theirs[cross]), strict=True):
            held.append(part)
    ground.judge(equal, own)
    empty = boss[:0]
    _hook(ground, boss, *_pairs(np.concatenate([empty, *hi]), np.concatenate([empty, *lo])))
    found = boss[top].astype(np.int64)
    larger = Rule("labels are the smallest", "vertex {v} has label {l}, but its component has the smaller vertex {s}")
    apart = Rule(
        "no two components of one label",
        "vertex {v} has label {l}, but no path joins them: {s} is the smallest vertex of its component",
    )
    at: tuple[dict, dict] = ({"v": ground.gids, "s": found}, {"l": claimed})
    if not block.ids.ascending:
        found, label = _smallest(ground, found), claimed
        at = {"v": ground.gids}, {"s": found, "l": claimed}
    larger.test(found < label, *at)
    apart.test(found > label, *at)
    ground.judge(larger, apart)
    return ["labels are equal along arcs", "every vertex is joined to its label", "labels are the smallest ids"]


def _smallest(ground, root):
    """The smallest original id of every row's component, which ``root``, one vertex of it, stands for."""
    smallest = ground.block.ids.to_original(ground.gids, ground.comm)
    order = np.lexsort((smallest, root))
    firsts = order[np.flatnonzero(np.diff(root[order], prepend=-1))]
    rows, ids = ground.send(root[firsts], smallest[firsts])
    np.minimum.at(smallest, rows, ids)
    return ground.fetch(root, smallest)[0]


def _hook(ground, boss, hi, lo):
    """Join trees until no pair ``hi > lo`` of their roots is left; ``boss`` of a root is then the smallest.

    Every root hooks onto its smallest smaller neighbour. One that is smaller than all of its neighbours gains one, or
    is adjacent to a smaller root afterwards; so two rounds halve the roots at least, and 2 log2(n) rounds are enough.
    """
    while ground.comm.total(hi.size):
        lowest = np.flatnonzero(np.concatenate([hi[:1] == hi[:1], hi[1:] != hi[:-1]]))
        rows, low = ground.send(hi[lowest], lo[lowest])
        np.minimum.at(boss, rows, low)
        moved = np.flatnonzero(boss != ground.gids)
        while ground.comm.total(moved.size):
            on = ground.fetch(boss[moved], boss)[0]
            last = on == boss[moved]
            boss[moved] = on
            moved = moved[~last]
        hi, lo = _pairs(ground.fetch(hi, boss)[0], ground.fetch(lo, boss)[0])


def _pairs(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct unordered pairs of unequal ends, the larger end first; ascending."""
    unequal = one != other
    hi, lo = np.maximum(one, other)[unequal], np.minimum(one, other)[unequal]
    order = np.lexsort((lo, hi))
    hi, lo = hi[order], lo[order]
    first = np.concatenate([hi[:1] == hi[:1], (hi[1:] != hi[:-1]) | (lo[1:] != lo[:-1])])
    return hi[first], lo[first]


@njit(cache=True)
def _forest(offsets, targets, first):
    """The smallest row that arcs within this rank join each row to: union-find with path halving. int64 (rows,)."""
    rows = offsets.size - 1
    up = np.arange(rows)
    for row in range(rows):
        for i in range(offsets[row], offsets[row + 1]):
            v = np.int64(targets[i]) - first
            if 0 <= v < rows:
                u = row
                while up[u] != u:
                    up[u] = up[up[u]]
                    u = up[u]
                while up[v] != v:
                    up[v] = up[up[v]]
                    v = up[v]
                up[max(u, v)] = min(u, v)
    for row in range(rows):
        up[row] = up[up[row]]  # smaller rows come first, so theirs is final
    return up
