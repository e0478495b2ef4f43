"""Rows of a graph in which walks draw: neighbours by ascending original id, parallel edges by ascending weight.

In this order the same draw takes the same edge on any partition. Sums of weights are added along a row in this order,
in float64, so that they have the same bits on every rank; sums of integers are exact below 2⁵³.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.kernels.walks.walk_request import WalkRequest
from dgraph.algorithms.weight_checks import any_negative, has_weights
from dgraph.backend.cpu.threads.atomics import OPTIONS, fetch_add
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.cpu.threads.team import Team
from dgraph.engine.rounds.context import Context
from dgraph.errors import DataError
from dgraph.graph.halo import NumberedRows

NONE = np.zeros(0)
"""No weights."""

ROWS = 4096
"""Rows that a thread sums at a time."""


@dataclass(frozen=True)
class WalkRows:
    """Rows of all vertices on one rank, or of a range of them on each.

    Attributes:
        ids: original ids of all vertices, ascending, int64 (n,).
        offsets: int64, from 0; ``targets``: numbers, uint32, places in ``ids``.
        weights: float64 (arcs,); empty where the walks do not need them.
        totals: running sums of the weights of each row, float64 (arcs,); empty where edges are drawn alike.
        numbered: the rows as they were sent; None: they are those of this rank's partition.
    """

    ids: np.ndarray
    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    totals: np.ndarray
    numbered: NumberedRows | None


def check_walk_weights(ctx: Context, request: WalkRequest) -> bool:
    """Return True if the walks read weights of the graph; collective.

    Raises:
        DataError: on every rank, for a weight that no edge can be drawn by: negative or infinite.
    """
    if not has_weights(ctx) or not (request.weighted or request.weights):
        return False
    if request.weighted:
        ctx.weighted = True
        if any_negative(ctx):
            ctx.refuse_weights(lambda weights: ~(weights >= 0), "random walks draw edges by weights, which must be ≥ 0")
    return True


def walk_rows(ctx: Context, request: WalkRequest, team: Team) -> WalkRows:
    """Return this rank's rows; collective.

    Raises:
        DataError: as :func:`check_walk_weights`, or the weights of a vertex sum to infinity.
    """
    local, comm = ctx.local, ctx.comm
    reads = check_walk_weights(ctx, request)
    numbered = None
    if comm.size == 1 and local.by_id and not (reads and local.repeats):
        ids, rows = local.original[: local.masters], local.out
        offsets, targets = rows.offsets, rows.neighbours.view(np.uint32)
        weights = rows.weights.astype(np.float64) if reads and rows.weights is not None else NONE
    else:
        numbered = ctx.rows("own", "id", weights=reads, simple=False)
        ids, offsets, targets = numbered.ids, numbered.offsets, numbered.targets
        weights = NONE if numbered.costs is None else numbered.costs
        if len(weights) and np.any(targets[1:] == targets[:-1]):  # perhaps parallel, of one row
            weights = weights[np.lexsort((weights, targets, numbered.sources))]
    if request.weights and not has_weights(ctx):
        weights = np.ones(len(targets))
    totals = NONE
    if request.weighted and reads:
        totals = running_sums(ctx, offsets, weights, team)
    return WalkRows(ids, offsets, targets, weights if request.weights else NONE, totals, numbered)


def running_sums(ctx: Context, offsets: np.ndarray, weights: np.ndarray, team: Team) -> np.ndarray:
    """Return the running sums of each row; collective.

    Raises:
        DataError: one is infinite.
    """
    totals = np.empty(len(weights))
    team.run(_sum_rows, team.size, offsets, weights, totals, np.zeros(1, np.int64))
    check_sums(ctx, bool(np.isinf(totals).any()))
    return totals


def check_sums(ctx: Context, infinite: bool) -> None:
    """Refuse sums that are infinite on some rank; collective."""
    if ctx.total(int(infinite)):
        raise DataError("random walks: the weights of a vertex's edges sum to infinity; scale the weights down")


@plain_first
@njit(**OPTIONS)
def _sum_rows(t, threads, offsets, weights, totals, taken):
    """Write the running sums of each row."""
    n = len(offsets) - 1
    while True:
        begin = fetch_add(taken, 0, ROWS)
        if begin >= n:
            return
        for v in range(begin, min(begin + ROWS, n)):
            total = 0.0
            for e in range(offsets[v], offsets[v + 1]):
                total += weights[e]
                totals[e] = total
