"""The loops of the streaming partitioners: serial, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def stream(
    visits, first, offsets, targets, back, sources, owner, load, by_edges, total, n, gamma, alpha, slack
):  # fmt: skip
    """Give every row of ``visits`` an owner, one after the other.

    Args:
        visits: int64, rows here in the order of the stream; row r is gid ``first + r``.
        offsets, targets: arcs that leave a row; ``back``, ``sources``: arcs that enter it, or None.
        owner: by gid of the whole graph, ``parts`` where there is none yet; is filled.
        load: int64 (parts,), what each part holds: vertices, and with ``by_edges`` also their out-arcs; is kept up.
        total: of all vertices' loads. ``n``: vertices.
        gamma, alpha: Fennel's; ``gamma`` 0: LDG.
        slack: times the mean that a part may hold, where a vertex finds another with room.
    """
    parts = load.size
    room = slack * total / parts
    near, price = np.zeros(parts), np.empty(parts)
    for p in range(parts):
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
        near[:] = 0
        owner[first + row] = best
        load[best] += weight
        price[best] = _price(load[best], room, total, n, gamma, alpha)


@njit(cache=True)
def _price(load, room, total, n, gamma, alpha):
    """LDG: the factor of a part's neighbours. Fennel: what one more costs, loads counted in mean vertices."""
    if gamma == 0:
        return 1 - load / room
    return alpha * gamma * (load * n / total) ** (gamma - 1)


@njit(cache=True)
def _best(near, price, load, weight, room, gamma):
    """The part with room that scores best, of equals the emptiest; where none has room, the emptiest of all."""
    best, score = -1, 0.0
    for p in range(near.size):
        if load[p] + weight <= room:
            mine = near[p] * price[p] if gamma == 0 else near[p] - price[p]
            if best < 0 or mine > score or (mine == score and load[p] < load[best]):
                best, score = p, mine
    return best if best >= 0 else np.argmin(load)


@njit(cache=True)
def breadth_first(offsets, targets, back, sources):
    """All rows, int64, component after component, each from its smallest row on."""
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
