"""Values of vertices that parameters give by original id, as this rank's masters read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError


def lids_of(local, vertices: np.ndarray) -> np.ndarray:
    """Return the master of each original id, int64; -1 for vertices of other ranks."""
    ids = local.original[: local.masters]
    if not len(ids) or not len(vertices):
        return np.full(len(vertices), -1)
    if local.ascending:
        place = np.minimum(np.searchsorted(ids, vertices), len(ids) - 1)
        return np.where(ids[place] == vertices, place, -1)
    distinct, place_of = np.unique(vertices, return_inverse=True)
    place = np.minimum(np.searchsorted(distinct, ids), len(distinct) - 1)
    lids = np.full(len(distinct), -1)
    masters = np.flatnonzero(distinct[place] == ids)
    lids[place[masters]] = masters
    return lids[place_of]


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
    lids = lids_of(ctx.local, ids)
    mine = lids >= 0
    missing = ids[ctx.comm.allreduce(mine.astype(np.int64)) == 0]
    if missing.size:
        raise UsageError(f"{name} names vertex {missing[0]}, which the graph does not have; leave it out")
    column = np.full(ctx.local.masters, other)
    column[lids[mine]] = numbers[mine]
    return column


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
