"""An Adaptive Load Balancer for Graph Analytics on GPUs (002): TWC, ALB (Algorithms 1 and 2) and LB."""

from paper_models.grid import edges_of


def twc(degree, worklist, grid, large, medium):
    """Section 3: small vertices by a thread, medium ones by a warp, large ones by a block."""
    for i, u in enumerate(worklist):
        tile, thread = divmod(i, grid.threads)
        first = tile % grid.blocks * grid.threads
        for k in range(degree[u]):
            if degree[u] >= large:
                yield first + k % grid.threads, u, k
            elif degree[u] >= medium:
                yield first + thread // 32 * 32 + k % 32, u, k
            else:
                yield first + thread, u, k


def lb(degree, worklist, grid, blocked):
    """LB of Algorithm 2: all threads share the edges of the worklist; cyclic, or blocked: a run each."""
    edges = edges_of(worklist, degree)
    run = -(-len(edges) // grid.all)
    for i, (u, k) in enumerate(edges):
        yield grid.spread(i // run if blocked else i), u, k


def alb(degree, worklist, grid, threshold, blocked, large, medium):
    """Algorithm 1: set huge vertices aside; TWC takes the others, Algorithm 2 the huge ones if there are any."""
    work = []
    for u in worklist:  # Algorithm 1, line 1
        if degree[u] >= threshold:  # line 4
            work.append(u)  # line 5
    rest = [0 if edges >= threshold else edges for edges in degree]
    yield from twc(rest, worklist, grid, large, medium)
    if work:
        yield from lb(degree, work, grid, blocked)


def searches(degree, work, grid, blocked, printed=False):
    """Section 4.2: the searches of Algorithm 2 in the prefix sums of ``work``; threads of a warp step together.

    ``printed``: for each edge, in the whole list. Else where a thread's vertex ends, from that vertex on.
    Return steps by thread, and the prefix sums that each warp reads in each step: those of all its threads, distinct.
    """
    sums, total = [], 0
    for u in work:
        sums.append(total)
        total += degree[u]
    run, steps, reads = -(-total // grid.all), [0] * grid.all, []
    for warp in range(grid.all // 32):
        lanes = range(32 * warp, 32 * warp + 32)
        vertex = dict.fromkeys(lanes, 0)
        for turn in range(run):
            edges = {t: t * run + turn if blocked else t + turn * grid.all for t in lanes}
            looking = {}
            for t, edge in edges.items():
                u = vertex[t]
                if edge < total and (printed or turn == 0 or edge >= sums[u] + degree[work[u]]):
                    looking[t] = [0 if printed else u, len(work)]
            while any(high - low > 1 for low, high in looking.values()):
                read = set()
                for t, (low, high) in looking.items():
                    if high - low > 1:
                        middle = low + (high - low) // 2
                        read.add(middle)
                        steps[grid.spread(t)] += 1
                        looking[t] = [middle, high] if sums[middle] <= edges[t] else [low, middle]
                reads.append(len(read))
            vertex |= {t: low for t, (low, _) in looking.items()}
    return steps, reads
