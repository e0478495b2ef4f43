"""Values of vertices that parameters give by original id, as this rank's masters read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError


def values_of(ctx: Context, name: str, values: Mapping[int, float], other: float = 0.0) -> np.ndarray:
    """Return a value for each master, float64 (masters,), ``other`` for vertices that have none; collective.

    Args:
        ctx: context of the algorithm.
        name: of the parameter, for the message.
        values: original id → value.
        other: value of the other vertices.

    Raises:
        UsageError: on every rank, for a vertex that the graph does not have.
    """
    ids = np.array(sorted(values), np.int64)
    numbers = np.array([float(values[i]) for i in ids.tolist()])
    original = ctx.local.original[: ctx.local.masters]
    if not ids.size:
        return np.full(len(original), other)
    places = np.minimum(np.searchsorted(ids, original), ids.size - 1)
    mine = ids[places] == original
    met = np.zeros(ids.size, np.int64)
    met[places[mine]] = 1
    missing = ids[ctx.comm.allreduce(met) == 0]
    if missing.size:
        raise UsageError(f"{name} names vertex {missing[0]}, which the graph does not have; leave it out")
    return np.where(mine, numbers[places], other)


def shares_of(ctx: Context, name: str, weights: Mapping[int, float] | Sequence[int]) -> np.ndarray:
    """Return the share of each master, float64 (masters,); shares sum to 1 over all ranks; collective.

    Args:
        ctx: context of the algorithm.
        name: of the parameter, for messages.
        weights: original id → weight, or vertices of equal weight; others have none.

    Raises:
        UsageError: a vertex that the graph does not have, or weights that are negative, not finite or all 0.
    """
    return values_of(ctx, name, normalized(name, weights))


def normalized(name: str, weights: Mapping[int, float] | Sequence[int]) -> dict[int, float]:
    """Return original id → share, by ascending id; shares sum to 1.

    Args:
        name: of the parameter, for messages.
        weights: as of :func:`shares_of`.

    Raises:
        UsageError: weights that are negative, not finite or all 0.
    """
    pairs = weights if isinstance(weights, Mapping) else dict.fromkeys(weights, 1.0)
    numbers = np.array([float(pairs[i]) for i in sorted(pairs)])
    if not np.isfinite(numbers).all() or not (numbers >= 0).all() or not numbers.any():
        raise UsageError(f"{name} needs vertices with finite weights ≥ 0 that are not all 0")
    numbers /= numbers.max()  # so that the sum is finite
    return dict(zip(sorted(pairs), (numbers / numbers.sum()).tolist(), strict=True))
