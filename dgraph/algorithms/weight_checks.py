"""What algorithms ask of the edges' weights before they use them."""

from __future__ import annotations

import numpy as np

from dgraph.engine.rounds.driver import Context


def largest_and_mean(ctx: Context, need: str) -> tuple[float, float]:
    """Return the largest and the mean weight of all edges, 1 and 1.0 where the graph has no weights; collective.

    Args:
        need: of the error: which algorithm needs weights ≥ 0, and why.

    Raises:
        DataError: on every rank, for a weight that is negative or infinite, with the lowest such edge.
    """
    kind = ctx.local.out.weight_type
    if kind is None:
        return 1, 1.0
    ctx.check_weights()
    low, most, here = ctx.local.out.weight_range
    if ctx.total(not low >= 0):
        ctx.refuse_weights(lambda weights: ~(weights >= 0), need)
    every = ctx.comm.allgather(np.array([most], kind))
    total = ctx.total(here)
    return every.max().item(), total / max(ctx.local.arcs, 1)
