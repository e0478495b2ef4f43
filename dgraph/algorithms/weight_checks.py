"""Checks of edge weights that algorithms make before they use them."""

from __future__ import annotations

import numpy as np

from dgraph.engine.rounds.context import Context
from dgraph.errors import DataError
from dgraph.result.columns import UNREACHED

MEANS = (2.0**-900, 2.0**900)
"""Range of the mean weight, in which a sum divided by it is neither infinite nor subnormal."""


def largest_and_mean(ctx: Context, need: str) -> tuple[float, float]:
    """Return the largest and the mean weight of all edges, or 1 and 1.0 if the graph has no weights; collective.

    Args:
        ctx: context of the algorithm.
        need: part of the error message: the algorithm that needs weights ≥ 0, and why.

    Raises:
        DataError: on every rank, for a negative or infinite weight; names the edge with the lowest ids.
    """
    kind = ctx.local.out.weight_type
    if kind is None:
        return 1, 1.0
    if any_negative(ctx):
        ctx.refuse_weights(lambda weights: ~(weights >= 0), need)
    _, most, here = ctx.local.out.weight_range
    with np.errstate(over="ignore"):  # of the sum; no mean exceeds the largest weight
        every, total = ctx.once("weights", lambda: (ctx.comm.allgather(np.array([most], kind)), ctx.total(here)))
    largest = every.max().item()
    return largest, min(total / max(ctx.local.arcs, 1), float(largest))


def refuse_mean(most: float, mean: float, use: str, effect: str = "changes no score") -> None:
    """Raise a :class:`DataError` if scores that are sums of products with weights might be infinite or vanish.

    Args:
        most: largest weight, ≥ 0.
        mean: mean weight.
        use: part of the error message: what an algorithm does with weights.
        effect: part of it: what another unit of the weights changes.
    """
    low, high = MEANS
    if most and not low <= mean <= high:
        raise DataError(
            f"the mean weight is {mean:g}, and {use}, which takes {low:.3g} to {high:.3g}; multiply all weights by one "
            f"number, which {effect}"
        )


def has_weights(ctx: Context) -> bool:
    """Return True if the graph has weights."""
    return ctx.local.out.weight_type is not None


def any_negative(ctx: Context) -> bool:
    """Return True if an edge of the graph has a negative weight; collective.

    Raises:
        DataError: on every rank, for an infinite weight; names the edge with the lowest ids.
    """
    if not has_weights(ctx):
        return False
    low, *_ = ctx.local.out.measured(ctx.backend.host_threads)
    ctx.check_weights()
    return bool(ctx.once("negative weights", lambda: ctx.total(not low >= 0)))


def largest_magnitude(ctx: Context) -> float:
    """Return the largest absolute value of a weight; collective."""
    low, most, _ = ctx.local.out.weight_range
    return float(ctx.comm.allgather(np.array([abs(float(low)), abs(float(most))])).max())


def overflow_error(vertex: int | str, end: float, what: str = "a distance through") -> DataError:
    """Make the error for a distance through a vertex that exceeds ``end``, the largest number of its dtype."""
    return DataError(f"{what} vertex {vertex} passes {end:.3g}; use small weights or floats")


def refuse_through(ctx: Context, vertices: np.ndarray, end: float, what: str = "a distance through") -> None:
    """Raise :func:`overflow_error` with the smallest id on all ranks; collective.

    Args:
        ctx: context of the algorithm.
        vertices: original ids, int64, of vertices through which distances overflowed; empty: no error of this rank.
        end: largest number of the distances' dtype.
        what: beginning of the message, before the vertex.
    """
    vertex = int(ctx.comm.allreduce(np.array([vertices.min(initial=UNREACHED)]), "min")[0])
    if vertex != UNREACHED:
        raise overflow_error(ctx.called(vertex), end, what)
