"""Breadth-first searches of up to 64 runs in one pass, whose answers are those of single runs [Then et al., VLDB 2014].

A vertex has a bit for each search in ``seen``, and in ``front`` those that reached it in the last round. A round scans
the in-edges of each vertex that misses a bit, in the order of ids: the first neighbour with the bit in ``front`` is the
smallest valid predecessor. Large frontiers scan all vertices, small ones those that their out-edges enter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.base import Algorithm, Answer, check_source
from dgraph.algorithms.bfs import Bfs
from dgraph.algorithms.distances import widened
from dgraph.algorithms.many_sources.drawn_sources import lids_of
from dgraph.algorithms.many_sources.frontier import DENSE, candidates
from dgraph.algorithms.many_sources.pass_limits import most_together
from dgraph.backend.cpu.threads.atomics import OPTIONS, trailing_zeros
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary
from dgraph.result.columns import UNREACHED

NONE = np.iinfo(np.uint32).max
"""Parent of a vertex without one."""


def shares(works: Sequence[Algorithm], ctx: Context) -> bool:
    """Return True if the runs can be one pass: equal but for their sources, on one rank's CPU, rows sorted by id."""
    if not all(isinstance(work, Bfs) for work in works) or len(works) > most_together(ctx.local.n):
        return False
    settings = [work.settings() | {"source": None} for work in works]
    alike = settings[0]["variant"] == "direction-optimizing" and all(each == settings[0] for each in settings)
    return alike and ctx.comm.size == 1 and ctx.backend.name == "cpu" and bool(ctx.local.ascending)


def search_together(ctx: Context, works: Sequence[Algorithm]) -> list[tuple[Answer, int]]:
    """Run the searches in one pass; return their answers, and the rounds that each would take alone.

    Raises:
        UsageError: a source is not a vertex.
        Cancelled: the pass was cancelled after a round.
    """
    settings = [work.settings() for work in works]
    sources = np.array([check_source(ctx, each["source"], "bfs") for each in settings], np.int64)
    limit, tree = settings[0]["depth_limit"], settings[0]["return_predecessors"]
    limit = UNREACHED if limit is None else limit
    local, lanes = ctx.local, len(works)
    n, into = local.masters, local.incoming if local.directed else local.out
    levels = np.full((lanes, n), np.iinfo(np.int32).max, np.int32)
    parents = np.full((lanes, n), NONE, np.uint32)
    reached, deepest = np.ones(lanes, np.int64), np.zeros(lanes, np.int64)
    seen, front, fresh = np.zeros((3, n), np.uint64)
    frontier, found, marked = np.empty(n, np.uint32), np.empty(n, np.uint32), np.zeros(n, np.uint8)
    at = lids_of(local, sources)
    for lane, lid in enumerate(at):
        seen[lid] |= np.uint64(1 << lane)
        levels[lane, lid] = 0
    first = np.unique(at)
    front[first] = seen[first]
    frontier[: len(first)] = first
    count, depth, whole = len(first), 0, np.uint64((1 << lanes) - 1)
    rows = (into.offsets, into.neighbours.view(np.uint32), local.out.offsets, local.out.neighbours.view(np.uint32))
    with ctx.record("compute"):
        while count and depth < limit:
            depth += 1
            count = one_round(
                frontier, count, *rows, whole, depth, seen, front, fresh, marked, found, levels, parents, reached,
                deepest,
            )  # fmt: skip
            boundary(ctx, f"the search was cancelled after round {depth}; its answer is incomplete", depth, count)
    answers = []
    for lane, source in enumerate(sources.tolist()):
        columns: dict[str, Callable[[], np.ndarray]] = {"distance": partial(widened, levels[lane])}
        if tree:
            columns["predecessor"] = partial(ids_of, parents[lane], local.original)
        summary = {"source": source, "reached": int(reached[lane]), "depth": int(deepest[lane])}
        answers.append((Answer(columns, summary), max(min(int(deepest[lane]) + 1, limit), 1) + tree))
    return answers


def ids_of(lids: np.ndarray, original: np.ndarray) -> np.ndarray:
    """Return the original ids of vertices, int64; -1 for ``NONE``."""
    none = lids == NONE
    found = original[np.where(none, 0, lids)]
    found[none] = -1
    return found


@njit(**OPTIONS)
def one_round(
    frontier, count, rows, neighbours, pushed_offsets, pushed, whole, depth, seen, front, fresh, marked, found, levels,
    parents, reached, deepest,
):  # fmt: skip
    """Reach the next level of every search; return the size of the next frontier."""
    many = candidates(frontier, 0, count, pushed_offsets, pushed, len(pushed) // DENSE, marked, found)
    dense = many < 0
    if dense:
        many = len(seen)
    out = 0
    for i in range(many):
        v = np.uint32(i) if dense else found[i]
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
            found[out] = v
            out += 1
    for i in range(count):
        front[frontier[i]] = 0
    for i in range(out):
        v = found[i]
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
    return out
