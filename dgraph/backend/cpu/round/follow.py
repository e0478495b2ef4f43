# ruff: noqa: F821
# mypy: ignore-errors
"""Push phase of programs with buckets whose values only improve: a thread follows its own vertices; see ``phases.py``.

Delta-stepping with bucket fusion [Zhang et al., CGO 2020]: a vertex that falls into the open bucket stays with the
thread that lowered it. When the shared queue is empty, a thread goes on with its own list; threads meet at a barrier
once their lists are empty or longer than ``FOLLOWED``. Vertices of later buckets wait with the thread that lowered
them, or in a shared list where a buffer is full; the lowest bucket is noted, so no vertex phase follows and no search
for the next bucket. A thread takes first what it put into the queue. A vertex's flag is NEAR as long as it is
in a list of the open bucket, and WAITING from its entry in the waiting list on: a list holds it once. One that falls
from the waiting list into the open bucket stays there as a stale entry; it never waits again.

A generated file contains it twice, as ``push.py``.
"""


@njit(**INNER)
def share_list(own, count, offsets, queue, tail, share, W):
    """Move a thread's list to the next queue and record its range at ``share``, unless -1; return the out-edges."""
    edges, shares = 0, W.shares
    place = fetch_add(W.shared, tail, count)
    for i in range(count):
        v = np.int64(load(own, i))
        store(queue, place + i, np.uint32(v))
        edges += load(offsets, v + 1) - load(offsets, v)
    if share >= 0:
        shares[share + BEGIN], shares[share + END], shares[share + NEXT] = place, place + count, place
    return edges


@njit(**INNER)
def lowest_followed(t, threads, F, P, G, W, c):
    """Find the lowest bucket above the current one in which a vertex waits; the result goes to the slot's FAR_MIN."""
    later, far, own, count, low = buffer_of(W, t, 1), lists(W, c).far, c[LATER], c[LISTED], np.int64(0)
    first = count * t // threads - own
    for i in range(own + count * (t + 1) // threads - count * t // threads):
        v = np.int64(load(later, i) if i < own else load(far, first + i))
        level = bucket(F, P, G, v)
        if level > c[BUCKET]:
            low = min(low, level - FAR_BASE)
    fetch_min(W.shared, slot(c) + FAR_MIN, low)


@njit(**INNER)
def open_followed(t, threads, opened, graph, F, P, G, W, c):
    """Move waiting vertices of buckets up to ``opened`` to the queue: a thread's own, and its part of the shared list.

    Entries at or below the current bucket are stale.
    """
    queue, far, far_next, flags, shared = lists(W, c).queue, lists(W, c).far, lists(W, c).far_next, W.flags, W.shared
    front, later, own, count = buffer_of(W, t, 0), buffer_of(W, t, 1), c[LATER], c[LISTED]
    base, tail, mine = slot(c), 2 * FAR_COUNT + 8 - far_count(c), share_of(c[TICK] + 1, t)
    offsets, neighbours, _ = graph
    k, j, edges, low, first = np.int64(0), np.int64(0), 0, np.int64(0), count * t // threads - own
    for i in range(own + count * (t + 1) // threads - count * t // threads):
        v = np.int64(load(later, i) if i < own else load(far, first + i))
        number = bucket(F, P, G, v)
        if number > opened:
            low = min(low, number - FAR_BASE)
            j = append(later, j, v, far_next, shared, tail)
        elif number <= c[BUCKET]:
            store(flags, v, np.uint8(CLEAR))
        else:
            store(flags, v, np.uint8(NEAR))
            prefetch(neighbours, load(offsets, v))
            store(front, k, np.uint32(v))
            k += 1
            if k == BUFFER:
                edges += share_list(front, k, offsets, queue, base + FRONT_TAIL, np.int64(-1), W)
                k, mine = np.int64(0), np.int64(-1)
    edges += share_list(front, k, offsets, queue, base + FRONT_TAIL, np.int64(mine), W)
    c[LATER] = j
    fetch_add(shared, base + LATER_SUM, j)
    fetch_min(shared, base + FAR_MIN, low)
    fetch_add(shared, base + EDGE_SUM, edges)


@njit(**INLINE)
def take_group(source, first, last, end, flags, graph):
    """Clear the flags of vertices ``first`` to ``last``, and prefetch their rows, before any of their values is read.

    A thread that lowers one of them later then lists it again. One fence for several vertices: it waits for stores.
    What the next group, up to ``end``, needs here is prefetched.
    """
    offsets, neighbours, weights = graph
    for i in range(first, last):
        u = np.int64(load(source, i))
        store(flags, u, np.uint8(CLEAR))
        row = load(offsets, u)
        prefetch(neighbours, row)
        if WEIGHTED:
            prefetch(weights, row)
    for i in range(last, min(last + GROUP, end)):
        u = np.int64(load(source, i))
        prefetch(offsets, u)
        prefetch_to_write(flags, u)
    fence()


@njit(**INNER)
def follow_phase(t, threads, small, graph, F, P, G, W, c):
    """Relax the edges of the queue and of the thread's own lists; set the slot's lowest bucket of waiting vertices.

    A thread alone keeps to itself what it lowers, but of a larger team only as long as ``small`` edges last.
    """
    source, touched, far, base = lists(W, c).queue, lists(W, c).touched, lists(W, c).far, slot(c)
    flags, shared, later, own, spare = W.flags, W.shared, buffer_of(W, t, 1), buffer_of(W, t, 0), buffer_of(W, t, 2)
    offsets, neighbours, weights = graph
    count, opened, tail, tick, shares = c[QUEUED], c[BUCKET], far_count(c), c[TICK], W.shares
    k, j, low, vertices, edges, ahead, turn = np.int64(0), c[LATER], np.int64(0), 0, 0, np.int64(0), 0
    chunk, is_shared, mine = chunk_of(count, c[EDGES], threads), count > 0, share_of(tick + 1, t)
    by_share = not ALONE and shares_cover_queue(shares, tick, count, threads)
    while True:
        first = last = 0
        if is_shared and by_share:  # begin with the vertices that this thread listed: they are in its cache
            share = share_of(tick, (t + turn) % threads)
            last = load(shares, share + END)
            first = fetch_add(shares, share + NEXT, chunk) if load(shares, share + NEXT) < last else last
            last = min(first + chunk, last)
            if first >= last:
                turn, is_shared = turn + 1, turn + 1 < threads
                if is_shared:
                    continue
        elif is_shared:
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
                take_group(source, i, min(i + GROUP, last), last, flags, graph)
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
                proposed = propose(F, P, G, s, w, v)
                if not improves(F, v, proposed):
                    continue
                if not ALONE:  # while the locked instruction of the offer waits for its cache line
                    prefetch_to_write(flags, v)
                if not offer(F, v, proposed, ALONE):
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
                        ahead += share_list(own, k, offsets, touched, base + TOUCHED_TAIL, np.int64(-1), W)
                        k, mine = np.int64(0), np.int64(-1)
    ahead += share_list(own, k, offsets, touched, base + TOUCHED_TAIL, np.int64(mine), W)
    c[LATER] = j
    fetch_add(shared, base + LATER_SUM, j)
    fetch_min(shared, base + FAR_MIN, low)
    fetch_add(shared, base + AWAKE, vertices)
    fetch_add(shared, base + FOLLOWED_EDGES, edges)
    fetch_add(shared, base + EDGE_SUM, ahead)
