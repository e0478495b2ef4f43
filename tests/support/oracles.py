"""Right answers by other libraries or by textbook algorithms in plain Python; nothing here uses dgraph.

A graph is ``n`` and arrays ``src, dst`` (int64, 0 … n-1) of arcs: an undirected graph lists both arcs of an edge. Loops
and parallel arcs are allowed. An unreached vertex has level and predecessor -1, and distance infinity (floats) or None
(integers, which are Python's and do not overflow).
"""

import heapq
from collections import defaultdict

import igraph
import numpy as np
import scipy.sparse as sparse


def symmetric(src, dst, *columns):
    """Return both arcs of every edge."""
    doubled = [np.concatenate([column, column]) for column in columns]
    return np.concatenate([src, dst]), np.concatenate([dst, src]), *doubled


def bfs(n, src, dst, source) -> np.ndarray:
    """Return levels, int64."""
    graph = igraph.Graph(n, np.column_stack([src, dst]), directed=True)
    levels = np.array(graph.distances(source=[source], mode="out")[0])
    return np.where(np.isinf(levels), -1, levels).astype(np.int64)


def sssp(n, src, dst, weights, source) -> list:
    """Return Dijkstra's distances in the arithmetic of ``weights``' dtype; None if unreached.

    Rounded addition of a weight ≥ 0 never decreases and keeps order. So for floats, too, the least fixed point ``d[v] =
    min d[u] + w`` is unique, and every method must find the same bits.
    """
    out = defaultdict(list)
    for u, v, w in _listed(src, dst, weights):
        out[u].append((v, w))
    distance = [None] * n
    heap = [(0 if weights.dtype.kind == "i" else weights.dtype.type(0), source)]
    while heap:
        d, u = heapq.heappop(heap)
        if distance[u] is not None:
            continue
        distance[u] = d
        for v, w in out[u]:
            if distance[v] is None:
                heapq.heappush(heap, (d + w, v))
    return distance


def predecessors(n, src, dst, weights, distance, source) -> np.ndarray:
    """Return the shortest-path tree that prefers small vertices: int64, -1 at the source and if unreached.

    Valid predecessors of v are the u with ``d[u] + w = d[v]``. Inside a plateau of equal distance (zero weights) those
    nearest to its rim come first: the rim, rank 0, is the source and vertices with a predecessor of smaller distance;
    rank k + 1 is reached from rank k by a zero-weight arc. So there are no cycles; without zero weights every valid u
    counts.
    """
    tight = [
        (u, v)
        for u, v, w in _listed(src, dst, weights)
        if distance[u] is not None and distance[u] + w == distance[v] and v != source
    ]
    best = [-1] * n
    for u, v in tight:
        if distance[u] < distance[v] and (best[v] < 0 or u < best[v]):
            best[v] = u
    inside = defaultdict(list)
    for u, v in tight:
        if distance[u] == distance[v]:
            inside[u].append(v)
    rim = [source] + [v for v in range(n) if best[v] >= 0]
    while rim:
        parents = {}
        for u in rim:
            for v in inside[u]:
                if best[v] < 0:
                    parents[v] = min(u, parents.get(v, n))
        for v, u in parents.items():
            best[v] = u
        rim = list(parents)
    return np.array(best, np.int64)


def check_tree(n, src, dst, weights, distance, predecessor, source) -> None:
    """Assert that ``predecessor`` is a shortest-path tree: Graph500's rules, extended to arcs and zero weights.

    1. Exactly the source and unreached vertices have no predecessor.
    2. Every tree arc is an arc of the graph, and its length is the difference of the distances.
    3. No arc leads from a reached vertex to an unreached one, and none shortens a distance.
    4. Following predecessors ends at the source: there is no cycle.
    """
    lightest = {}
    for u, v, w in _listed(src, dst, weights):
        lightest[u, v] = min(w, lightest.get((u, v), w))
    for (u, v), w in lightest.items():
        if distance[u] is not None:
            assert distance[v] is not None, f"{u} is reached, {v} is not, yet there is an arc {u} → {v}"
            assert distance[v] <= distance[u] + w, f"{u} → {v} is a short cut"
    settled = {source}
    for v in range(n):
        u = int(predecessor[v])
        assert (u < 0) == (v == source or distance[v] is None), f"vertex {v} has predecessor {u}"
        if u >= 0:
            assert (u, v) in lightest, f"predecessor {u} of {v} has no arc to it"
            assert distance[u] + lightest[u, v] == distance[v], f"the arc {u} → {v} is not tight"
        trail = []
        while v not in settled and predecessor[v] >= 0:
            trail.append(v)
            assert len(trail) <= n, f"predecessors of {trail[0]} run in a cycle"
            v = int(predecessor[v])
        settled.update(trail)


