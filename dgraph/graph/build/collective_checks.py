"""Check that the arrays users pass on the ranks fit together; errors are raised on all ranks."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm import Comm
from dgraph.comm.hosts import ranks_here
from dgraph.comm.memory import free_memory
from dgraph.errors import DataError, OutOfMemory, UsageError
from dgraph.graph.build.array_input import check_weights


def unify_weights(weights: np.ndarray | None, edges: int, comm: Comm) -> np.ndarray | None:
    """Return weights of one dtype on all ranks, or None if no rank passed any; collective.

    A rank without edges may pass None.

    Raises:
        UsageError: a rank with edges passed no weights while others did.
        DataError: a weight that is NaN.
    """
    passed = comm.allgather_json([None if weights is None else weights.dtype.name, edges])
    dtypes = [np.dtype(name) for name, _ in passed if name]
    if not dtypes:
        return None
    for rank, (name, count) in enumerate(passed):
        if name is None and count:
            raise UsageError(f"rank {rank} passed no weights, others did; pass weights on every rank, or on none")
    with comm.together():
        weights = np.empty(0, dtypes[0]) if weights is None else weights
        weights = weights.astype(np.result_type(*dtypes), copy=False)
        check_weights(weights, "weights")
    return weights


def count_vertices(n: int | None, columns: Sequence[np.ndarray], comm: Comm) -> int:
    """Return the number of vertices: ``n`` if given, else one more than the largest id in ``columns``; collective.

    Raises:
        UsageError: ranks passed different n, n is below 1, or n is None and no rank has an edge.
        DataError: ids far larger than the number of edges.
    """
    sizes = comm.allgather_json(None if n is None else int(n))
    if any(value != sizes[0] for value in sizes):
        raise UsageError(f"n is {sizes} on the ranks; pass the same n on all")
    if n is not None:
        if n < 1:
            raise UsageError(f"n is {n}; a graph has at least one vertex")
        return int(n)
    largest = comm.largest(max(int(array.max()) if array.size else -1 for array in columns))
    edges = comm.total(max(array.size for array in columns))
    if largest < 0:
        raise UsageError("no edge on any rank, so the number of vertices is unknown; pass n")
    if largest + 1 > 1000 * edges + 10**6:
        raise DataError(
            f"ids go up to {largest}, but there are only {edges} edges; pass sparse_ids=True, "
            "and the ids that occur are the vertices; or n, to have them all"
        )
    return largest + 1


def refuse_too_many(n: int, comm: Comm) -> None:
    """Refuse more vertices than this rank's host has memory for: 8 bytes each for the offsets of rows; collective."""
    cure = "pass sparse_ids=True, and the ids that occur are the vertices"
    refuse_beyond_memory(f"n = {n:,} vertices take", 8 * n, "", cure, comm)


def refuse_beyond_memory(what: str, size: float, when: str, cure: str, comm: Comm) -> None:
    """Refuse what takes more memory than this rank's host has; ``size`` is the bytes of all ranks; collective."""
    here, free = len(ranks_here(comm)), free_memory()
    need = size * here // comm.size
    with comm.together():
        if free is not None and need > free:
            raise OutOfMemory(
                f"{what} {need / 2**30:,.1f} GiB or more{when}, and {free / 2**30:,.1f} GiB are free on "
                f"{socket.gethostname()} for {here} of {comm.size} ranks; use more machines, or {cure}"
            )


@njit(cache=True)
def is_clean(offsets, targets, weights, first, loops, parallel):
    """Return True if every row is sorted by target (then weight) and has no loop or repeat that is not kept."""
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if not loops and np.int64(targets[i]) == row + first:
                return False
            if i == offsets[row] or targets[i] > targets[i - 1]:
                continue
            if not parallel or targets[i] < targets[i - 1]:
                return False
            if weights is not None and weights[i] < weights[i - 1]:
                return False
    return True
