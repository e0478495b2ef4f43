"""Smallest vertex that arcs join to each (``joined_trees.cuh``): trees of a rank's rows first, then of all ranks'."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates.row_kernels import RowKernels
from dgraph.backend.cuda.certificates.shared_columns import SharedColumns
from dgraph.backend.cuda.transports.bulk_moves import Leaving


def smallest_joined(kernels: RowKernels, shared: SharedColumns, rows: Any, join: str) -> Any:
    """Return the smallest gid that is joined to each vertex, uint32: by row on one rank, else of those it checks.

    Kernels read arrays by vertex afterwards, where there are several ranks. Collective.

    Args:
        kernels: the kernels, with the arrays that ``join`` reads.
        shared: columns of all ranks.
        rows: rows of this rank.
        join: kernel that joins rows along arcs.
    """
    xp, count = kernels.device.xp, len(rows.offsets) - 1
    joined = xp.empty(count, np.uint32)
    kernels.take(forest=xp.empty(count, np.uint32), lowest=xp.empty(count, np.uint32), joined_to=joined)
    for kernel in ("plant", join, "find_lowest", "name_lowest"):
        kernels.launch(kernel)
    if shared.alone:
        return joined
    with shared.comm.together():
        if rows.original is not None:
            by_row, joined = joined, xp.arange(shared.n, dtype=np.uint32)
            joined[rows.original] = by_row
        roots = xp.empty(shared.high - shared.low, np.uint32)
        kernels.take(forest=xp.arange(shared.n, dtype=np.uint32), lowest=None, joined_to=roots)

    def join_trees(_: int, first: int, piece: Any) -> None:
        kernels.take(pairs=piece)
        kernels.set(end=len(piece))
        kernels.launch("join_trees", first)

    shared.moves.move(np.uint32, dict.fromkeys(range(shared.comm.size), Leaving.of(joined)), join_trees)  # type: ignore[union-attr]
    kernels.by_vertex(shared.low, shared.high - shared.low)
    kernels.launch("find_roots")
    return roots
