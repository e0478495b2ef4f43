"""Distances from many sources to every vertex: their sums, and on request each of them, or a bit for each source."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.many_sources.drawn_sources import lids_of
from dgraph.algorithms.many_sources.reach_kernel import BATCH, WORDS, begin_batch, one_level, one_pass
from dgraph.algorithms.many_sources.results import ENDLESS, Reached, tables
from dgraph.algorithms.many_sources.shared_rows import SharedRows, shared_rows
from dgraph.algorithms.many_sources.whole_rows import WholeRows, whole_rows
from dgraph.engine.rounds.passes import passes

STATE = 3 * 8 * WORDS + 26
"""Bytes of a search for each vertex and thread."""


class Reach:
    """Searches on a team of threads."""

    def __init__(self, team):
        self.team = team

    def search(self, ctx, sources: np.ndarray, *, keep: str = "", limit: int = ENDLESS) -> Reached:
        """Search from ``sources`` (original ids, each one a vertex of the graph); collective.

        Args:
            ctx: context of the algorithm.
            sources: at most one of each vertex.
            keep: ``LEVELS``, ``BITS``, or neither.
            limit: largest distance.
        """
        shared = shared_rows(ctx, sources, BATCH, self.team.size, STATE)
        if shared is not None:
            return self._on_replicas(ctx, shared, sources, keep, limit)
        rows, comm = whole_rows(ctx.local, ctx.comm), ctx.comm
        at, lids = np.full(len(sources), -1, np.int64), lids_of(ctx.local, sources)
        at[lids >= 0] = lids[lids >= 0]
        threads = max(1, min(self.team.size, -(-len(sources) // BATCH)))
        state = _state(threads, rows.masters, rows.slots)
        table, bits = tables(rows.masters, len(sources), keep)
        depth, deepest = 0, np.zeros(threads, np.int64)
        for turn in passes(ctx, len(sources), BATCH, threads):
            if comm.size == 1:
                self.team.run(
                    one_pass, threads, at, turn, limit, *rows.into, *rows.pushed, *state.values(), table, deepest
                )  # fmt: skip
            else:
                depth = max(depth, self._over_ranks(comm, rows, threads, at, turn, limit, state, table))
            if bits.shape[1]:
                _put(bits, turn * threads * WORDS, _words(state["seen"]))
        depth = max(depth, int(deepest.max()))
        far, reached = (state[name].sum(axis=0) for name in ("far", "reached"))
        return Reached(far, reached, int((lids >= 0).sum() + reached.sum()), depth, table, bits)

    def _on_replicas(self, ctx, shared: SharedRows, sources: np.ndarray, keep: str, limit: int) -> Reached:
        """Search from batches of this rank on the whole graph; results go to the owners of vertices."""
        comm, rows, at, threads = ctx.comm, shared.rows, shared.at, shared.threads
        width, deepest = BATCH * threads, np.zeros(threads, np.int64)
        state = _state(threads, rows.masters, rows.slots)
        table, bits = tables(ctx.local.masters, len(at), keep)
        found, _ = tables(rows.masters, width, keep)
        for turn in passes(ctx, len(at), BATCH, threads * comm.size):
            found[:] = -1
            first = shared.first(turn, BATCH)
            self.team.run(
                one_pass, threads, at[first : first + width], 0, limit, *rows.into, *rows.pushed, *state.values(),
                found, deepest,
            )  # fmt: skip
            if table.shape[1]:
                _put(table, turn * comm.size * width, np.concatenate(shared.replica.to_owners(found.T)))
            if bits.shape[1]:
                words = np.concatenate(shared.replica.to_owners(_words(state["seen"])))
                _put(bits, turn * comm.size * threads * WORDS, words)
        far, reached = (shared.summed(state[name].sum(axis=0)) for name in ("far", "reached"))
        own = np.count_nonzero(lids_of(ctx.local, sources) >= 0)
        return Reached(far, reached, int(own + reached.sum()), comm.largest(int(deepest.max())), table, bits)

    def _over_ranks(self, comm, rows: WholeRows, threads: int, at, turn: int, limit: int, state: dict, table) -> int:
        """Search from a batch on each thread; newly reached bits go to ghosts after each round. Return the depth."""
        counts, chosen = np.zeros(threads, np.int64), np.zeros((threads, rows.masters), np.uint8)
        front, frontier = state["front"], state["frontier"]
        names = ("seen", "front", "frontier", "whole")
        self.team.run(begin_batch, threads, at, turn, counts, *(state[name] for name in names), table)
        for t in range(threads):
            chosen[t, frontier[t, : counts[t]]] = 1
        deepest = depth = 0
        while True:
            new = counts.copy()
            for t in range(threads):
                slots, (bits,) = rows.exchange(comm, chosen[t], front[t, : rows.masters])
                front[t, slots] = bits
                frontier[t, new[t] : new[t] + len(slots)] = slots
                counts[t] += len(slots)
            if not comm.total(int(new.sum())):
                return deepest
            deepest = depth
            if depth == limit:
                return deepest
            depth += 1
            self.team.run(
                one_level, threads, turn, depth, *rows.into, *rows.pushed, *state.values(), table, counts, chosen
            )  # fmt: skip


def _words(seen: np.ndarray) -> np.ndarray:
    """Return the words of all threads (words, masters), in the order of their batches."""
    return seen.transpose(0, 2, 1).reshape(len(seen) * WORDS, seen.shape[1])


def _put(table: np.ndarray, first: int, rows: np.ndarray) -> None:
    """Write rows to the columns of ``table`` from ``first`` on; those beyond its end belong to no source."""
    table[:, first : first + len(rows)] = rows[: max(table.shape[1] - first, 0)].T


def _state(threads: int, masters: int, slots: int) -> dict[str, np.ndarray]:
    """Return the arrays of a search, with a row for each thread, in the order in which kernels take them."""
    return {
        "seen": np.empty((threads, masters, WORDS), np.uint64), "front": np.empty((threads, slots, WORDS), np.uint64),
        "fresh": np.empty((threads, masters, WORDS), np.uint64), "whole": np.zeros((threads, WORDS), np.uint64),
        "marked": np.zeros((threads, masters), np.uint8), "frontier": np.empty((threads, slots), np.uint32),
        "found": np.empty((threads, masters), np.uint32), "far": np.zeros((threads, masters), np.int64),
        "reached": np.zeros((threads, masters), np.int64),
    }  # fmt: skip
