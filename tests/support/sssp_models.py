"""Plain models of sssp's variants after the papers' pseudo-code: piles and queues in Python, by rounds.

A round relaxes edges with the distances of the round before; a pass sorts waiting vertices and relaxes none. Models
return the distances (None: unreached) and a dict: ``rounds`` (passes included), ``relaxed`` (relaxations), and what
the variant counts besides.
"""

from collections import defaultdict


class Graph:
    """Rows of a graph: ``rows[u]`` lists (target, weight)."""

    def __init__(self, n, src, dst, weights):
        self.n, self.rows = n, defaultdict(list)
        for u, v, w in zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True):
            self.rows[u].append((v, w))

    @property
    def edges(self):
        return sum(map(len, self.rows.values()))


def relaxed(graph, dist, vertices, allowed=lambda u, v, w: True):
    """Relax allowed edges out of ``vertices``; return new distances, successful relaxations by target, and all."""
    lowered, hits, count = dict(dist), defaultdict(int), 0
    for u in vertices:
        for v, w in graph.rows[u]:
            if not allowed(u, v, w):
                continue
            count += 1
            if v not in dist or dist[u] + w < dist[v]:
                hits[v] += 1
                lowered[v] = min(lowered.get(v, dist[u] + w), dist[u] + w)
    return lowered, hits, count


def answer(graph, dist, **counted):
    return [dist.get(v) for v in range(graph.n)], counted


def bellman_ford_topology(graph, source, delta):
    """Algorithm 4: relax all edges until no distance falls."""
    dist, rounds, changed = {source: 0}, 0, True
    while changed:
        rounds += 1
        lowered, hits, _ = relaxed(graph, dist, list(dist))
        changed, dist = bool(hits), lowered
    return answer(graph, dist, rounds=rounds, relaxed=rounds * graph.edges)


def bellman_ford(graph, source, delta):
    """Algorithm 5: a queue with duplicates; a further copy relaxes the same edges, and succeeds with none.

    ``walked`` counts the edges of each vertex once a round.
    """
    dist, queue, rounds, total, walked, queued = {source: 0}, [source], 0, 0, 0, 1
    while queue:
        rounds += 1
        total += sum(len(graph.rows[v]) for v in queue)
        dist, hits, count = relaxed(graph, dist, set(queue))
        walked += count
        queue = [v for v, times in hits.items() for _ in range(times)]
        queued += len(queue)
    return answer(graph, dist, rounds=rounds, relaxed=total, walked=walked, queued=queued)


def workfront(graph, source, delta):
    """Workfront Sweep: a queue without duplicates."""
    dist, queue, rounds, total, queued = {source: 0}, [source], 0, 0, 1
    while queue:
        rounds += 1
        dist, hits, count = relaxed(graph, dist, queue)
        total += count
        queue = list(hits)
        queued += len(queue)
    return answer(graph, dist, rounds=rounds, relaxed=total, queued=queued)


def h_bf(graph, source, delta):
    """H-BF: loops are skipped, the only edge to a vertex is a direct update, vertices without edges are not queued."""
    arriving = defaultdict(int)
    for u, row in graph.rows.items():
        for v, _ in row:
            arriving[v] += u != v
    dist, queue, rounds, total, queued, direct, skipped = {source: 0}, [source], 0, 0, 1, 0, 0
    while queue:
        rounds += 1
        skipped += sum(u == v for u in queue for v, _ in graph.rows[u])
        dist, hits, count = relaxed(graph, dist, queue, lambda u, v, w: u != v)
        direct += sum(arriving[v] == 1 for v in hits)
        total += count
        queue = [v for v in hits if graph.rows[v]]
        queued += len(queue)
    return answer(graph, dist, rounds=rounds, relaxed=total - direct, queued=queued, direct=direct, skipped=skipped)


def near_far(graph, source, delta):
    """Near-far: relax the near pile until it is empty, then raise the split to the nearest entry of the far pile."""
    dist, expanded, near, far, end, rounds, total = {source: 0}, {}, [source], [], 1, 0, 0
    while near or far:
        rounds += 1
        if near:
            expanded |= {u: dist[u] for u in near}
            dist, hits, count = relaxed(graph, dist, near)
            total += count
            near, entries = [], list(hits)
        else:
            end = min(bucket for _, bucket in far) + 1
            entries = [v for v in dict.fromkeys(v for v, _ in far) if dist[v] < expanded.get(v, dist[v] + 1)]
            far = []
        near += [v for v in entries if int(dist[v] / delta) < end]
        far += [(v, int(dist[v] / delta)) for v in entries if int(dist[v] / delta) >= end]
    return answer(graph, dist, rounds=rounds, relaxed=total)


def bucketing(graph, source, delta):
    """Sort all waiting vertices after each round; expand those within Δ of the nearest, known to Δ/16."""
    dist, waiting, rounds, total = {source: 0}, {source}, 0, 0
    while waiting:
        share = {v: int(dist[v] / delta * 16) for v in waiting}
        first = [v for v in waiting if share[v] < min(share.values()) + 16]
        dist, hits, count = relaxed(graph, dist, first)
        total += count
        waiting = waiting.difference(first) | set(hits)
        rounds += 1 + bool(waiting)
    return answer(graph, dist, rounds=rounds, relaxed=total)


def delta_stepping(graph, source, delta):
    """Δ-stepping: light edges of a bucket until it is empty, the heavy ones of all its vertices, the next bucket."""
    dist, waiting, rounds, total, walked = {source: 0}, {source}, 0, 0, 0
    while waiting:
        rounds += bool(dist.keys() - {source} or total)  # the pass that opens a bucket, but for the first
        bucket, done = min(int(dist[v] / delta) for v in waiting), set()
        while now := [v for v in waiting if int(dist[v] / delta) == bucket]:
            dist, hits, count = relaxed(graph, dist, now, lambda u, v, w: w <= delta)
            waiting, done = waiting.difference(now) | set(hits), done.union(now)
            rounds, total = rounds + 1, total + count
            walked += sum(len(graph.rows[v]) for v in now)
        dist, hits, count = relaxed(graph, dist, done, lambda u, v, w: w > delta)
        walked += sum(len(graph.rows[v]) for v in done)
        waiting |= set(hits)
        rounds, total = rounds + 2, total + count  # a pass that collects the bucket's vertices, and their heavy edges
    return answer(graph, dist, rounds=rounds, relaxed=total, walked=walked)


MODELS = {
    "near-far": near_far,
    "bellman-ford": bellman_ford,
    "bellman-ford-topology": bellman_ford_topology,
    "delta-stepping": delta_stepping,
    "workfront": workfront,
    "bucketing": bucketing,
    "h-bf": h_bf,
}
"""Variant → model."""
