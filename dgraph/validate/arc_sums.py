"""Sums over arcs for certificates of fixed points: what arrives at each vertex, and the weights that leave it."""

from __future__ import annotations

import numpy as np

from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.host import host_sums


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
