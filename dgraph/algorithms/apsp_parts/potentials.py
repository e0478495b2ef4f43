"""Potentials of Bellman and Ford, which make weights ≥ 0, and negative cycles, which have none.

All ranks have the n potentials; each relaxes the arcs of its rows, and potentials are reduced by an allreduce. A cycle
of predecessors is a negative cycle [Cherkassky & Goldberg 1999]; it is looked for in rounds 1, 2, 4, ….
"""

from __future__ import annotations

import numpy as np

from dgraph.errors import DataError
from dgraph.graph.halo import NumberedRows

SHOWN = 12
"""Vertices of a cycle that a message lists."""


def potentials(rows: NumberedRows, least: float, called) -> np.ndarray | None:
    """Return h with weight + h[source] - h[target] ≥ 0 for all arcs, float64 (n,); None if all weights are ≥ 0.

    Args:
        rows: the arcs.
        least: smallest weight of all ranks.
        called: collective; makes an original id a vertex's name.

    Raises:
        DataError: on every rank alike; the text names the vertices of a negative cycle.
    """
    if least >= 0 or rows.costs is None:
        return None
    comm, n = rows.comm, rows.n
    order = np.argsort(rows.targets, kind="stable")
    source, target, weight = rows.sources[order], rows.targets[order], rows.costs[order]
    heads, begins = np.unique(target, return_index=True)
    h, parent = np.zeros(n), np.full(n, -1, np.int64)
    number, due = 0, 1
    while True:
        offered = np.full(n, np.inf)
        if heads.size:
            offered[heads] = np.minimum.reduceat(h[source] + weight, begins)
        lower = np.minimum(comm.allreduce(offered, "min"), h)
        fell = lower < h
        if not fell.any():
            return h
        tight = fell[target] & (h[source] + weight == lower[target])
        via = np.full(n, n, np.int64)
        np.minimum.at(via, target[tight], source[tight])
        parent[fell] = comm.allreduce(via, "min")[fell]
        h, number = lower, number + 1
        if number == due:
            due *= 2
            cycle = _cycle(parent)
            if cycle:
                names = [str(called(int(rows.ids[v]))) for v in cycle[:SHOWN]]
                more = f" → … ({len(cycle):,} vertices)" if len(cycle) > SHOWN else f" → {names[0]}"
                raise DataError(
                    f"the graph has a negative cycle, {' → '.join(names)}{more}: going round it makes paths shorter "
                    "without end, so there are no shortest ones; correct the weights"
                )


def _cycle(parent: np.ndarray) -> list[int]:
    """Return a cycle of parents, from its smallest vertex on in the direction of the arcs; [] if there is none."""
    ancestor = np.where(parent < 0, len(parent), parent)
    ancestor = np.append(ancestor, len(parent))
    for _ in range(max(len(parent), 1).bit_length() + 1):
        ancestor = ancestor[ancestor]
    inside = ancestor[:-1][ancestor[:-1] < len(parent)]
    if not inside.size:
        return []
    start = v = int(inside[0])
    cycle = []
    while True:
        cycle.append(v)
        v = int(parent[v])
        if v == start:
            break
    cycle.reverse()
    least = cycle.index(min(cycle))
    return cycle[least:] + cycle[:least]
