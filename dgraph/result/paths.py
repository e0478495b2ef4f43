"""Shortest paths out of distributed predecessors: each rank follows the predecessors that are its own vertices.

A path crosses ranks a segment at a time: the rank that holds a vertex follows predecessors until it meets one of
another rank, and sends the segment to all. So a path costs one allgather for each change of rank, not for each edge.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import UsageError

NONE = -1
"""Predecessor of the source, and of unreached vertices."""


def followed(columns: Mapping[str, np.ndarray], end: int, comm: Comm) -> list[int] | None:
    """Return the vertices from the first one of the chain of predecessors to ``end``; collective.

    Args:
        columns: this rank's ``vertex`` (int64, ascending) and ``predecessor``, by number.
        end: number of the last vertex.
        comm: communicator of the ranks.

    Returns:
        Numbers of vertices, equal on all ranks; None if no rank holds ``end``.
    """
    vertex, predecessor = columns["vertex"], columns["predecessor"]
    first = int(vertex[0]) if vertex.size else 0
    dense = vertex.size > 0 and int(vertex[-1]) - first + 1 == vertex.size
    path: list[int] = []
    v = int(end)
    while v != NONE:
        segment = []
        row = _find_row(vertex, v, first, dense)
        while row is not None:
            segment.append(v)
            v = int(predecessor[row])
            row = None if v == NONE else _find_row(vertex, v, first, dense)
        if comm.size > 1:
            parts = comm.allgatherv(np.array([*segment, v] if segment else [], np.int64))
            segment = np.concatenate(parts).tolist()
            if segment:
                v = segment.pop()
        if not segment:
            break
        path += segment
    return path[::-1] or None


def _find_row(vertex: np.ndarray, wanted: int, first: int, dense: bool) -> int | None:
    """Return the row of a vertex on this rank; None if another rank holds it."""
    if dense:
        row = wanted - first
        return row if 0 <= row < vertex.size else None
    row = int(np.searchsorted(vertex, wanted))
    return row if row < vertex.size and vertex[row] == wanted else None


def refuse_without_predecessors(algorithm: str, columns: Mapping[str, np.ndarray]) -> None:
    """Raise a :class:`UsageError` if the result holds no predecessors."""
    if "predecessor" in columns:
        return
    if "distance" in columns:
        raise UsageError(
            f"a path follows predecessors, and this result of {algorithm} has none; run it with "
            "return_predecessors=True, the default"
        )
    raise UsageError(f"a path follows predecessors, and {algorithm} finds none; run bfs or sssp")
