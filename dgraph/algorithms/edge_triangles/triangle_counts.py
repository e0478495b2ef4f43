"""Triangles at every vertex of a distributed graph, counted on oriented rows.

An edge leads to its end of higher degree, so that no row is long [Chiba & Nishizeki 1985]. Each rank counts the
triangles whose lowest corner it owns. Rows of middle corners come from their owners, some at a time, so that a rank
never holds many more of others' edges than of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary
from dgraph.graph.halo import DegreeRows

CANCELLED = "the run was cancelled before its triangles were counted"

PARTS = 16
"""Parts of a count of many triangles: a run may be interrupted between two, and shows progress."""

SMALL = 1 << 14
"""Vertices up to which a count is one part."""


def triangles_at(ctx: Context, counter_of: Callable[[DegreeRows], Any], threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of triangles at each master and its number of distinct neighbours; collective.

    Loops are left out, and parallel edges count once. ``counter_of`` makes a counter for oriented rows,
    which threads build.

    Returns:
        two int64 arrays (masters,).
    """
    with ctx.record("compute"):
        rows = ctx.rows("ghosts", "degree", oriented=True, threads=threads)
        counter, number = counter_of(rows), 0
        parts = PARTS if ctx.local.n > SMALL else 1
        for offsets, targets in chain([(rows.offsets, rows.targets)], rows.pieces()):
            for middles in counter.count(offsets, targets, parts):
                number += 1
                boundary(ctx, CANCELLED, number, middles)
        neighbours = np.diff(rows.offsets) + np.diff(rows.entering[0])
        return rows.returned(counter.counts), rows.returned(neighbours)
