"""Limits of searches that share a pass (``bfs_pass.py``, ``sssp_pass.py``), which the service reads at its start."""

from __future__ import annotations

MOST = 64
"""Searches of a pass: bits of a word."""

VALUES = 1 << 25
"""Most values in a column of all answers of a pass."""


def most_together(n: int) -> int:
    """Return the most searches that share a pass on a graph of ``n`` vertices; at least 1."""
    return max(1, min(MOST, VALUES // max(n, 1)))
