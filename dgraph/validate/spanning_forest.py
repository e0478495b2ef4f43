"""Certificate of minimum spanning forests.

Theorem (cycle property): edges of the graph that form no circle and connect the ends of every edge are a minimum
spanning forest if no edge weighs less than the heaviest edge on the path between its ends.

Every rank holds the whole forest, 44 bytes a vertex, and looks at its own arcs. The forest's edges are joined by weight
into trees of parents, the smaller tree under the larger one: its depth is at most log2 n, and the latest edge on the
way between two vertices is the heaviest on their path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.errors import UsageError
from dgraph.validate.certificate_register import certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule


@certifies("mst")
def mst(
    distributed: DistributedColumns, columns: Mapping[str, np.ndarray], parameters: Mapping[str, Any], rounds: int
) -> list[str]:
    """Check columns ``weight``, ``source`` and ``target``; collective.

    Raises:
        UsageError: the graph is directed.
        ValidationFailed: the edges are not those of the graph, form a circle, or are not a lightest choice.
    """
    block, comm = distributed.block, distributed.comm
    if block.directed:
        raise UsageError("spanning forests are of undirected graphs; pass the block of graph.undirected()")
    low, high, weight = _forest(distributed, columns)
    n = int(distributed.starts[-1])
    parent, joined = np.arange(n), np.full(n, len(low), np.int64)
    size = np.ones(n, np.int64)
    circle = Rule("no circle", "the edge {u} – {v} of the forest joins vertices that lighter edges have joined")
    edge = _link(low, high, parent, joined, size)
    circle.test(np.arange(len(low)) == edge, {"u": low, "v": high}, {})
    if comm.rank:
        circle.count = 0  # every rank has the same forest
    distributed.judge(circle)
    seen = np.zeros(len(low), bool)
    apart = Rule("ends of an edge are connected", "the edge {u} – {v} joins two trees of the forest")
    light = Rule("no edge is lighter than its path", "the edge {u} – {v} weighs {w}, and its path has one of {x}")
    for piece in distributed.pieces():
        w = np.ones(len(piece.src), np.int64) if block.weights is None else block.weights[piece.start : piece.stop]
        u, v = piece.src.astype(np.int64), piece.dst.astype(np.int64)
        latest = _latest(u, v, parent, joined)
        one_tree = latest < len(low)
        apart.test((u != v) & ~one_tree, {"u": u, "v": v}, {})
        heaviest = np.append(weight, weight.dtype.type(0))[np.minimum(latest, len(low))]
        less = (u != v) & one_tree & (w < heaviest)
        light.test(less, {"u": u, "v": v}, {"w": w, "x": heaviest})
        place = latest[(u < v) & one_tree]
        same = (low[place] == u[(u < v) & one_tree]) & (high[place] == v[(u < v) & one_tree])
        seen[place[same & (w[(u < v) & one_tree] == weight[place])]] = True
    missing = Rule("edges of the forest are edges", "the graph has no edge {u} – {v} of weight {w}")
    present = comm.allreduce(seen.astype(np.int64), "max") > 0
    missing.test(~present, {"u": low, "v": high}, {"w": weight})
    missing.count *= comm.rank == 0
    distributed.judge(apart, light, missing)
    return [f"{len(low)} edges form a spanning forest", "no edge is lighter than the heaviest on its path"]


def _forest(distributed: DistributedColumns, columns: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """Return the forest's edges on every rank, by ascending weight and gids: lower gids, higher gids, weights."""
    comm, here = distributed.comm, columns["source"] >= 0
    ends = [distributed.block.ids.to_gid(columns[name][here], comm) for name in ("source", "target")]
    valid = Rule("ends of edges are vertices", "vertex {v} has the edge {a} – {b}")
    gids = distributed.gids[here]
    values = {"a": columns["source"][here], "b": columns["target"][here]}
    valid.test((ends[0] < 0) | (ends[1] < 0) | (ends[0] == ends[1]), {"v": gids}, values)
    distributed.judge(valid)
    rows = (np.minimum(*ends), np.maximum(*ends), columns["weight"][here])
    low, high, weight = (np.concatenate(comm.allgatherv(np.ascontiguousarray(column))) for column in rows)
    order = np.lexsort((high, low, weight))
    return low[order], high[order], weight[order]


@njit(cache=True, nogil=True)
def _link(low, high, parent, joined, size):
    """Join vertices by the forest's edges in turn; return the first edge within a tree, or the number of edges."""
    for e in range(low.size):
        u, v = low[e], high[e]
        while parent[u] != u:
            u = parent[u]
        while parent[v] != v:
            v = parent[v]
        if u == v:
            return e
        if size[u] > size[v]:
            u, v = v, u
        parent[u], joined[u] = v, e
        size[v] += size[u]
    return low.size


@njit(cache=True, nogil=True)
def _latest(us, vs, parent, joined):
    """Return the edge that connected each pair of vertices, at the latest; the number of edges if none did."""
    latest = np.full(us.size, -1, np.int64)
    for i in range(us.size):
        u, v = us[i], vs[i]
        while u != v:
            if joined[u] > joined[v]:
                u, v = v, u
            latest[i] = joined[u]
            if parent[u] == u:
                break
            u = parent[u]
    return latest
