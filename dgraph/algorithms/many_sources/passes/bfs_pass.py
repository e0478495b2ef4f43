"""Breadth-first searches of up to 64 runs in one pass, whose answers are those of single runs [Then et al., VLDB 2014].

A vertex has a bit for each search in ``seen``, and in ``front`` those that reached it in the last round. A round scans
the in-edges of each vertex that misses a bit, in the order of ids: the first neighbour with the bit in ``front`` is the
smallest valid predecessor. Large frontiers scan all vertices, small ones those that their out-edges enter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.bfs import Bfs
from dgraph.algorithms.many_sources.frontier import DENSE, candidates
from dgraph.algorithms.many_sources.passes.run_pass import NONE, RunPass, Searched
from dgraph.backend.cpu.threads.atomics import OPTIONS, trailing_zeros
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary
from dgraph.result.columns import UNREACHED


class BfsPass(RunPass):
    """Searches that return what ``bfs`` does."""

    kind = Bfs

    def suits(self, settings: dict[str, Any], ctx: Context) -> bool:
        """Return True for the default variant, without a target."""
        return settings["variant"] == "direction-optimizing" and settings["target"] is None

    def searched(self, ctx: Context, settings: dict[str, Any], lids: np.ndarray) -> Searched:
        """Search level by level."""
        local, lanes = ctx.local, len(lids)
        limit = UNREACHED if settings["depth_limit"] is None else settings["depth_limit"]
        n, into = local.masters, local.incoming if local.directed else local.out
        levels = np.full((lanes, n), np.iinfo(np.int32).max, np.int32)
        parents = np.full((lanes, n), NONE, np.uint32)
        reached, deepest = np.ones(lanes, np.int64), np.zeros(lanes, np.int64)
        seen, front, fresh = np.zeros((3, n), np.uint64)
        frontier, listed, marked = np.empty(n, np.uint32), np.empty(n, np.uint32), np.zeros(n, np.uint8)
        for lane, lid in enumerate(lids):
            seen[lid] |= np.uint64(1 << lane)
            levels[lane, lid] = 0
        first = np.unique(lids)
        front[first] = seen[first]
        frontier[: len(first)] = first
        count, depth, whole = len(first), 0, np.uint64((1 << lanes) - 1)
        rows = (into.offsets, into.neighbours.view(np.uint32), local.out.offsets, local.out.neighbours.view(np.uint32))
        with ctx.record("compute"):
            while count and depth < limit:
                depth += 1
                count = one_round(
                    frontier, count, *rows, whole, depth, seen, front, fresh, marked, listed, levels, parents, reached,
                    deepest,
                )  # fmt: skip
                boundary(ctx, f"the search was cancelled after round {depth}; its answer is incomplete", depth, count)
        tree = settings["return_predecessors"]
        runs: list = [
            ({"reached": count, "depth": depth}, None, max(min(depth + 1, limit), 1) + tree)
            for count, depth in zip(reached.tolist(), deepest.tolist(), strict=True)
        ]
        return levels, parents, runs


@njit(**OPTIONS)
def one_round(
    frontier, count, rows, neighbours, pushed_offsets, pushed, whole, depth, seen, front, fresh, marked, listed, levels,
    parents, reached, deepest,
):  # fmt: skip
    """Reach the next level of every search; return the size of the next frontier."""
    many = candidates(frontier, count, pushed_offsets, pushed, len(pushed) // DENSE, marked, listed)
    dense = many < 0
    if dense:
        many = len(seen)
    size = 0
    for i in range(many):
        v = np.uint32(i) if dense else listed[i]
        missing = whole & ~seen[v]
        if missing == 0:
            continue
        new = np.uint64(0)
        for e in range(rows[v], rows[v + 1]):
            u = neighbours[e]
            hit = front[u] & missing
            if hit != 0:
                new |= hit
                missing &= ~hit
                while hit != 0:
                    parents[trailing_zeros(hit), v] = u
                    hit &= hit - np.uint64(1)
                if missing == 0:
                    break
        if new != 0:
            fresh[v] = new
            listed[size] = v
            size += 1
    for i in range(count):
        front[frontier[i]] = 0
    for i in range(size):
        v = listed[i]
        bits = fresh[v]
        front[v] = bits
        seen[v] |= bits
        frontier[i] = v
        while bits != 0:
            lane = trailing_zeros(bits)
            levels[lane, v] = depth
            reached[lane] += 1
            deepest[lane] = depth
            bits &= bits - np.uint64(1)
    return size
