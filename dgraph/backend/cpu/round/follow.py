# ruff: noqa: F821
# mypy: ignore-errors
"""Push phase of programs with buckets whose values only improve: a thread follows its own vertices; see ``phases.py``.

Delta-stepping with bucket fusion [Zhang et al., CGO 2020]: a vertex that falls into the open bucket stays with the
thread that lowered it. When the shared queue is empty, a thread goes on with its own list; threads meet at a barrier
once their lists are empty or longer than ``FOLLOWED``. Vertices of later buckets go to the waiting list, whose lowest
bucket is noted, so no vertex phase follows and no search for the next bucket. A vertex's flag is NEAR as long as it is
in a list of the open bucket, and WAITING from its entry in the waiting list on: a list holds it once. One that falls
from the waiting list into the open bucket stays there as a stale entry; it never waits again.

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


@njit(**INLINE)
def take_group(source, first, last, flags, offsets):
    """Clear the flags of vertices, and prefetch their rows, before any of their values is read.

    A thread that lowers one of them later then lists it again. One fence for several vertices: it waits for stores.
    """
    for i in range(first, last):
        u = np.int64(load(source, i))
        store(flags, u, np.uint8(CLEAR))
        prefetch(offsets, u)
    fence()


@njit(**INNER)
def follow_phase(t, threads, small, graph, F, P, G, W, c):
    """Relax the edges of the queue and of the thread's own lists; set the slot's lowest bucket of waiting vertices.

    A thread alone keeps to itself what it lowers, but of a larger team only as long as ``small`` edges last.
    """
    source, touched, far, base = lists(W, c).queue, lists(W, c).touched, lists(W, c).far, slot(c)
    flags, shared, later, own, spare = W.flags, W.shared, buffer_of(W, t, 1), buffer_of(W, t, 0), buffer_of(W, t, 2)
    offsets, neighbours, weights = graph
    count, opened, tail = c[QUEUED], c[BUCKET], far_count(c)
    k, j, low, vertices, edges, ahead = np.int64(0), np.int64(0), np.int64(0), 0, 0, np.int64(0)
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
                store(flags, u, np.uint8(CLEAR))
            elif (i - first) % GROUP == 0:
                take_group(source, i, min(i + GROUP, last), flags, offsets)
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
                if not offer(F, v, propose(F, P, G, s, w, v), ALONE):
                    continue
                number = bucket(F, P, G, v)
                near = number <= opened
                if not near:
                    low = min(low, number - FAR_BASE)
                    if load(flags, v) == CLEAR and replace_if_equal(
                        flags, v, np.uint8(CLEAR), np.uint8(WAITING), ALONE
                    ):
                        # another thread may have lowered and processed it before it was marked
                        near = not ALONE and bucket(F, P, G, v) <= opened
                        if not near:
                            j = append(later, j, v, far, shared, tail)
                if near and load(flags, v) != NEAR and (ALONE or swap(flags, v, np.uint8(NEAR)) != NEAR):
                    if ALONE:
                        store(flags, v, np.uint8(NEAR))
                    store(own, k, np.uint32(v))
                    k += 1
                    if k == BUFFER:
                        ahead += share_list(own, k, F[-1], touched, shared, base)
                        k = np.int64(0)
    ahead += share_list(own, k, F[-1], touched, shared, base)
    flush(later, j, far, shared, tail)
    fetch_min(shared, base + FAR_MIN, low)
    fetch_add(shared, base + AWAKE, vertices)
    fetch_add(shared, base + FOLLOWED_EDGES, edges)
    fetch_add(shared, base + EDGE_SUM, ahead)
