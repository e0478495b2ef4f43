"""Draw of sources on a GPU: it lists the vertices of small hashes (``draw.cuh``), and the host sorts these."""

from __future__ import annotations

from functools import cache
from math import isqrt

import numpy as np

from dgraph.algorithms.many_sources.drawn_sources import hashed, smallest
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of
from dgraph.backend.row_solver import RowSolver
from dgraph.engine.rounds.context import Context

MANY = 8
"""Standard deviations by which more vertices are listed than are drawn."""


@cache
def text(ids: str) -> str:
    """Return the kernel's text; ``ids`` is the dtype of the array of original ids."""
    types = f"typedef {TYPES[ids]} original_t;"
    return own_text(types, "draw")


class GpuDraw(RowSolver):
    """Draw on one GPU."""

    def solve(self, ctx: Context, k: int, seed: int) -> np.ndarray:
        """Return the masters of the ``k`` smallest hashes, original ids in any order."""
        n, many = ctx.local.masters, k + MANY * isqrt(k) + 16
        if 2 * many >= n:
            return smallest(ctx, k, seed)
        device, graph = self.backend.device, self.backend.graph_of(ctx.local)
        xp, original = device.xp, graph.original
        listed_ids, count = xp.empty(2 * many, np.int64), xp.zeros(1, np.uint64)
        module = device.module(text(original.dtype.name), "draw")
        words = original, listed_ids, count, n, seed, 2 * many, (many << 64) // n
        module.set_environment(words_of(device, words))
        module.launch("draw", device.blocks * module.resident("draw"))
        listed = int(device.read(count)[0])
        if not k <= listed <= 2 * many:
            return smallest(ctx, k, seed)
        ids = device.get(listed_ids[:listed])
        return ids[np.argpartition(hashed(ids, seed), k - 1)[:k]]