def components(n, src, dst) -> np.ndarray:
    """Return the smallest vertex of each vertex's weakly connected component, int64."""
    membership = igraph.Graph(n, np.column_stack([src, dst])).connected_components().membership
    _, first, label = np.unique(membership, return_index=True, return_inverse=True)
    return first[label].astype(np.int64)


def pagerank(n, src, dst, alpha=0.85, *, weights=None, rounds=None, tol=None, personalization=None) -> np.ndarray:
    """Return ranks by power iteration in float64 from 1/n; a sink's rank is distributed like the teleport.

    An arc is followed in proportion to its weight (None: all equal); a vertex whose weights sum to 0 is a sink. The
    graph must have no loops or parallel arcs. The iteration runs exactly ``rounds`` rounds, or until the L1 change is
    below ``tol``. A ``tol`` much below 1e-14 is never reached, because of rounding.
    """
    teleport = np.full(n, 1 / n)
    if personalization is not None:
        teleport = np.zeros(n)
        teleport[list(personalization)] = list(personalization.values())
        teleport /= teleport.sum()
    weights = np.ones(src.size) if weights is None else weights.astype(np.float64)
    leaving = np.bincount(src, weights, minlength=n)
    chance = np.divide(weights, leaving[src], out=np.zeros(src.size), where=leaving[src] > 0)
    spread = sparse.csr_array((chance, (dst, src)), shape=(n, n))
    rank = np.full(n, 1 / n)
    done = 0
    while rounds is None or done < rounds:
        old = rank
        rank = alpha * (spread @ old + old[leaving == 0].sum() * teleport) + (1 - alpha) * teleport
        done += 1
        if tol is not None and np.abs(rank - old).sum() < tol:
            break
    return rank


def core_numbers(n, src, dst) -> np.ndarray:
    """Return core numbers of the simple undirected graph, int64."""
    graph = igraph.Graph(n, np.column_stack([src, dst])).simplify()
    return np.array(graph.coreness(), np.int64)


def coloring(n, src, dst, phases) -> np.ndarray:
    """Return colours by Algorithm 1 of paper 003 (Che et al.), as printed.

    A round colours the vertices whose number is larger than those of all uncoloured neighbours.

    Args:
        phases: pairs of numbers by vertex (int64, ≥ 0) and a predicate that ends the phase; it gets the phase's rounds
            so far and the number of vertices that the last one coloured.
    """
    color, used = np.full(n, -1), 0
    for numbers, over in phases:
        for turn in range(1, n + 1):
            left = color < 0
            both = left[src] & left[dst] & (src != dst)
            best = np.full(n, -1)
            np.maximum.at(best, dst[both], numbers[src[both]])
            now = left & (numbers > best)
            color[now] = used
            used += now.any()
            if not now.any() or over(turn, now.sum()):
                break
    return color


def simple(src, dst, weights=None):
    """Return ``src, dst, weights`` sorted by (src, dst), without loops; of parallel arcs the lightest is kept."""
    keys = (dst, src) if weights is None else (weights, dst, src)
    order = np.lexsort(keys)
    order = order[src[order] != dst[order]]
    src, dst = src[order], dst[order]
    first = np.ones(src.size, bool)
    first[1:] = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    return src[first], dst[first], None if weights is None else weights[order][first]


def _listed(src, dst, weights):
    """Return arcs as Python integers; float weights keep their precision."""
    exact = weights.tolist() if weights.dtype.kind == "i" else list(weights)
    return zip(src.tolist(), dst.tolist(), exact, strict=True)
