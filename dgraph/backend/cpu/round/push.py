# ruff: noqa: F821, SIM102
# mypy: ignore-errors
"""Push phase on CPU threads; see ``phases.py``.

A generated file contains it twice. The copy for one thread, ``ALONE``, has no locked instructions: they stop memory
accesses from overlapping, so that every cache miss would stall.
"""


@njit(**INNER)
def push_phase(t, threads, graph, F, P, G, W, c):
    """Propose along every edge u → v of an active u; thread t takes chunks of the queue, or of all vertices.

    Changed vertices are buffered per thread and moved to ``touched`` (masters) or the list of mirrors by ``spill``. If
    no other round follows, and none is a mirror, they are not listed: a flag takes another locked instruction.
    """
    touched = lists(W, c).touched
    queue, count, tick, base = lists(W, c).queue, c[ROWS] if ALL else c[QUEUED], c[TICK], slot(c)
    flags, shared, hits, shares = W.flags, W.shared, buffer_of(W, t, 0), W.shares
    offsets, neighbours, weights = graph
    k, edges, turn = 0, 0, 0
    chunk = chunk_of(count, c[EDGES], threads)
    by_share = not ALONE and shares_cover_queue(shares, tick, count, threads)
    nowhere, listed = np.int64(-1), not LAST or c[ROWS] > c[MASTERS]
    mine = nowhere if ALONE or DEFERS else share_of(tick + 1, t)
    while count > 0:
        if by_share:  # begin with the vertices that this thread found: they are in its cache
            share = share_of(tick, (t + turn) % threads)
            last = load(shares, share + END)
            first = fetch_add(shares, share + NEXT, chunk) if load(shares, share + NEXT) < last else last
        else:
            first, last = fetch_add(shared, base + EDGE_NEXT, chunk), count
        if first >= last:
            turn += 1
            if by_share and turn < threads:
                continue
            break
        for i in range(first, min(first + chunk, last)):
            u = np.int64(i) if ALL else np.int64(load(queue, i))
            s = at_source(F, P, G, u)
            for e in range(load(offsets, u), load(offsets, u + 1)):
                w = load(weights, e) if WEIGHTED else np.int64(1)
                if PREFILTERS and is_identity(propose(F, P, G, s, w, np.int64(0))):
                    continue
                v = np.int64(load(neighbours, e))
                if ONCE or not COND or wants(F, P, G, v):
                    p = propose(F, P, G, s, w, v)  # if it is nothing, the line of v's value is not loaded
                    if (not FILTERS or not is_identity(p)) and offer(F, v, p, ALONE) and not ALL and listed:
                        if not FLAGGED or set_mark(flags, v, ALONE):
                            store(hits, k, np.uint32(v))
                            k += 1
                            if k == BUFFER:
                                edges += spill(hits, k, nowhere, graph, F[-1], touched, W.mirrors, shared, shares, c)
                                k, mine = 0, nowhere
    edges += spill(hits, np.int64(k), np.int64(mine), graph, F[-1], touched, W.mirrors, shared, shares, c)
    fetch_add(shared, base + EDGE_SUM, edges)
