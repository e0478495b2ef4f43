# ruff: noqa: F821
# mypy: ignore-errors
"""Start of a run on CPU threads, and the lists of vertices that all phases fill.

This source follows a program's operators in its generated file; ``pull.py``, ``vertex.py`` and ``push.py`` come next.

It is never imported from here. Upper-case names are constants of the program or of ``state.py``; ``at_source``,
``propose``, ``offer``, ``apply`` … are its operators (``cpu/codegen/operators.py``). All threads run a phase together
and meet at a barrier after it. They take chunks of work from an atomic counter in the round's slot, at ``slot(c)``.
``W`` are the work arrays and ``R`` the results (``work_arrays.py``), ``c`` is this thread's copy of the round state.
"""


@njit(**INLINE)
def append(buffer, count, value, listed, counters, tail):
    """Append to this thread's buffer and flush it when full; return the new count."""
    store(buffer, count, np.uint32(value))
    count += 1
    return flush(buffer, count, listed, counters, tail) if count == BUFFER else count


@njit(**INNER)
def flush(buffer, count, listed, counters, tail):
    """Move this thread's buffer to a range of ``listed`` reserved at counter ``tail``; return 0."""
    if count > 0:
        begin = fetch_add(counters, tail, count)
        for i in range(count):
            store(listed, begin + i, load(buffer, i))
    return 0


@njit(**INNER)
def shares_cover_queue(shares, tick, count, threads):
    """Return True if the queue is the union of the threads' shares: each wrote its own in one piece."""
    covered = 0
    for t in range(threads):
        share = share_of(tick, t)
        covered += load(shares, share + END) - load(shares, share + BEGIN)
    return covered == count


@njit(**INNER)
def spill(hits, count, share, graph, degree, touched, mirrors, shared, shares, c):
    """Move changed vertices to the list of masters or of mirrors; return the out-edges of the masters.

    Out-edges are counted only if changed masters are the next frontier (not DEFERS). ``share`` is the index at which to
    record the range of the masters, or -1. The arrays come one by one: all of ``W`` as an argument would take 50 ns a
    call.
    """
    base = slot(c)
    offsets, neighbours, _ = graph
    masters, edges, of_masters, sums = c[MASTERS], 0, count, not DEFERS
    if c[ROWS] > masters:
        of_masters = 0
        for i in range(count):
            of_masters += np.int64(load(hits, i)) < masters
    place = fetch_add(shared, base + TOUCHED_TAIL, of_masters)
    if share >= 0:
        shares[share + BEGIN], shares[share + END], shares[share + NEXT] = place, place + of_masters, place
    if of_masters < count:
        away = fetch_add(shared, base + MIRROR_TAIL, count - of_masters)
        for i in range(count):
            v = np.int64(load(hits, i))
            if v < masters:
                store(touched, place, np.uint32(v))
                place += 1
                edges += load(degree, v) if sums else 0
            else:
                store(mirrors, away, np.uint32(v))
                away += 1
    else:
        for i in range(count):
            v = np.int64(load(hits, i))
            store(touched, place + i, np.uint32(v))
            if sums:  # and prefetch the row for the next round, which a large frontier would read by a pull
                row = load(offsets, v)
                if place < PREFETCHED:
                    prefetch(neighbours, row)
                edges += load(offsets, v + 1) - row if c[WHOLE_ROWS] else load(degree, v)
    return edges


@njit(**INLINE)
def chunk_of(count, edges, threads):
    """Return the vertices per chunk: small enough for balance, large enough to avoid contention on the counter."""
    least = 16 if edges < HEAVY * count else 1
    return count if threads == 1 else max(least, min(1024, count // (8 * threads)))


@njit(**INNER)
def start_phase(t, threads, F, P, G, W, c):
    """Run ``init`` on every master and collect the first frontier; thread t takes every ``threads``-th block.

    With ``priority`` and ``apply``, active masters of farther buckets begin to wait.
    """
    queue, far, shared, parts, base = lists(W, c).queue, lists(W, c).far, W.shared, W.parts, slot(c)
    waiting, live, live_counts = W.waiting, W.live, W.live_counts
    degree, front, later = F[-1], buffer_of(W, t, 0), buffer_of(W, t, 1)
    masters, k, j, edges, sums = c[MASTERS], 0, 0, 0, no_sums()
    for b in range(t, blocks_of(c), threads):
        floats = no_float_sums()
        for v in range(b * BLOCK, min((b + 1) * BLOCK, masters)):
            awake, s, f = begin(F, P, G, v)
            if SUMS:
                sums = add_sums(sums, s)
            if FLOAT_SUMS:
                floats = add_floats(floats, f)
            if awake and not ALL:
                if PRIORITY and APPLY and bucket(F, P, G, v) > c[BUCKET]:
                    store(waiting, v, np.uint8(1))
                    j = append(later, j, v, far, shared, np.int64(FAR_COUNT))
                else:
                    k = append(front, k, v, queue, shared, base + FRONT_TAIL)
                    edges += load(degree, v)
            if LIVE:
                store(live, v, np.uint32(v))
        if LIVE:
            store(live_counts, b, np.int64(min((b + 1) * BLOCK, masters) - b * BLOCK))
        if FLOAT_SUMS:
            flush_floats(parts, b * FLOAT_SUMS, floats)
    flush(front, np.int64(k), queue, shared, base + FRONT_TAIL)
    if PRIORITY and APPLY:
        flush(later, np.int64(j), far, shared, np.int64(FAR_COUNT))
    if SUMS:
        flush_sums(shared, base + SUMS_AT, sums)
    fetch_add(shared, base + EDGE_SUM, edges)
