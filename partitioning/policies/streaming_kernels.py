"""Compiled serial loops of the streaming partitioners."""

from __future__ import annotations

import numpy as np

from partitioning.arrays.lazy_numba import njit


@njit(cache=True)
def stream(
    visits, first, offsets, targets, back, sources, owner, load, near, price, by_edges, total, n, gamma, alpha, slack
):  # fmt: skip
    """Assign every row of ``visits`` an owner, one after the other.

    Args:
        visits: int64, rows here in the order of the stream; row r is gid ``first + r``.
        first: gid of the first row here.
        offsets: of the out-arcs of rows.
        targets: of the out-arcs of rows.
        back: offsets of the in-arcs of rows, or None.
        sources: of the in-arcs of rows, or None.
        owner: by gid of the whole graph, ``parts`` if not yet assigned; updated.
        load: int64 (parts,), vertices on each part, and with ``by_edges`` also their out-arcs; updated.
        near: float64 (parts,), scratch.
        price: float64 (parts,), scratch.
        by_edges: balance vertices plus out-arcs, not vertices alone.
        total: load of all vertices.
        n: number of vertices.
        gamma: Fennel's exponent; 0 selects LDG.
        alpha: Fennel's factor.
        slack: capacity of a part as a multiple of the mean, unless all parts are full.
    """
    parts = load.size
    room = slack * total / parts
    for p in range(parts):
        near[p] = 0
        price[p] = _price(load[p], room, total, n, gamma, alpha)
    for row in visits:
        low, high = offsets[row], offsets[row + 1]
        for i in range(low, high):
            p = owner[targets[i]]
            if p < parts:
                near[p] += 1
        if back is not None:
            for i in range(back[row], back[row + 1]):
                p = owner[sources[i]]
                if p < parts:
                    near[p] += 1
        weight = 1 + (high - low if by_edges else 0)
        best = _best(near, price, load, weight, room, gamma)
        for p in range(parts):
            near[p] = 0
        owner[first + row] = best
        load[best] += weight
        price[best] = _price(load[best], room, total, n, gamma, alpha)


@njit(cache=True)
def _price(load, room, total, n, gamma, alpha):
    """Return LDG's factor of a part's neighbours, or Fennel's marginal cost, with loads in mean vertices."""
    if gamma == 0:
        return 1 - load / room
    return alpha * gamma * (load * n / total) ** (gamma - 1)


@njit(cache=True)
def _best(near, price, load, weight, room, gamma):
    """Return the part with capacity and the best score, ties by smallest load; if all are full, the emptiest."""
    best, score = -1, 0.0
    for p in range(near.size):
        if load[p] + weight <= room:
            mine = near[p] * price[p] if gamma == 0 else near[p] - price[p]
            if best < 0 or mine > score or (mine == score and load[p] < load[best]):
                best, score = p, mine
    if best >= 0:
        return best
    best = 0
    for p in range(load.size):
        if load[p] < load[best]:
            best = p
    return best


@njit(cache=True)
def breadth_first(offsets, targets, back, sources):
    """Return all rows, int64, in breadth-first order of each component from its smallest row."""
    n = offsets.size - 1
    seen, queue = np.zeros(n, np.bool_), np.empty(n, np.int64)
    tail = 0
    for root in range(n):
        if seen[root]:
            continue
        seen[root], queue[tail] = True, root
        head, tail = tail, tail + 1
        while head < tail:
            row = queue[head]
            head += 1
            for i in range(offsets[row], offsets[row + 1]):
                v = targets[i]
                if not seen[v]:
                    seen[v], queue[tail] = True, v
                    tail += 1
            if back is not None:
                for i in range(back[row], back[row + 1]):
                    v = sources[i]
                    if not seen[v]:
                        seen[v], queue[tail] = True, v
                        tail += 1
    return queue
