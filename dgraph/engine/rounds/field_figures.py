"""Figures of a field on the host, each in one pass over a rank's masters; a GPU computes those of a field it holds."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit


def reached(values: np.ndarray, out_degree: np.ndarray) -> tuple[int, float, int]:
    """Return the number of distances, the largest one (0 if there are none), and the sum of those vertices' degrees.

    Args:
        values: shape (masters,); the dtype's largest value, or infinity, marks a vertex without a path.
        out_degree: int64 (masters,), in the whole graph.
    """
    if values.dtype.kind == "f":
        count, farthest, arcs = _finite(values, out_degree)
        return count, float(farthest), arcs
    return _below(values, np.iinfo(values.dtype).max, out_degree)


def _below_few(values, end, out_degree):
    here = values != end
    return (
        int(np.count_nonzero(here)),
        int(values.max(initial=0, where=here)),
        int(out_degree[: values.size][here].sum()),
    )


@njit(cache=True, nogil=True, few=_below_few)
def _below(values, end, out_degree):
    count, farthest, arcs = 0, 0, 0
    for v in range(len(values)):  # without branches, so that it becomes vector instructions
        here = values[v] != end
        count += here
        farthest = max(farthest, values[v] if here else 0)
        arcs += out_degree[v] if here else 0
    return count, farthest, arcs


@njit(cache=True, nogil=True)
def _finite(values, out_degree):
    count, farthest, arcs = 0, 0.0, 0
    for v in range(len(values)):
        if np.isfinite(values[v]):
            count += 1
            farthest = max(farthest, values[v])
            arcs += out_degree[v]
    return count, farthest, arcs
