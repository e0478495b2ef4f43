"""Entries of a sparse matrix of SciPy, as rows or as single entries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import UsageError


class MatrixEntries(NamedTuple):
    """Entries of a square matrix: rows by ``offsets``, or ``sources`` of single entries.

    Attributes:
        n: rows.
        offsets: shape (n + 1,), or None.
        sources: row of each entry, or None.
        targets: column of each entry.
        weights: its value, or None if values are booleans.
    """

    n: int
    offsets: np.ndarray | None
    sources: np.ndarray | None
    targets: np.ndarray
    weights: np.ndarray | None


def is_matrix(value: object) -> bool:
    """Return True if ``value`` is a sparse matrix."""
    return all(hasattr(value, name) for name in ("tocoo", "tocsr", "shape", "nnz"))


def matrix_rows(matrix: Any, rows: bool) -> MatrixEntries:
    """Return the entries of a matrix, with ``rows`` as CSR if it is a CSR matrix.

    Raises:
        UsageError: not a sparse matrix, not square, or values that are not real numbers.
    """
    if not is_matrix(matrix):
        raise UsageError(f"got {type(matrix).__name__}; from_scipy takes a matrix or array of scipy.sparse")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise UsageError(f"got shape {tuple(matrix.shape)}; the matrix of a graph is square; make it so")
    if matrix.dtype.kind not in "biuf":
        raise UsageError(f"got values of {matrix.dtype}; a weight is a real number; convert the matrix")
    n = int(matrix.shape[0])
    if rows and getattr(matrix, "format", "") == "csr":
        return MatrixEntries(n, matrix.indptr, None, matrix.indices, None if matrix.dtype == bool else matrix.data)
    listed = matrix.tocoo()
    return MatrixEntries(n, None, listed.row, listed.col, None if matrix.dtype == bool else listed.data)
