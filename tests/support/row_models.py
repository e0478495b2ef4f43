"""Programs with row reducers, and what they find: loops over lists and dictionaries, vertex by vertex."""

from collections import Counter

import networkx as nx
import numpy as np
from colored import splitmix

from dgraph.program import ADD, BEST, HINDEX, INF, MEX, MODE, Field, Program, where


class Folded(Program):
    """One round over keys that depend on both ends; edges from every other 32 vertices are left out."""

    directions = ("pull",)

    key = Field("int64")
    found = Field("int64", reduce=MODE)
    kept = Field("int64")

    def init(self, v, g):
        return {"key": (v.id >> 2) - (v.id >> 4), "kept": -5, "active": True}

    def edge(self, u, e, v):
        out = (u.id >> 5) - (u.id >> 6) - (u.id >> 6) == 1
        return {"found": where(out, INF, u.key + v.id - (v.id >> 1) - (v.id >> 1))}

    def apply(self, v, g):
        return {"kept": v.found, "active": False}


class Largest(Folded):
    found = Field("int64", reduce=HINDEX)


class Capped(Largest):
    """Folds bounded by keys, which are less than 0 at some vertices."""

    ceiling = "cap"

    cap = Field("int32")

    def init(self, v, g):
        key = (v.id >> 2) - (v.id >> 4)
        return {"key": key, "cap": key - 5, "kept": -5, "active": True}


class Smallest(Folded):
    found = Field("int64", reduce=MEX)


VALUES = np.array([0, 1, -3, 4])


class Summed(Folded):
    """``VALUES`` by the last two bits of the source, summed by key; the sum is kept beside the key."""

    found = Field("int64", reduce=BEST)
    total = Field("int64", reduce=ADD)
    sum = Field("int64")

    def init(self, v, g):
        return {"key": (v.id >> 2) - (v.id >> 4), "kept": -5, "sum": -5, "active": True}

    def edge(self, u, e, v):
        odd, second = u.id - (u.id >> 1) - (u.id >> 1) == 1, (u.id >> 1) - (u.id >> 2) - (u.id >> 2) == 1
        value = where(odd, where(second, 4, 1), where(second, -3, 0))
        return {"total": value, **super().edge(u, e, v)}

    def apply(self, v, g):
        return {"kept": v.found, "sum": v.total, "active": False}


class Weighed(Summed):
    """Weights of edges summed by key."""

    def edge(self, u, e, v):
        return {**super().edge(u, e, v), "total": e.weight}


def best(pairs):
    """Return the key of the largest sum of values, the smallest of equal ones, and the sum."""
    sums = Counter()
    for key, value in pairs:
        sums[key] += value
    return min(sums.items(), key=lambda item: (-item[1], item[0])) if sums else (2**63 - 1, 0)


def summed(n, src, dst, values, halved=0):
    """Return the best key of each vertex by the values of edges, and its sum; -5 for vertices without in-edges."""
    key = [(v >> 2) - (v >> 4) >> halved for v in range(n)]
    rows = [[] for _ in range(n)]
    for u, v, value in zip(src.tolist(), dst.tolist(), values.tolist(), strict=True):
        rows[v].append((None if u >> 5 & 1 else key[u] + v % 2, value))
    pairs = [best([pair for pair in row if pair[0] is not None]) if row else (-5, -5) for row in rows]
    return np.array(pairs, np.int64).reshape(-1, 2).T


def mode(keys):
    counted = Counter(keys)
    return min(counted, key=lambda key: (-counted[key], key)) if counted else 2**63 - 1


def mex(keys):
    return next(x for x in range(len(keys) + 1) if x not in set(keys))


def hindex(keys):
    return max(h for h in range(len(keys) + 1) if sum(key >= h for key in keys) >= h)


def folded(fold, n, src, dst, halved=0):
    """Return the fold of each vertex's keys, halved so often; -5 for vertices without in-edges."""
    key = [(v >> 2) - (v >> 4) >> halved for v in range(n)]
    rows = [[] for _ in range(n)]
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        rows[v].append(None if u >> 5 & 1 else key[u] + v % 2)
    return np.array([fold([k for k in row if k is not None]) if row else -5 for row in rows])


def capped(n, src, dst):
    """Return the H-index of each vertex's keys, or less where its cap is; -5 for vertices without in-edges."""
    whole = folded(hindex, n, src, dst)
    caps = np.array([(v >> 2) - (v >> 4) - 5 for v in range(n)])
    return np.where(np.bincount(dst, minlength=n) > 0, np.minimum(whole, caps), whole)


def edges(n=300, m=2500, seed=5):
    """Return distinct directed edges without loops, of which a third enters three hubs and a sixth ten smaller ones."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n, m), rng.integers(0, n, m)
    dst[: m // 3] = rng.integers(0, 3, m // 3)
    dst[m // 3 : m // 2] = rng.integers(3, 13, m // 2 - m // 3)
    both = np.unique(src * n + dst)
    src, dst = both // n, both % n
    return n, src[src != dst], dst[src != dst]


def propagated(n, src, dst, ids, rounds=10, weights=None):
    """Return the labels after ``rounds`` rounds; the smallest of labels with equal counts, or sums of weights, wins."""
    neighbours = [[] for _ in range(n)]
    weights = np.ones(len(src), np.int64) if weights is None else weights
    for u, v, weight in zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True):
        neighbours[v].append((u, weight))
    label = ids.tolist()
    for _ in range(rounds):
        counted = [Counter() for _ in neighbours]
        for counts, row in zip(counted, neighbours, strict=True):
            for u, weight in row:
                counts[label[u]] += weight
        label = [min(c, key=lambda x: (-c[x], x)) if c else label[v] for v, c in enumerate(counted)]
    return np.array(label, np.int64)


def greedy(n, src, dst, ids, state=1):
    """Return the smallest free colours of the sequential algorithm: largest degree first, then the largest key."""
    degree, keys = np.bincount(src, minlength=n), [splitmix(x, state) for x in ids.tolist()]
    neighbours = [[] for _ in range(n)]
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        neighbours[u].append(v)
    colors = [-1] * n
    for v in sorted(range(n), key=lambda v: (-degree[v], -keys[v])):
        taken = {colors[u] for u in neighbours[v]}
        colors[v] = next(color for color in range(n) if color not in taken)
    return np.array(colors, np.int64)


def two_colored(n, src, dst, ids, colors):
    """Return colours with the sides of bipartite components instead, while the highest of 4 to 8 is in one."""
    graph, colors = nx.empty_graph(n), colors.copy()
    graph.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist(), strict=True) if u != v)
    while 3 <= colors.max(initial=-1) < 8:
        source = min(np.flatnonzero(colors == colors.max()).tolist(), key=lambda v: ids[v])
        hops = nx.single_source_shortest_path_length(graph, source)
        if not nx.is_bipartite(graph.subgraph(hops)):
            break
        for v, count in hops.items():
            colors[v] = count % 2
    return colors
