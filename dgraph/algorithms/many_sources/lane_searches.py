"""Arrays of searches by weights with a lane for each source, on the threads of a rank (``searches_kernel.py``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.lanes import LINE, cache_lines
from dgraph.graph.halo import NumberedRows
from dgraph.graph.rows import transpose

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Offsets int64 (n + 1,), neighbours uint32, costs of the dtype of distances."""

NONE = 2**30
"""Distance of lanes of int32 without a path; the largest weight is below it, so sums do not overflow."""

BYTES = 110
"""Bytes of a search for each vertex and thread."""


def lane_type(kind: np.dtype | None, most: float, n: int) -> np.dtype:
    """Return the dtype of distances: int32 where they fit, else float64; ``kind`` and ``most`` are of the weights."""
    integral = kind is None or kind.kind != "f"
    return np.dtype(np.int32 if integral and most * n < NONE else np.float64)


class LaneSearches:
    """Searches on the whole graph.

    Attributes:
        lanes: sources of a batch, at most.
        none: distance without a path.
        width: range of distances of the near queue.
        limit: largest distance to find, float64.
        graph: rows of out-arcs, then of in-arcs: offsets, neighbours, costs.
        rows: distances, (threads, n, lanes).
        scratch: further arrays of the kernel, with a row for each thread.
    """

    def __init__(
        self, outward: Rows, into: Rows, dtype: np.dtype, mean: float, threads: int, limit: float | None = None
    ):
        self.graph, self.lanes, n = (*outward, *into), LINE // dtype.itemsize, len(outward[0]) - 1
        self.limit = np.float64(np.inf if limit is None else limit)
        self.width, self.none = dtype.type(mean), dtype.type(NONE if dtype.kind == "i" else np.inf)
        self.rows = cache_lines(threads, n, dtype=dtype)
        self.scratch = (
            np.empty((threads, n), dtype), np.empty((threads, 2, n), np.uint32), np.empty((threads, n), np.uint8)
        )  # fmt: skip

    @classmethod
    def of(
        cls, rows: NumberedRows, dtype: np.dtype, mean: float, threads: int, limit: float | None = None
    ) -> LaneSearches:
        """Return searches on rows of all vertices; arcs without weights cost 1."""
        costs = np.ones(len(rows.targets), dtype) if rows.costs is None else rows.costs.astype(dtype)
        outward = *rows.out, costs
        into: Any = transpose(rows.n, *outward) if rows.directed else outward
        return cls(outward, into, dtype, mean, threads, limit)

    @property
    def arguments(self) -> tuple:
        """Arguments of kernels: the graph, width, limit and none, rows, scratch."""
        return (*self.graph, self.width, self.limit, self.none, self.rows, *self.scratch)
