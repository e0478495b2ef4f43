"""Sums over the triangles at each vertex of the product of their edges' factors, on rows with a float for each edge."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.edge_triangles.edge_kernels import CHUNK, EdgeTriangles
from dgraph.backend.cpu.threads.atomics import OPTIONS, add_float_into, fetch_add
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
            sums = np.zeros(len(full.gids))
            for other in self._others(full, full.targets[full.lower]):
                place, taken, threads = self._scratch(full, len(full.targets))
                self.team.run(_products, threads, full.offsets, full.targets, full.values, *other, sums, place, taken)
            listed, twice = (np.bincount(full.sources, x, full.slots)[full.place] for x in (times, times == 2))
            pairs = listed * (listed - 1) - 2 * twice if arcs else listed * (listed - 1) / 2
            sums = full.returned(sums)
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


@njit(**OPTIONS)
def _products(
    t, threads, offsets, targets, values, low_offsets, low_targets, low_values, sums, places, taken
):  # fmt: skip
    place, last, alone = places[t], len(offsets) - 2, threads == 1
    while True:
        begin = fetch_add(taken, 0, CHUNK)
        if begin > last:
            return
        for v in range(last - begin, max(last - begin - CHUNK, -1), -1):
            first, stop = offsets[v], offsets[v + 1]
            for i in range(first, stop):
                place[targets[i]] = i - first + 1
            for i in range(first, stop):
                u = np.int64(targets[i])
                if u > v:
                    break
                for j in range(low_offsets[u], low_offsets[u + 1]):
                    w = np.int64(low_targets[j])
                    p = place[w]
                    if p and u < w < v:
                        product = values[i] * values[first + p - 1] * low_values[j]
                        add_float_into(sums, np.int64(v), product, alone)
                        add_float_into(sums, u, product, alone)
                        add_float_into(sums, w, product, alone)
            for i in range(first, stop):
                place[targets[i]] = 0
