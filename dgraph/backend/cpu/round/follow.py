# ruff: noqa: F821
# mypy: ignore-errors
"""Push phase of programs with buckets whose values only improve: a thread follows its own vertices; see ``phases.py``.

Delta-stepping with bucket fusion [Zhang et al., CGO 2020]: a vertex that falls into the open bucket stays with the
thread that lowered it. When the shared queue is empty, a thread goes on with its own list; threads meet at a barrier
once their lists are empty or longer than ``FOLLOWED``. Vertices of later buckets go to the waiting list, whose lowest
bucket is noted, so no vertex phase follows and no search for the next bucket. A flag is set as long as a vertex is in
a list or waits to be sorted, so none is in two.

A generated file contains it twice, as ``push.py``.
"""


@njit(**INNER)
def share_list(own, count, degree, touched, shared, base):
    """Move a thread's list to the next round's queue; return the out-edges of its vertices."""
    edges = 0
    if count > 0:
        place = fetch_add(shared, base + TOUCHED_TAIL, count)
        for i in range(count):
            v = np.int64(load(own, i))
            store(touched, place + i, np.uint32(v))
            edges += load(degree, v)
    return edges


@njit(**INNER)
def sort_hits(t, count, k, j, ahead, low, own, F, P, G, W, c):
    """Sort lowered vertices into the thread's list and the waiting list.

    Returns:
        lengths of the thread's list and of its buffer of waiting vertices, out-edges of shared vertices, and the lowest
        bucket of waiting ones.
    """
    flags, waiting, shared, hits, later = W.flags, W.waiting, W.shared, buffer_of(W, t, 3), buffer_of(W, t, 1)
    touched, far, degree, opened, base = lists(W, c).touched, lists(W, c).far, F[-1], c[BUCKET], slot(c)
    for i in range(count):
        v = np.int64(load(hits, i))
        number, near = bucket(F, P, G, v), True
        if number > opened:
            near = False
            if ALONE:
                store(flags, v, np.uint8(0))
            else:  # another thread may have lowered it since, and have left it to this one
                swap(flags, v, np.uint8(0))
                number = bucket(F, P, G, v)
                near = number <= opened and set_mark(flags, v, ALONE)
            if number > opened:
                low = min(low, number - FAR_BASE)
                if set_mark(waiting, v, ALONE):
                    j = append(later, j, v, far, shared, far_count(c))
        if near:
            store(own, k, np.uint32(v))
            k += 1
            if k == BUFFER:
                ahead += share_list(own, np.int64(k), degree, touched, shared, base)
                k = 0
    return k, j, ahead, low


@njit(**INNER)
def follow_phase(t, threads, small, graph, F, P, G, W, c):
    """Relax the edges of the queue and of the thread's own lists; set the slot's lowest bucket of waiting vertices.

    A thread alone keeps to itself what it lowers, but of a larger team only as long as ``small`` edges last.
    """
    source, touched, far, base = lists(W, c).queue, lists(W, c).touched, lists(W, c).far, slot(c)
    flags, shared, hits, own, spare = W.flags, W.shared, buffer_of(W, t, 3), buffer_of(W, t, 0), buffer_of(W, t, 2)
    offsets, neighbours, weights = graph
    count = c[QUEUED]
    k, j, h, low, vertices, edges, ahead = np.int64(0), np.int64(0), np.int64(0), np.int64(0), 0, 0, np.int64(0)
    chunk, is_shared = chunk_of(count, c[EDGES], threads), count > 0
    while True:
        first = last = 0
        if is_shared:
            first = fetch_add(shared, base + EDGE_NEXT, chunk)
            last = min(first + chunk, count)
            is_shared = first < count
        if not is_shared:
            if k == 0 or (k > FOLLOWED and not ALONE) or (ALONE and edges > small > 0):
                break
            source, own, spare = own, spare, own
            first, last, k = 0, k, np.int64(0)
        for i in range(first, last):
            u = np.int64(load(source, i))
            if ALONE:
                store(flags, u, np.uint8(0))
            else:  # before the value is read: whoever lowers it later lists the vertex again
                swap(flags, u, np.uint8(0))
            s = at_source(F, P, G, u)
            begin, end = load(offsets, u), load(offsets, u + 1)
            vertices += 1
            edges += end - begin
            for e in range(begin, end):
                w = load(weights, e) if WEIGHTED else np.int64(1)
                if PREFILTERS and is_identity(propose(F, P, G, s, w, np.int64(0))):
                    continue
                v = np.int64(load(neighbours, e))
                if COND and not wants(F, P, G, v):
                    continue
                if offer(F, v, propose(F, P, G, s, w, v), ALONE) and set_mark(flags, v, ALONE):
                    store(hits, h, np.uint32(v))
                    h += 1
                    if h == BUFFER:
                        k, j, ahead, low = sort_hits(t, h, k, j, ahead, low, own, F, P, G, W, c)
                        h = np.int64(0)
        k, j, ahead, low = sort_hits(t, h, k, j, ahead, low, own, F, P, G, W, c)
        h = np.int64(0)
    ahead += share_list(own, k, F[-1], touched, shared, base)
    flush(buffer_of(W, t, 1), j, far, shared, far_count(c))
    fetch_min(shared, base + FAR_MIN, low)
    fetch_add(shared, base + AWAKE, vertices)
    fetch_add(shared, base + FOLLOWED_EDGES, edges)
    fetch_add(shared, base + EDGE_SUM, ahead)
