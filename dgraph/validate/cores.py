"""Certificate of core numbers, and of one k-core.

Let κ(v) be the core number: the largest k such that v lies in a subgraph whose vertices all have k neighbours in it.

Theorem. c = κ if and only if

1. every v has at least c(v) neighbours u with c(u) ≥ c(v);
2. for every k, the vertices with c = k can be taken away one after another so that each, when it is taken, has at
   most k neighbours left among those not taken and those with c > k.

Proof. 1 says that the vertices with c ≥ k have k neighbours among themselves, so κ ≥ c. Suppose κ(v) = k > c(v), and
let K be the k-core. Order all vertices by c, and within equal c as 2 takes them. The first w of K in this order has at
least k neighbours later than itself, so 2 gives c(w) ≥ k; but w comes no later than v, so c(w) ≤ c(v) < k.

2 is tried greedily, on all k at once, for they do not touch each other. Whatever is left has, together with what has
a larger c, more than k neighbours each: it belongs to a larger core, and is named.

One k-core S: its members have k neighbours inside, and the rest can be taken away, each with fewer than k left.
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
    ground: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Core numbers, or the members of one k-core.

    Raises:
        UsageError: the graph is directed.
    """
    if ground.block.directed:
        raise UsageError("core numbers are of undirected graphs; pass the block of graph.undirected()")
    if "core_number" in columns:
        core = columns["core_number"].astype(np.int64, copy=False)
        few = Rule(
            "enough neighbours", "vertex {v} has core number {c}, but only {n} neighbours of that or a larger one"
        )
        larger = Rule("no larger core", "vertex {v} has core number {c}, but belongs to a larger core")
        every = np.ones(core.size, bool)
        _check(ground, core, every, every, few, larger)
        return ["core numbers have the neighbours they need", "no vertex belongs to a larger core"]
    k, member = int(parameters["k"]), columns["in_core"]
    flag = Rule("members are 0 or 1", "vertex {v} has in_core {c}")
    flag.test((member != 0) & (member != 1), {"v": ground.gids}, {"c": member})
    ground.judge(flag)
    few = Rule("enough neighbours", f"vertex {{v}} is in the {k}-core with {{n}} neighbours inside, fewer than {k}")
    larger = Rule("no larger core", f"vertex {{v}} belongs to the {k}-core, but is not in it")
    _check(ground, k - 1 + member.astype(np.int64), member == 1, member == 0, few, larger)
    return [f"members have {k} neighbours inside", "no vertex beside them belongs to the core"]


def _check(
    ground: DistributedColumns, core: np.ndarray, first: np.ndarray, second: np.ndarray, few: Rule, larger: Rule
) -> None:
    """Rule 1 on the rows ``first``, rule 2 on the rows ``second``."""
    block, size = ground.block, core.size
    left, same = np.zeros(size, np.int64), np.empty(block.targets.size, bool)
    leaving = 0
    for piece in ground.pieces(core):
        here, there = core[piece.rows], piece.there[0]
        left += np.bincount(piece.rows[there >= here], minlength=size)
        same[piece.start : piece.stop] = there == here
        inside = (piece.dst >= block.first) & (piece.dst < block.first + size)
        leaving += int(np.count_nonzero((there == here) & ~inside))
    few.test(first & (left < core), {"v": ground.gids}, {"c": core, "n": left})
    ground.judge(few)
    taken = second & (left <= core)
    stack, outbox = np.empty(size, np.int64), np.empty(leaving, block.targets.dtype)
    fresh = np.flatnonzero(taken)
    while True:
        stack[: fresh.size] = fresh
        sent = _peel(block.offsets, block.targets, block.first, same, core, left, taken, stack, fresh.size, outbox)
        if not ground.comm.total(sent):
            break
        rows = ground.add(outbox[:sent], np.full(sent, -1.0), left)
        fresh = rows[~taken[rows] & (left[rows] <= core[rows])]
        taken[fresh] = True
    larger.test(second & ~taken, {"v": ground.gids}, {"c": core})
    ground.judge(larger)


@njit(cache=True)
def _peel(offsets, targets, first, same, core, left, taken, stack, top, outbox):
    """Take rows ``stack[:top]`` away, and the rows of this rank that follow from it; how many neighbours elsewhere,
    now in ``outbox``, have lost one. ``same``: arcs between equal core numbers, the only ones that count."""
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
            left[v] -= 1
            if not taken[v] and left[v] <= core[v]:
                taken[v] = True
                stack[top] = v
                top += 1
    return sent
