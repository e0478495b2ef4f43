"""Sums over arcs for certificates of fixed points: what arrives at each vertex, and the weights that leave it."""

from __future__ import annotations

import numpy as np

from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.host import host_sums
from dgraph.validate.rule import Rule


def arriving(distributed: DistributedColumns, values: np.ndarray) -> np.ndarray:
    """Return for each row the sum of the values of its in-neighbours, times the arcs' weights; collective."""
    return host_sums.arriving(distributed.prover.rows, values, _weights(distributed))


def departing(distributed: DistributedColumns, values: np.ndarray) -> np.ndarray:
    """Return for each row the sum of the values of its out-neighbours, times the arcs' weights; collective."""
    return host_sums.departing(distributed.prover.rows, values, _weights(distributed))


def _weights(distributed: DistributedColumns) -> np.ndarray:
    """Return the weights of this rank's arcs; an empty array if there are none."""
    weights = distributed.block.weights
    return np.zeros(0) if weights is None else weights


def leaving(distributed: DistributedColumns) -> np.ndarray:
    """Return for each row the sum of the absolute weights of its out-arcs; collective."""
    sums = np.zeros(distributed.block.rows)
    for piece in distributed.pieces():
        sums += np.bincount(piece.rows, np.abs(weights_of(distributed.block, piece)), len(sums))
    return sums


def weights_of(block, piece) -> np.ndarray:
    """Return the weights of a piece's arcs, float64; 1 without weights."""
    if block.weights is None:
        return np.ones(len(piece.rows))
    return np.asarray(block.weights[piece.start : piece.stop], np.float64)


def largest(distributed: DistributedColumns, values: np.ndarray) -> float:
    """Return the largest value of a column over all ranks, 0 if none is larger; collective."""
    return float(distributed.comm.allgather(np.array([values.max(initial=0.0)])).max())


def slack(distributed: DistributedColumns) -> float:
    """Return the relative error of a sum of n + arcs rounded numbers, four times over."""
    return 4 * (distributed.block.n + distributed.block.arcs + 16) * 2.0**-53


def near(
    distributed: DistributedColumns, claimed: np.ndarray, computed: np.ndarray, bound: float, rule: str, moved: str
) -> float:
    """Return the L1 difference of two columns; collective. ``moved``: begins the message, such as "hubs are off by".

    Raises:
        ValidationFailed: it exceeds the bound.
    """
    apart = np.abs(claimed - computed)
    change = distributed.sum(apart)
    if not change <= bound:
        text = f"{moved} {change:.3g} in L1, more than {bound:.3g}; {{v}} has {{x}}, and {{y}} was computed"
        broken = Rule(rule, text)
        broken.test(apart == largest(distributed, apart), {"v": distributed.gids}, {"x": claimed, "y": computed})
        distributed.judge(broken)
    return change
