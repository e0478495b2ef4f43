"""SciPy's matrices and graph algorithms, for what the engine has no algorithm of; calls are counted as the engine's."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.networkx_backend import calls
from dgraph.networkx_backend.converted_graph import declining

MOST = 2**30 - 2
"""Largest number that two arcs between the same nodes may each hold: SciPy adds both up in an int32."""


def matrix(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return a ``scipy.sparse.csr_array`` with 32-bit positions, which SciPy's graph algorithms need.

    Raises:
        NotImplementedError: SciPy is not installed, or there are more than 2^30 rows or entries.
    """
    with declining():
        sparse = extra("scipy.sparse", "this function")
    if max(*shape, rows.size) > MOST:
        raise NotImplementedError(f"SciPy's positions have 32 bits; the matrix has {rows.size} entries")
    return sparse.csr_array((values, (rows.astype(np.int32), columns.astype(np.int32))), shape=shape)


def entries(values: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and values of the entries of a matrix that are not 0."""
    with declining():
        return extra("scipy.sparse", "this function").find(values)


def scipy_call(name: str, *arguments: Any, **options: Any) -> Any:
    """Call an algorithm of ``scipy.sparse.csgraph``, and count the call."""
    with declining():
        graphs = extra("scipy.sparse.csgraph", "this function")
    calls[f"scipy {name}"] += 1
    return getattr(graphs, name)(*arguments, **options)
