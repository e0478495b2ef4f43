"""Certificate of core numbers, and of one k-core.

Let κ(v) be the core number: the largest k such that v lies in a subgraph whose vertices all have k neighbours in it.

Theorem. c = κ if and only if

1. every v has at least c(v) neighbours u with c(u) ≥ c(v);
2. for every k, the vertices with c = k can be removed one after another so that each, when it is removed, has at
   most k neighbours among the remaining ones and those with c > k.

Proof. By 1 the vertices with c ≥ k have k neighbours among themselves, so κ ≥ c. Suppose κ(v) = k > c(v), and let K be
the k-core. Order all vertices by c, and within equal c by the removal order of 2. The first w of K in this order has
at least k neighbours later than itself, so 2 gives c(w) ≥ k. But w is not later than v, so c(w) ≤ c(v) < k.

Rule 2 is tested greedily for all k at once, since they are independent. Each vertex that remains has more than k
neighbours among the remaining ones and those with a larger c: it belongs to a larger core, and is reported.

One k-core S: its members have k neighbours inside, and the other vertices can be removed, each with fewer than k
neighbours remaining.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.errors import UsageError
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


def kcore(
    distributed: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Check column ``core_number``, or ``in_core`` of one k-core; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: a value is wrong.
    """
    if distributed.block.directed:
        raise UsageError("core numbers are of undirected graphs; pass the block of graph.undirected()")
    if "core_number" in columns:
        core = columns["core_number"].astype(np.int64, copy=False)
        few = Rule(
            "enough neighbours", "vertex {v} has core number {c}, but only {n} neighbours of that or a larger one"
        )
        larger = Rule("no larger core", "vertex {v} has core number {c}, but belongs to a larger core")
        every = np.ones(core.size, bool)
        _check(distributed, core, every, every, few, larger)
        return ["core numbers have the neighbours they need", "no vertex belongs to a larger core"]
    k, member = int(parameters["k"]), columns["in_core"]
    flag = Rule("members are 0 or 1", "vertex {v} has in_core {c}")
    flag.test((member != 0) & (member != 1), {"v": distributed.gids}, {"c": member})
    distributed.judge(flag)
    few = Rule("enough neighbours", f"vertex {{v}} is in the {k}-core with {{n}} neighbours inside, fewer than {k}")
    larger = Rule("no larger core", f"vertex {{v}} belongs to the {k}-core, but is not in it")
    _check(distributed, k - 1 + member.astype(np.int64), member == 1, member == 0, few, larger)
    return [f"members have {k} neighbours inside", "no vertex beside them belongs to the core"]


def _check(
    distributed: DistributedColumns, core: np.ndarray, first: np.ndarray, second: np.ndarray, few: Rule, larger: Rule
) -> None:
    """Test rule 1 on the rows ``first`` and rule 2 on the rows ``second``."""
    block, size = distributed.block, core.size
    degree, same = np.zeros(size, np.int64), np.empty(block.targets.size, bool)
    leaving = 0
    for piece in distributed.pieces(core):
        here, there = core[piece.rows], piece.there[0]
        degree += np.bincount(piece.rows[there >= here], minlength=size)
        same[piece.start : piece.stop] = there == here
        inside = (piece.dst >= block.first) & (piece.dst < block.first + size)
        leaving += int(np.count_nonzero((there == here) & ~inside))
    few.test(first & (degree < core), {"v": distributed.gids}, {"c": core, "n": degree})
    distributed.judge(few)
    removed = second & (degree <= core)
    stack, outbox = np.empty(size, np.int64), np.empty(leaving, block.targets.dtype)
    new = np.flatnonzero(removed)
    while True:
        stack[: new.size] = new
        sent = _peel(block.offsets, block.targets, block.first, same, core, degree, removed, stack, new.size, outbox)
        if not distributed.comm.total(sent):
            break
        rows = distributed.add(outbox[:sent], np.full(sent, -1.0), degree)
        new = rows[~removed[rows] & (degree[rows] <= core[rows])]
        removed[new] = True
    larger.test(second & ~removed, {"v": distributed.gids}, {"c": core})
    distributed.judge(larger)


@njit(cache=True)
def _peel(offsets, targets, first, same, core, degree, removed, stack, top, outbox):
    """Remove rows ``stack[:top]`` and the rows of this rank that become removable.

    Args:
        offsets: row offsets, int64 (rows + 1,).
        targets: gids of the arcs' targets.
        first: gid of the first row.
        same: bool by arc: both ends have the same core number; only these arcs count.
        core: claimed core numbers.
        degree: remaining neighbours of each row; decreased here.
        removed: bool by row; set here.
        stack: rows to remove, with room for all rows.
        top: number of rows on the stack.
        outbox: receives one gid per arc to a vertex of another rank that loses a neighbour.

    Returns:
        Number of gids written to ``outbox``.
    """
    sent = 0
    while top:
        top -= 1
        row = stack[top]
        for i in range(offsets[row], offsets[row + 1]):
            if not same[i]:
                continue
            v = np.int64(targets[i]) - first
            if not 0 <= v < core.size:
                outbox[sent] = targets[i]
                sent += 1
                continue
            degree[v] -= 1
            if not removed[v] and degree[v] <= core[v]:
                removed[v] = True
                stack[top] = v
                top += 1
    return sent
