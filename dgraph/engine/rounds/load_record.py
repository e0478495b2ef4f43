"""Edges visited by thread block, warp and thread of a GPU, recorded with ``--record load``.

Every round keeps the max and mean over its thread blocks; the first and the heaviest rounds, and the sum over all
rounds, keep the distribution. Main entry: :class:`LoadRecord`.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.backend.round_stats import RoundStats

WARP = 32
FIRST, HEAVIEST = 3, 3
"""Rounds whose distribution is kept: the first ones, and those with the most edges among the others."""


NO_THREADS = np.zeros((0, WARP), np.int64)
"""Edges of no threads, in runs that count none."""


class LoadRecord:
    """Edge counts of one rank's rounds."""

    def __init__(self) -> None:
        self._first: list[dict] = []
        self._heaviest: list[tuple[int, int, dict]] = []
        self._blocks: dict[str, np.ndarray] = {}
        self._threads = NO_THREADS

    def add(self, round: int, stats: RoundStats) -> tuple[int, float]:
        """Add the edges of one round; return the max and the mean over its thread blocks."""
        if not stats.edges:
            return 0, 0.0
        whole = _sum(stats.edges)
        self._threads = _padded_sum(self._threads, whole)
        by_block = {kernel: edges.sum(axis=1) for kernel, edges in stats.edges.items()}
        for kernel, blocks in by_block.items():
            self._blocks[kernel] = _padded_sum(self._blocks.get(kernel, blocks[:0]), blocks)
        total = int(whole.sum())
        if len(self._first) < FIRST:
            self._first.append(_round(round, stats, by_block, whole))
        elif len(self._heaviest) < HEAVIEST or total > self._heaviest[0][0]:
            row = (total, -round, _round(round, stats, by_block, whole))
            (heapq.heappush if len(self._heaviest) < HEAVIEST else heapq.heappushpop)(self._heaviest, row)
        blocks = whole.sum(axis=1)
        return int(blocks.max()), float(blocks.mean())

    def facts(self) -> dict[str, Any] | None:
        """Return ``ranks[i].load`` of ``schema.json``; None if no edges were counted."""
        if not self._threads.size:
            return None
        rounds = [*self._first, *(row for _, _, row in self._heaviest)]
        return {
            "blocks": self._threads.shape[0],
            "threads": self._threads.shape[1],
            **spread(self._threads),
            "by_block": {kernel: blocks.tolist() for kernel, blocks in self._blocks.items()},
            "rounds": sorted(rounds, key=lambda row: row["round"]),
        }


def spread(edges: np.ndarray) -> dict[str, Any]:
    """Return total edges and their statistics by block, warp and thread; ``edges`` is int64 (blocks, threads)."""
    warps = edges.reshape(len(edges), -1, WARP).sum(axis=2)
    return {
        "edges": int(edges.sum()),
        "block": statistics(edges.sum(axis=1)),
        "warp": statistics(warps.ravel()),
        "thread": statistics(edges.ravel()),
    }


def statistics(values: np.ndarray) -> dict[str, Any]:
    """Return min, max, mean, standard deviation, max / mean, and a histogram of bins 0, 1, 2 to 3, 4 to 7 and so on."""
    most, mean = int(values.max()), float(values.mean())
    bins = np.bincount(np.frexp(values.astype(np.float64))[1], minlength=1)
    return {
        "min": int(values.min()),
        "max": most,
        "mean": round(mean, 3),
        "deviation": round(float(values.std()), 3),
        "ratio": round(most / mean, 4) if mean else None,
        "histogram": bins.tolist(),
    }


def _round(number: int, stats: RoundStats, by_block: Mapping[str, np.ndarray], whole: np.ndarray) -> dict[str, Any]:
    blocks = {kernel: edges.tolist() for kernel, edges in by_block.items()}
    return {"round": number, "schedule": stats.schedule, **spread(whole), "by_block": blocks}


def _sum(parts: Mapping[str, np.ndarray]) -> np.ndarray:
    whole = np.zeros((0, WARP), np.int64)
    for part in parts.values():
        whole = _padded_sum(whole, part)
    return whole


def _padded_sum(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Add two arrays row by row, the shorter padded with zeros: kernels have grids of different sizes."""
    if len(one) > len(other):
        one, other = other, one
    total = other.copy()
    if len(one):
        total[: len(one)] += one
    return total
