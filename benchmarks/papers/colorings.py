"""Algorithms 1 and 3 of paper 003 in NumPy, as printed: every uncoloured row is scanned in each round.

The cost of a round is that of wavefronts of 64 lanes, each lane a vertex in order of ids: a wavefront takes as many
steps as its longest uncoloured row has edges.
"""

from __future__ import annotations

import numpy as np

LANES = 64
SEED = 1


def literal(offsets: np.ndarray, targets: np.ndarray, hybrid: bool, switch: int | None) -> dict:
    """Colour a graph.

    Args:
        offsets, targets: rows of an undirected graph.
        hybrid: by degree first, where equal neighbours block each other.
        switch: last round by degree; None: it ends when a round colours no vertex.

    Returns:
        Rounds, colours, edges scanned ÷ edges, SIMD steps, and by round: active vertices, their largest degree,
        vertices coloured.
    """
    degree, n = np.diff(offsets), offsets.size - 1
    random = np.random.default_rng(SEED).permutation(n)
    open_, by_degree = np.ones(n, bool), hybrid
    full = np.flatnonzero(degree)
    active_by_round, largest, colored, means = [], [], [], []
    colors = scanned = steps = switched = 0
    while open_.any():
        key = degree if by_degree else random
        neighbours = np.where(open_[targets], key[targets], -1)
        highest = np.full(n, -1)
        highest[full] = np.maximum.reduceat(neighbours, offsets[:-1][full])
        chosen = open_ & (key > highest)
        rows = np.where(open_, degree, 0)
        active_by_round.append(int(open_.sum()))
        largest.append(int(rows.max()))
        means.append(float(degree[open_].mean()))
        colored.append(int(chosen.sum()))
        scanned += int(rows.sum())
        steps += int(np.maximum.reduceat(rows, np.arange(0, n, LANES)).sum())
        open_[chosen] = False
        colors += bool(chosen.any())
        if by_degree and (not chosen.any() if switch is None else len(colored) >= switch):
            by_degree, switched = False, len(colored) + 1
    return {
        "n": n, "rounds": len(colored), "colors": colors, "scanned": scanned / max(targets.size, 1), "simd": steps,
        "switched": switched, "active_by_round": active_by_round[:16], "largest_by_round": largest[:16],
        "colored_by_round": colored[:16], "mean_seventh": means[min(6, len(means) - 1)],
    }  # fmt: skip
