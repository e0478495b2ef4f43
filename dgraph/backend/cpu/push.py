# ruff: noqa: F821, SIM102
# mypy: ignore-errors
"""Push on CPU threads; see ``phases.py``. It is put into a generated file twice: ``ALONE``, for one thread, has no
locked instructions, which let no memory access pass them and so make every cache miss a wait."""


@njit(**OPTIONS)
def push_phase(t, threads, base, count, graph, F, P, G, queue, touched, W, c):
    """Every edge u → v of an active u proposes to v."""
    mirrors, flags, shared, hits = W[2], W[4], W[13], W[15][t, 0]
    offsets, neighbours, weights = graph
    k, edges = 0, 0
    chunk = chunk_of(count, threads)
    while count > 0:
        first = fetch_add(shared, base + EDGE_NEXT, chunk)
        if first >= count:
            break
        for i in range(first, min(first + chunk, count)):
            u = np.int64(i) if ALL else np.int64(load(queue, i))
            s = at_source(F, P, G, u)
            for e in range(load(offsets, u), load(offsets, u + 1)):
                v = np.int64(load(neighbours, e))
                w = load(weights, e) if WEIGHTED else np.int64(1)
                if ONCE or not COND or wants(F, P, G, v):
                    if offer(F, v, propose(F, P, G, s, w, v), ALONE) and not ALL:
                        if not FLAGGED or marked(flags, v, ALONE):
                            store(hits, k, np.uint32(v))
                            k += 1
                            if k == BUFFER:
                                edges += spill(hits, k, base, offsets, F, touched, mirrors, shared, c)
                                k = 0
    edges += spill(hits, k, base, offsets, F, touched, mirrors, shared, c)
    fetch_add(shared, base + EDGE_SUM, edges)
