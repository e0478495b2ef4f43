"""Counts of the values of a distributed column: only counts are gathered, never the column."""

from __future__ import annotations

import numpy as np

from dgraph.comm.base import Comm

BINS = 60
"""Bins of a histogram."""


def counted(values: np.ndarray, comm: Comm) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of all ranks, ascending, and how often each stands; equal on all ranks; collective.

    Args:
        values: int64, this rank's.
        comm: communicator of the ranks.
    """
    return summed(*np.unique(values, return_counts=True), comm)


def summed(values: np.ndarray, counts: np.ndarray, comm: Comm) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of all ranks and the sums of their counts; collective."""
    pairs = np.ascontiguousarray(np.stack([values, counts], axis=1), np.int64).ravel()
    every = np.concatenate(comm.allgatherv(pairs)).reshape(-1, 2)
    distinct, places = np.unique(every[:, 0], return_inverse=True)
    sums = np.zeros(distinct.size, np.int64)
    np.add.at(sums, places, every[:, 1])
    return distinct, sums


def class_sizes(labels: np.ndarray, comm: Comm) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct sizes of classes, ascending, and the number of classes of each; collective.

    A class is all vertices of one label. The counts of a label meet on one rank, so none holds all labels.

    Args:
        labels: int64, this rank's; no label is negative.
        comm: communicator of the ranks.
    """
    distinct, counts = np.unique(labels, return_counts=True)
    owners = distinct % comm.size
    parts = [np.stack([distinct, counts])[:, owners == rank].ravel() for rank in range(comm.size)]
    received = [part.reshape(2, -1) for part in comm.alltoallv(parts)]
    mine, places = np.unique(np.concatenate([part[0] for part in received]), return_inverse=True)
    sizes = np.zeros(mine.size, np.int64)
    np.add.at(sizes, places, np.concatenate([part[1] for part in received]))
    return counted(sizes, comm)


def histogram(values: np.ndarray, comm: Comm) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of bins of equal width, float64 (BINS + 1,), and their counts, int64 (BINS,); collective."""
    values = values.astype(np.float64)
    ends = np.array([-values.min(initial=np.inf), values.max(initial=-np.inf)])
    low, high = comm.allreduce(ends, "max") * (-1, 1)
    if low > high:
        low, high = 0.0, 1.0
    counts, edges = np.histogram(values, BINS, (low, high))
    return edges, comm.allreduce(counts.astype(np.int64))
