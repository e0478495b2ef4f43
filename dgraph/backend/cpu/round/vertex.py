# ruff: noqa: F821
# mypy: ignore-errors
"""Vertex phase on CPU threads, and the buckets of vertices that wait: source that follows ``pull.py``.

See ``phases.py`` for generated files.
"""


@njit(**INNER)
def vertex_phase(t, threads, fused, graph, F, P, G, W, c):
    """Run ``apply`` on changed masters, or on all live ones; sort them into near and far bucket where there are some.

    Threads take runs of blocks of BLOCK masters if all are visited, else chunks of ``touched``. AT_ONCE, a fused round
    pulls a block just before. Other blocks still read what edges read: its new values replace the sums, and the two
    fields swap arrays after the round.
    """
    whole, numbered = AT_ONCE and fused, c[NUMBERED] != 0
    new = swapped(F) if whole else F
    queue, touched, far, base = lists(W, c).queue, lists(W, c).touched, lists(W, c).far, slot(c)
    dirty, flags, waiting, live, live_counts = W.dirty, W.flags, W.waiting, W.live, W.live_counts
    degree, parts = F[-1], parts_of(W, c) if whole else W.parts
    shared, front, dirt = W.shared, buffer_of(W, t, 0), buffer_of(W, t, 1)
    later = buffer_of(W, t, 2)
    masters, k, d, j, edges, sums = c[MASTERS], 0, 0, 0, 0, no_sums()
    count = load_acquire(shared, base + TOUCHED_TAIL)
    if ALL or (WHOLE_PASSES and c[WHOLE]):
        blocks, b, end = blocks_of(c), 0, 0
        run = max(blocks // (RUNS * threads), 1)
        while APPLY:
            if b == end:
                b = fetch_add(shared, base + VERTEX_NEXT, run)
                end = b + run
            if b >= blocks:
                break
            first, last = b * BLOCK, min((b + 1) * BLOCK, masters)
            if LIVE:
                last = first + load(live_counts, b)
            if whole:
                for v in range(first, last):
                    reset(F, v)
                    pull_row(v, W.bits, graph, W.hints, False, numbered, F, P, G)
            kept, floats = first, no_float_sums()
            for i in range(first, last):
                v = np.int64(load(live, i)) if LIVE else np.int64(i)
                awake, changed, s, f = apply(F, new, P, G, v)
                if not whole:
                    reset(F, v)
                if SUMS:
                    sums = add_sums(sums, s)
                if FLOAT_SUMS:
                    floats = add_floats(floats, f)
                if not ALL and awake:
                    k = append(front, k, v, queue, shared, base + FRONT_TAIL)
                    edges += load(degree, v)
                if DIRTY and (awake or changed):
                    d = append(dirt, d, v, dirty, shared, base + DIRTY_TAIL)
                if LIVE and lives(F, P, G, v):
                    store(live, kept, np.uint32(v))
                    kept += 1
            if LIVE:
                store(live_counts, b, np.int64(kept - first))
            if FLOAT_SUMS:
                flush_floats(parts, b * FLOAT_SUMS, floats)
            b += 1
        if FLAGGED:
            for i in range(count * t // threads, count * (t + 1) // threads):
                store(flags, load(touched, i), np.uint8(0))
    else:
        chunk = chunk_of(count, 0, threads)
        while count > 0:
            first = fetch_add(shared, base + VERTEX_NEXT, chunk)
            if first >= count:
                break
            for i in range(first, min(first + chunk, count)):
                v = np.int64(load(touched, i))
                if FLAGGED:
                    store(flags, v, np.uint8(0))
                awake, changed, s, f = apply(F, F, P, G, v)
                if APPLY:
                    reset(F, v)
                if SUMS:
                    sums = add_sums(sums, s)
                if PRIORITY and awake and bucket(F, P, G, v) > c[BUCKET]:
                    if load(waiting, v) == 0:
                        store(waiting, v, np.uint8(1))
                        j = append(later, j, v, far, shared, np.int64(FAR_COUNT))
                elif (APPLY or PRIORITY) and awake:
                    k = append(front, k, v, queue, shared, base + FRONT_TAIL)
                    edges += load(degree, v)
                if DIRTY and (awake or changed):
                    d = append(dirt, d, v, dirty, shared, base + DIRTY_TAIL)
    flush(front, np.int64(k), queue, shared, base + FRONT_TAIL)
    if DIRTY:
        flush(dirt, np.int64(d), dirty, shared, base + DIRTY_TAIL)
    if PRIORITY:
        flush(later, np.int64(j), far, shared, np.int64(FAR_COUNT))
    if SUMS:
        flush_sums(shared, base + SUMS_AT, sums)
    fetch_add(shared, base + EDGE_SUM, edges)


@njit(**INNER)
def lowest_bucket(t, threads, F, P, G, W, c):
    """Find the lowest bucket above the current one in which a vertex waits; the result goes to the slot's FAR_MIN."""
    far, low, count = lists(W, c).far, np.int64(0), c[FAR]
    for i in range(count * t // threads, count * (t + 1) // threads):
        level = bucket(F, P, G, np.int64(load(far, i)))
        if level > c[BUCKET]:
            low = min(low, level - FAR_BASE)
    fetch_min(W.shared, slot(c) + FAR_MIN, low)


@njit(**INNER)
def open_bucket(t, threads, opened, F, P, G, W, c):
    """Move waiting vertices of buckets up to ``opened`` to the frontier; farther ones go to ``far_next``.

    Entries at or below the current bucket are stale: the vertex was processed since it began to wait.
    """
    queue, far, far_next, waiting = lists(W, c).queue, lists(W, c).far, lists(W, c).far_next, W.waiting
    degree, shared, base, front, rest = F[-1], W.shared, slot(c), buffer_of(W, t, 0), buffer_of(W, t, 1)
    k, r, edges, count, bucket_now = 0, 0, 0, c[FAR], c[BUCKET]
    for i in range(count * t // threads, count * (t + 1) // threads):
        v = np.int64(load(far, i))
        own = bucket(F, P, G, v)
        if own > opened:
            r = append(rest, r, v, far_next, shared, base + FAR_TAIL)
        else:
            store(waiting, v, np.uint8(0))
            if own > bucket_now:
                k = append(front, k, v, queue, shared, base + FRONT_TAIL)
                edges += load(degree, v)
    flush(front, np.int64(k), queue, shared, base + FRONT_TAIL)
    flush(rest, r, far_next, shared, base + FAR_TAIL)
    fetch_add(shared, base + EDGE_SUM, edges)
