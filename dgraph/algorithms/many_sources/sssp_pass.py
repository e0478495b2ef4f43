"""Shortest paths of several runs in one pass: a lane for each (``searches_kernel.py``), answers as of single runs.

It is for integer weights above 0: then the predecessors of a vertex are the tight in-edges, and the first in the order
of ids is the smallest. Rounds of a single run have no counterpart here: each run is said to have taken one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.base import Algorithm, Answer, check_source
from dgraph.algorithms.distances import widened
from dgraph.algorithms.many_sources.bfs_pass import NONE, ids_of
from dgraph.algorithms.many_sources.drawn_sources import lids_of
from dgraph.algorithms.many_sources.lane_searches import LaneSearches, Rows, lane_type
from dgraph.algorithms.many_sources.lanes import equal_lanes
from dgraph.algorithms.many_sources.pass_limits import most_together
from dgraph.algorithms.many_sources.searches_kernel import rows_of_batch
from dgraph.algorithms.sssp import NEED, Sssp, default_delta
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.backend.cpu.threads.atomics import OPTIONS, trailing_zeros
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary

PLAIN = {"variant": "auto", "cutoff": None, "delta": None}
"""Settings of runs that can share a pass."""


def shares(works: Sequence[Algorithm], ctx: Context) -> bool:
    """Return True if the runs can be one pass: equal but for their sources, on one rank's CPU, rows sorted by id."""
    if not all(isinstance(work, Sssp) for work in works) or len(works) > most_together(ctx.local.n):
        return False
    settings, local = [work.settings() | {"source": None} for work in works], ctx.local
    kind = local.out.weight_type
    if kind is None or any(each != settings[0] or not PLAIN.items() <= each.items() for each in settings):
        return False
    low, most, _ = local.out.weight_range
    whole = low > 0 and lane_type(kind, int(most), local.n) == np.int32
    return bool(whole and ctx.comm.size == 1 and ctx.backend.name == "cpu" and local.ascending)


def search_together(ctx: Context, works: Sequence[Algorithm]) -> list[tuple[Answer, int]]:
    """Run the searches in one pass; return their answers, and the rounds that each is said to have taken.

    Raises:
        UsageError: a source is not a vertex.
        Cancelled: the pass was cancelled between two batches.
    """
    settings, local = [work.settings() for work in works], ctx.local
    sources = np.array([check_source(ctx, each["source"], "sssp") for each in settings], np.int64)
    tree, lanes, n = settings[0]["return_predecessors"], len(works), local.masters
    _, mean = largest_and_mean(ctx, NEED)
    ctx.weighted = True
    out = _rows(local.out)
    into = _rows(local.incoming) if local.directed else out
    searches = LaneSearches(out, into, np.dtype(np.int32), mean).on(1)
    distances = np.empty((lanes, n), np.int32)
    parents = np.full((lanes, n), NONE, np.uint32)
    at, (rows,) = lids_of(local, sources), searches.rows
    with ctx.record("compute"):
        for first in range(0, lanes, searches.lanes):
            rows_of_batch(0, 1, at, first, searches.lanes, *searches.arguments)
            some = slice(first, first + searches.lanes)
            if tree:
                smallest_parents(rows, *into, searches.none, parents[some])
            found = rows.T[: len(distances[some])]
            distances[some] = np.where(found == searches.none, np.iinfo(np.int32).max, found)
            message = "the search was cancelled between two batches; its answer is incomplete"
            boundary(ctx, message, first // searches.lanes + 1, len(found))
    answers = []
    for lane, source in enumerate(sources.tolist()):
        columns: dict[str, Callable[[], np.ndarray]] = {"distance": partial(widened, distances[lane])}
        if tree:
            columns["predecessor"] = partial(ids_of, parents[lane], local.original)
        here = distances[lane] != np.iinfo(np.int32).max
        summary = {"source": source, "reached": int(np.count_nonzero(here)), "delta": default_delta(ctx, mean)}
        answers.append((Answer(columns, summary, arcs=int(local.out_degree[:n][here].sum())), 1))
    return answers


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
