"""Sums over the triangles at each vertex of the product of their edges' factors, on rows with a float for each edge."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.edge_triangles.edge_kernels import EdgeTriangles
from dgraph.engine.rounds.context import Context
from dgraph.graph.halo import DegreeRows
from dgraph.graph.halo.collected_arcs import ROW


class NeighbourProducts(EdgeTriangles):
    """Clustering coefficients from products of factors, whose rows lie whole on one rank."""

    def solve(self, ctx: Context, arcs: bool, weighted: bool) -> tuple[np.ndarray, float]:
        """Return the coefficient of each master, float64 (masters,), and their sum over all ranks; collective.

        Args:
            ctx: context of the algorithm.
            arcs: the graph lists an edge of both directions twice.
            weighted: the factor of an arc is the cube root of its share of the largest weight; else 1.
        """
        with ctx.record("compute"):
            full = ctx.rows("ghosts", "degree")
            times = full.values
            full.values = _factors(ctx, full) if weighted else times.astype(np.float64)
            sums = self.at_corners(full, np.zeros(len(full.gids)), products=True)
            listed, twice = (np.bincount(full.sources, x, full.slots)[full.place] for x in (times, times == 2))
            pairs = listed * (listed - 1) - 2 * twice if arcs else listed * (listed - 1) / 2
        shares = sums / np.maximum(pairs, 1)  # without a pair there is no triangle
        return shares, ctx.total(float(shares.sum()))


def _factors(ctx: Context, full: DegreeRows) -> np.ndarray:
    """Return the sum over the arcs of each entry of the cube roots of their weights, by that of the largest."""
    local, rows = ctx.local, ctx.local.out
    sources = np.repeat(np.arange(local.masters), np.diff(rows.offsets[: local.masters + 1]))
    targets, weights = rows.neighbours.view(np.uint32), np.asarray(rows.weights, np.float64)
    other = sources != targets
    sources, targets, weights = sources[other], targets[other], weights[other]
    largest = ctx.comm.allgather(np.array([weights.max(initial=0.0)])).max()
    keys = full.place[sources].astype(np.uint64) << ROW | full.numbers(local.gids[targets]).astype(np.uint64)
    entries = np.searchsorted(full.sources.astype(np.uint64) << ROW | full.targets, keys)
    return np.bincount(entries, np.cbrt(weights / (largest or 1.0)), len(full.targets))
