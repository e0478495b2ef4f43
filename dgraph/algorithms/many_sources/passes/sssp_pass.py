"""Shortest paths of several runs in one pass: a lane for each (``searches_kernel.py``), answers as of single runs.

It is for integer weights above 0: then the predecessors of a vertex are the tight in-edges, and the first in the order
of ids is the smallest. Rounds of a single run have no counterpart here: each run is said to have taken one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.many_sources.lane_searches import LaneSearches, Rows, lane_type
from dgraph.algorithms.many_sources.lanes import equal_lanes
from dgraph.algorithms.many_sources.passes.run_pass import NONE, RunPass, Searched
from dgraph.algorithms.many_sources.searches_kernel import rows_of_batch
from dgraph.algorithms.sssp import NEED, Sssp, default_delta
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.backend.cpu.threads.atomics import OPTIONS, trailing_zeros
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary

PLAIN = {"variant": "auto", "cutoff": None, "delta": None, "target": None}
"""Settings of runs that can share a pass."""

UNREACHED = np.iinfo(np.int32).max
"""Distance without a path."""


class SsspPass(RunPass):
    """Searches that return what ``sssp`` does."""

    kind = Sssp

    def suits(self, settings: dict[str, Any], ctx: Context) -> bool:
        """Return True for plain settings and integer weights above 0, whose sums fit int32."""
        weights = ctx.local.out.weight_type
        if weights is None or not PLAIN.items() <= settings.items():
            return False
        low, most, _ = ctx.local.out.weight_range
        return bool(low > 0 and lane_type(weights, int(most), ctx.local.n) == np.int32)

    def searched(self, ctx: Context, settings: dict[str, Any], lids: np.ndarray) -> Searched:
        """Search from one batch of lanes after the other."""
        local, lanes, n = ctx.local, len(lids), ctx.local.masters
        _, mean = largest_and_mean(ctx, NEED)
        ctx.weighted = True
        outward = _rows(local.out)
        into = _rows(local.incoming) if local.directed else outward
        searches = LaneSearches(outward, into, np.dtype(np.int32), mean, 1)
        distances, parents = np.empty((lanes, n), np.int32), np.full((lanes, n), NONE, np.uint32)
        (rows,) = searches.rows
        with ctx.record("compute"):
            for first in range(0, lanes, searches.lanes):
                rows_of_batch(0, 1, lids, first, searches.lanes, *searches.arguments)
                batch = slice(first, first + searches.lanes)
                if settings["return_predecessors"]:
                    smallest_parents(rows, *into, searches.none, parents[batch])
                values = rows.T[: len(distances[batch])]
                distances[batch] = np.where(values == searches.none, UNREACHED, values)
                message = "the search was cancelled between two batches; its answer is incomplete"
                boundary(ctx, message, first // searches.lanes + 1, len(values))
        runs: list = []
        for row in distances:
            reached = row != UNREACHED
            summary = {"reached": int(np.count_nonzero(reached)), "delta": default_delta(ctx, mean)}
            runs.append((summary, int(local.out_degree[:n][reached].sum()), 1))
        return distances, parents, runs


def _rows(rows: Any) -> Rows:
    """Return rows with weights of int32."""
    return rows.offsets, rows.neighbours.view(np.uint32), rows.weights.astype(np.int32)


@njit(**OPTIONS)
def smallest_parents(distance, into, tails, tolls, none, parents):
    """Write, for each lane, the first in-neighbour of a vertex with a tight edge to row ``lane`` of ``parents``."""
    whole = (1 << len(parents)) - 1
    for v in range(len(into) - 1):
        missing, e = whole, into[v]
        while missing and e < into[v + 1]:
            u = np.int64(tails[e])
            bits = equal_lanes(distance, u, v, tolls[e], none) & missing
            missing &= ~bits
            while bits:
                parents[trailing_zeros(bits), v] = u
                bits &= bits - 1
            e += 1
