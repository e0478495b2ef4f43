"""Johnson's searches on a GPU (``source_searches.cuh``): a block of threads searches from a source."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of

TYPES = {"float32": "float", "float64": "double"}
"""dtype → its type in CUDA."""

OF_MARK = 4
"""Bytes of a vertex' mark."""

RESIDENT = 8
"""Most blocks of a multiprocessor that search at a time."""


@cache
def text(dtype: str) -> str:
    """Return the kernels' text for distances of ``dtype``."""
    return own_text(f"typedef {TYPES[dtype]} value_t;", "source_searches")


class SourceSearches:
    """Searches from many sources on a GPU; distances come to the host.

    Args:
        device: the GPU.
        method: "bellman-ford", which takes negative weights, or "dijkstra", which searches by reduced costs.
        rows: rows of all vertices.
        reduced: costs ≥ 0 of the arcs, float64; None: those of ``rows``.
        h: potentials that made them, float64 (n,).
        dtype: of distances.
    """

    def __init__(
        self, device: Any, method: str, rows: Any, reduced: np.ndarray | None, h: np.ndarray | None, dtype: np.dtype
    ):
        self.device, self.kernel, self.h = device, method.replace("-", "_"), None
        costs = rows.costs
        if method == "dijkstra" and reduced is not None:
            costs, self.h = reduced, h
        offsets = np.asarray(rows.offsets, np.int64)
        least = np.full(rows.n, np.inf, dtype)
        filled = np.flatnonzero(np.diff(offsets))
        if filled.size:
            arcs = np.ones(len(rows.targets), dtype) if costs is None else costs
            least[filled] = np.minimum.reduceat(arcs, offsets[filled]).astype(dtype)
        own = None if costs is None else device.put(costs.astype(dtype))
        self.arrays = device.put(offsets), device.put(rows.targets.astype(np.uint32)), own, device.put(least)
        self.module = device.module(text(dtype.name), "source_searches")

    def __call__(self, matrix: np.ndarray, first: int) -> None:
        """Set each row of ``matrix``, (k, n) on the host, to the distances from vertex ``first`` + row."""
        device, (rows, n) = self.device, matrix.shape
        blocks = min(rows, device.blocks * min(RESIDENT, self.module.resident(self.kernel)))
        distances = device.xp.empty(matrix.shape, matrix.dtype)
        marks = device.xp.empty(blocks * n, np.uint32)
        self.module.set_environment(words_of(device, (distances, rows, n, first, *self.arrays, marks)))
        self.module.launch(self.kernel, blocks)
        matrix[:] = device.get(distances)
        if self.h is not None:
            matrix += self.h[None, :] - self.h[first : first + rows, None]

    @staticmethod
    def bytes(rows: int, n: int, arcs: int, itemsize: int, multiprocessors: int) -> int:
        """Return the bytes of GPU memory of a call with ``rows`` rows."""
        return (
            rows * n * itemsize
            + min(rows, RESIDENT * multiprocessors) * n * OF_MARK
            + arcs * (4 + itemsize)
            + n * (8 + itemsize)
        )
