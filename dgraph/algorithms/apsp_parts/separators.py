"""Parts of a graph and a vertex separator between them, for elimination in nested order."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from dgraph.graph.halo import NumberedRows
from partitioning.policies import metis


def parts_of(rows: NumberedRows, parts: int | None) -> np.ndarray:
    """Return the part of each vertex, int64 (n,), -1 in the separator; collective, equal on any number of ranks.

    Parts are METIS's, or else ranges of ids. The separator has the end in the lower part of each arc between parts.

    Args:
        rows: the arcs.
        parts: number of parts; None: about n ** (1/3), the least work where separators have √n vertices.
    """
    comm, n = rows.comm, rows.n
    parts = min(parts or max(2, round(n ** (1 / 3))), max(n, 1))
    arcs = comm.total(len(rows.sources))
    block = SimpleNamespace(
        n=n, offsets=rows.offsets, targets=rows.targets, arcs=arcs,
        directed=True,
    )  # fmt: skip
    if arcs and not metis.obstacle(block, comm):
        part = metis.metis(block, parts, comm).owner(np.arange(n)).astype(np.int64)
    else:
        part = np.arange(n) * parts // max(n, 1)
    one, other = part[rows.sources], part[rows.targets]
    shared = np.zeros(n, np.int64)
    shared[np.where(one < other, rows.sources, rows.targets)[one != other]] = 1
    return np.where(comm.allreduce(shared, "max") > 0, -1, part)
