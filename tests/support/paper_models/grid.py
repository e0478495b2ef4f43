"""Grid of the models of 000 to 002, which yield (thread, vertex, edge of the vertex) for each edge of a round."""


class Grid:
    """``blocks`` blocks of ``threads`` threads. A thread's number is its place in block order."""

    def __init__(self, blocks, threads):
        self.blocks, self.threads, self.all = blocks, threads, blocks * threads

    def spread(self, i):
        """Return thread i where neighbouring warps lie in different blocks; past the last thread, the first follows."""
        warp, lane = divmod(i % self.all, 32)
        return warp % self.blocks * self.threads + warp // self.blocks * 32 + lane

    def loads(self, walked):
        """Return edges by block, by warp and by thread."""
        by_thread = [0] * self.all
        for thread, _, _ in walked:
            by_thread[thread] += 1
        return [[sum(by_thread[i : i + size]) for i in range(0, self.all, size)] for size in (self.threads, 32, 1)]


def edges_of(worklist, degree):
    """Return (vertex, edge) in the worklist's order."""
    return [(u, k) for u in worklist for k in range(degree[u])]
