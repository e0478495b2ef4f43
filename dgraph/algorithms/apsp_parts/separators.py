"""Parts of a graph and a vertex separator between them, for elimination in nested order."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from dgraph.algorithms.apsp_parts.matrix_rows import MatrixRows
from partitioning.policies import metis


def parts_of(rows: MatrixRows, parts: int | None) -> np.ndarray:
    """Return the part of each vertex, int64 (n,), -1 in the separator; collective, equal on any number of ranks.

    Parts are METIS's, or else ranges of ids. The separator has the end in the lower part of each arc between parts.

    Args:
        rows: the arcs.
        parts: number of parts; None: about n ** (1/3), the least work where separators have √n vertices.
    """
    comm, n = rows.comm, rows.n
    parts = min(parts or max(2, round(n ** (1 / 3))), max(n, 1))
    counts = np.bincount(rows.source - rows.first, minlength=rows.stop - rows.first)
    arcs = comm.total(len(rows.source))
    block = SimpleNamespace(
        n=n, offsets=np.concatenate([[0], np.cumsum(counts)]), targets=rows.target.astype(np.uint32), arcs=arcs,
        directed=True,
    )  # fmt: skip
    if arcs and not metis.obstacle(block, comm):
        part = metis.metis(block, parts, comm).owner(np.arange(n)).astype(np.int64)
    else:
        part = np.arange(n) * parts // max(n, 1)
    one, other = part[rows.source], part[rows.target]
    shared = np.zeros(n, np.int64)
    shared[np.where(one < other, rows.source, rows.target)[one != other]] = 1
    return np.where(comm.allreduce(shared, "max") > 0, -1, part)
