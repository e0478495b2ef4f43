"""Core numbers by peeling and by H-index estimates: rounds, exchanges and visited edges.

Plain serial loops count the work of a GPU's rounds. Nothing is timed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit

import dgraph
from benchmarks import record

GRAPHS = {
    "rmat16": "rmat:16,symmetric", "rmat18": "rmat:18,symmetric",
    "road1000": "road:1000x1000", "grid300": "grid:300x300",
}  # fmt: skip
PARTS = (1, 2, 4)
FEW = 1 << 18
"""Edges of lowered vertices up to which a part continues without an exchange; as the GPU's ``SMALL_MULTI_GPU``."""


def measure(graphs: list[str], folder: Path) -> None:
    """Write ``estimates.json`` and ``.md``."""
    rows = []
    for name in graphs:
        block = dgraph.Graph.load(GRAPHS[name]).undirected().block
        offsets, targets = block.offsets, block.targets.astype(np.int64)
        for parts in PARTS:
            owner = np.arange(block.n) * parts // block.n
            cores = np.zeros(block.n, np.int64)
            peeled, alone = peel(offsets, targets, owner, cores)
            estimates, edges = cores.copy(), np.zeros(2, np.int64)
            rounds, exchanges = estimate(offsets, targets, owner, FEW, estimates, edges)
            if not np.array_equal(estimates, cores):
                raise RuntimeError(f"{name}: estimates fell to other numbers than peeling finds")
            looked, told = edges / max(len(targets), 1)
            rows.append({
                "graph": name, "edges": len(targets), "largest": int(cores.max()), "parts": parts, "peeling": peeled,
                "peeling_alone": alone, "rounds": rounds, "exchanges": exchanges, "looked": looked, "told": told,
            })  # fmt: skip
    circumstances = record.circumstances(("numpy", "numba"))
    record.write(folder, "estimates", {"circumstances": circumstances, "rows": rows}, _table(rows))


def _table(rows: list[dict]) -> str:
    lines = [
        "| graph | largest core number | parts | peeling: rounds | exchanges, each part alone to the end of a level | "
        "estimates: rounds | exchanges | edges looked at | edges of fallen |",
        "|-" * 9 + "|",
    ]
    lines += [
        f"| {row['graph']} | {row['largest']:,} | {row['parts']} | {row['peeling']:,} | {row['peeling_alone']:,} | "
        f"{row['rounds']:,} | {row['exchanges']:,} | {row['looked']:.2f} m | {row['told']:.2f} m |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


@njit(cache=True)
def peel(offsets, targets, owner, cores):
    """Fill ``cores`` by peeling; return its rounds, and its exchanges if a part peels alone to the end of a level."""
    n = len(owner)
    left, turns = np.diff(offsets), np.zeros(n, np.int64)  # the round of its level in which v is dropped
    rounds = dropped = k = 0
    while dropped < n:
        wave = [np.int64(v) for v in range(n) if turns[v] == 0 and left[v] <= k]
        for v in wave:
            turns[v] = 1
        i = 0
        while i < len(wave):
            v = wave[i]
            i += 1
            cores[v] = k
            for e in range(offsets[v], offsets[v + 1]):
                u = targets[e]
                left[u] -= 1
                if turns[u] == 0 and left[u] <= k:
                    turns[u] = turns[v] + 1
                    wave.append(u)
        rounds += 1 + (turns[wave[-1]] if wave else 0)
        dropped += len(wave)
        k += 1
    return rounds - (n > 0), alone(offsets, targets, owner, cores)  # no empty round after the last vertex


@njit(cache=True)
def alone(offsets, targets, owner, cores):
    """Return the exchanges of peeling if a part runs alone to the end of a level.

    Each level has an exchange for every batch of messages, and a last one without messages.
    """
    left, gone = np.diff(offsets), np.zeros(len(owner), np.bool_)
    exchanges = 0
    by_level = np.argsort(cores)
    first = 0
    for k in range(cores.max() + 1 if len(cores) else 0):
        last = first + np.searchsorted(cores[by_level[first:]], k, side="right")
        waits = [v for v in by_level[first:last] if left[v] <= k]
        for v in waits:
            gone[v] = True
        while True:
            exchanges += 1
            away = [np.int64(0) for _ in range(0)]
            while len(waits) > 0:
                v = waits.pop()
                for e in range(offsets[v], offsets[v + 1]):
                    u = targets[e]
                    if owner[u] != owner[v]:
                        away.append(u)
                        continue
                    left[u] -= 1
                    if not gone[u] and left[u] <= k:
                        gone[u] = True
                        waits.append(u)
            for u in away:
                left[u] -= 1
                if not gone[u] and left[u] <= k:
                    gone[u] = True
                    waits.append(u)
            if len(waits) == 0:
                break
        first = last
    return exchanges


@njit(cache=True)
def bound(v, offsets, targets, estimates, bins):
    """Return the largest h ≤ v's estimate such that h neighbours have estimates ≥ h, and how many neighbours do."""
    top = estimates[v]
    bins[: top + 1] = 0
    for e in range(offsets[v], offsets[v + 1]):
        bins[min(estimates[targets[e]], top)] += 1
    count = bins[top]
    while count < top:
        top -= 1
        count += bins[top]
    return top, count


@njit(cache=True)
def estimate(offsets, targets, owner, few, estimates, edges):
    """Fill ``estimates`` with core numbers; return rounds, as a mean over parts, and exchanges.

    ``edges`` gets the edges of visited vertices, and of lowered ones. ``seen`` is each part's view: its own estimates,
    and the others' as last received.
    """
    n, parts = len(owner), owner.max() + 1 if len(owner) else 1
    estimates[:] = np.minimum(np.diff(offsets), int(np.sqrt(len(targets))))
    seen = np.empty((parts, n), np.int64)
    for p in range(parts):
        seen[p] = estimates
    support, bins = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    dirty = np.ones(n, np.bool_)
    rounds = exchanges = 0
    more = True
    while more:
        exchanges += 1
        for p in range(parts):
            know = seen[p]
            looked = [np.int64(v) for v in range(n) if dirty[v] and owner[v] == p]
            for v in looked:
                dirty[v] = False
            while len(looked) > 0:
                rounds += 1
                fell, falls = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)], 0
                for v in looked:
                    edges[0] += offsets[v + 1] - offsets[v]
                    low, support[v] = bound(v, offsets, targets, know, bins)
                    if low < know[v]:
                        fell.append((v, know[v], low))
                        falls += offsets[v + 1] - offsets[v]
                edges[1] += falls
                for v, _, low in fell:
                    know[v] = low
                looked = [np.int64(0) for _ in range(0)]
                for v, was, low in fell:
                    for e in range(offsets[v], offsets[v + 1]):
                        u = targets[e]
                        if owner[u] == p and low < know[u] <= was:
                            support[u] -= 1
                            if support[u] == know[u] - 1:
                                looked.append(u)
                if falls > few and parts > 1:
                    for v in looked:
                        dirty[v] = True
                    break
        more = False
        for v in range(n):
            low, was = seen[owner[v], v], estimates[v]
            if low == was:
                continue
            more, estimates[v] = True, low
            for p in range(parts):
                seen[p, v] = low
            for e in range(offsets[v], offsets[v + 1]):
                u = targets[e]
                if owner[u] != owner[v] and low < seen[owner[u], u] <= was:
                    support[u] -= 1
                    if support[u] == seen[owner[u], u] - 1:
                        dirty[u] = True
    return rounds // parts, exchanges
