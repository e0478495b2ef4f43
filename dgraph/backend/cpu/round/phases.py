# ruff: noqa: F821
# mypy: ignore-errors
"""Phases of a round on CPU threads: source that follows a program's operators in its generated file.

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


@njit(**INNER)
def flag_frontier(t, threads, W, c):
    """Set the flags of thread t's part of the frontier's queue: bytes, which take no locked instruction."""
    queue, flags, count = lists(W, c).queue, W.flags, c[QUEUED]
    for i in range(count * t // threads, count * (t + 1) // threads):
        store(flags, np.int64(load(queue, i)), np.uint8(1))


@njit(**INNER)
def set_bits(t, threads, W, c):
    """Convert thread t's part of the flags to the frontier's bitmap, and clear them; a barrier separates both steps."""
    flags, bits, words = W.flag_words, lists(W, c).bits, (c[ROWS] + 63) >> 6
    for i in range(words * t // threads, words * (t + 1) // threads):
        word = np.uint64(0)
        for k in range(8):
            eight = load(flags, 8 * i + k)
            if eight != np.uint64(0):  # the product's highest byte has a bit for each byte of 1
                word |= ((eight * np.uint64(0x0102040810204080)) >> np.uint64(56)) << np.uint64(8 * k)
                store(flags, 8 * i + k, np.uint64(0))
        store(bits, i, word)


@njit(**INLINE)
def is_set(bits, u):
    """Return True if bit ``u`` is set."""
    return (load(bits, u >> 6) >> np.uint64(u & 63)) & np.uint64(1) != np.uint64(0)


@njit(**INLINE)
def values_of(u, numbered, F, P, G):
    """Return the values of ``u`` that edges read; where vertices are ``numbered``, its id is not loaded."""
    return at_numbered(F, P, G, u) if READS_ID and numbered else at_source(F, P, G, u)


@njit(**INLINE)
def proposal(e, v, numbered, graph, F, P, G):
    """Return the proposal along in-edge ``e`` of ``v``."""
    _, neighbours, weights = graph
    w = load(weights, e) if WEIGHTED else np.int64(1)
    return propose(F, P, G, values_of(np.int64(load(neighbours, e)), numbered, F, P, G), w, v)


@njit(**INLINE)
def fold_in_chains(e, last, v, numbered, graph, F, P, G):
    """Return the combined proposals along the in-edges ``e … last - 1`` of ``v``.

    In four chains additions do not wait for each other, and a row ends with at most three edges one by one. LLVM's own
    loop takes 16 edges at a time where it loads them singly, which leaves up to 15 and mispredicts several branches.
    """
    a, b, c, d = identity(), identity(), identity(), identity()
    while e + 4 <= last:
        a = fold_in_order(a, proposal(e, v, numbered, graph, F, P, G))
        b = fold_in_order(b, proposal(e + 1, v, numbered, graph, F, P, G))
        c = fold_in_order(c, proposal(e + 2, v, numbered, graph, F, P, G))
        d = fold_in_order(d, proposal(e + 3, v, numbered, graph, F, P, G))
        e += 4
    if e + 2 <= last:
        a = fold_in_order(a, proposal(e, v, numbered, graph, F, P, G))
        b = fold_in_order(b, proposal(e + 1, v, numbered, graph, F, P, G))
        e += 2
    if e < last:
        c = fold_in_order(c, proposal(e, v, numbered, graph, F, P, G))
    return fold_in_order(fold_in_order(a, b), fold_in_order(c, d))


@njit(**INLINE)
def lane(e, last, v, numbered, graph, F, P, G):
    """Return the proposal along in-edge ``e`` of ``v``; the identity if the row ends before it, without a branch."""
    p = proposal(min(e, last - 1), v, numbered, graph, F, P, G)
    return p if e < last else narrow_identity()


@njit(**INLINE)
def fold_row_of(v, first, last, numbered, graph, F, P, G):
    """Return the combined proposals along the in-edges ``first … last - 1`` of ``v``.

    Floats are added in their own precision in pieces of at most PIECE, and pieces in 64 bits: half the instructions.
    LLVM's loop of vectors is slower than a plain one where few edges remain, and branches on the length of the shortest
    rows would be mispredicted.
    """
    a, b = identity(), narrow_identity()
    if last - first <= LANES:
        b = proposal(first, v, numbered, graph, F, P, G)
        for i in range(1, LANES):
            b = fold_in_order(b, lane(first + i, last, v, numbered, graph, F, P, G))
        return fold_in_order(a, b)
    if not has_wide_gathers():
        return fold_in_chains(first, last, v, numbered, graph, F, P, G)
    if last - first <= SHORT:
        for e in range(first, last):
            b = fold_in_order(b, proposal(e, v, numbered, graph, F, P, G))
        return fold_in_order(a, b)
    while first < last:
        end, b = min(first + PIECE, last), narrow_identity()
        for e in range(first, end):
            b = fold(b, proposal(e, v, numbered, graph, F, P, G))
        a, first = fold_in_order(a, b), end
    return a


@njit(**INLINE)
def pull_row(v, bits, graph, hints, by_id, numbered, F, P, G):
    """Combine the proposals of v's active in-neighbours; return True if v changed."""
    offsets, neighbours, _ = graph
    a, hit, first, last = identity(), False, load(offsets, v), load(offsets, v + 1)
    if ALL and not (ONCE or SMALLEST):
        return first < last and commit(F, v, fold_row_of(v, first, last, numbered, graph, F, P, G))
    for e in range(first, last):
        u = np.int64(load(neighbours, e))
        if ALL or is_set(bits, u):
            a, hit = fold(a, proposal(e, v, numbered, graph, F, P, G)), True
            if HINTS:
                store(hints, v, np.uint32(LAST_HINT - u))
            if ONCE or (SMALLEST and by_id and not is_identity(a)):
                break
    return hit and commit(F, v, a)


@njit(**INLINE)
def open_rows(first, last, bits, hints, graph, F, P, G):
    """Return bitmaps of vertices that accept proposals: those with in-edges to scan, and those whose hint is active.

    Which vertices do is hard to predict, so the bitmaps are made without branches. Rows to scan are prefetched.
    """
    offsets, neighbours, _ = graph
    accepting = hinted = np.uint64(0)
    for v in range(first, last):
        filled = load(hints, v) != NO_EDGES if HINTS else load(offsets, v + 1) > load(offsets, v)
        accepting |= np.uint64(bool(wants(F, P, G, v)) & filled) << np.uint64(v - first)
    ahead = accepting
    while HINTS and ahead != np.uint64(0):
        lowest = ahead & (~ahead + np.uint64(1))
        hint = np.int64(load(hints, first + trailing_zeros(ahead)))
        hinted |= lowest * np.uint64((hint != 0) & is_set(bits, (LAST_HINT - hint) * (hint != 0)))
        ahead ^= lowest
    accepting ^= hinted
    ahead = accepting
    while ahead != np.uint64(0):
        v = first + trailing_zeros(ahead)
        lowest = ahead & (~ahead + np.uint64(1))
        row = load(offsets, v)
        if HINTS and row == load(offsets, v + 1):
            store(hints, v, np.uint32(NO_EDGES))
            accepting ^= lowest
        prefetch(neighbours, row)
        ahead ^= lowest
    return accepting, hinted


@njit(**INNER)
def pull_phase(t, threads, graph, F, P, G, W, c):
    """Pull: every v that accepts proposals scans its in-edges for active sources; a thread owns 64 vertices of a word.

    ``bits`` is the frontier; the bitmap of changed vertices goes to ``next_bits``. Where one proposal is enough, a
    vertex looks first at its hint: the in-neighbour whose proposal it took in its last pull, maybe in an earlier run.
    As a rule that is a hub, which the frontiers of many searches contain.
    """
    bits, next_bits, shared, base = lists(W, c).bits, lists(W, c).next_bits, W.shared, slot(c)
    degree, hints = F[-1], W.hints
    rows, masters, awake, edges = c[ROWS], c[MASTERS], 0, 0
    by_id, numbered, words = c[BY_ID] != 0, c[NUMBERED] != 0, (rows + 63) >> 6
    chunk = 16 if threads > 1 else words
    while words > 0:
        first = fetch_add(shared, base + EDGE_NEXT, chunk)
        if first >= words:
            break
        for i in range(first, min(first + chunk, words)):
            word = np.uint64(0)
            if ALL and not COND:
                for v in range(i << 6, min((i + 1) << 6, rows)):
                    pull_row(v, bits, graph, hints, by_id, numbered, F, P, G)
            elif ALL or not COND:
                for v in range(i << 6, min((i + 1) << 6, rows)):
                    if (not COND or wants(F, P, G, v)) and pull_row(v, bits, graph, hints, by_id, numbered, F, P, G):
                        word |= np.uint64(1) << np.uint64(v & 63)
            else:
                accepting, hinted = open_rows(i << 6, min((i + 1) << 6, rows), bits, hints, graph, F, P, G)
                while HINTS and hinted != np.uint64(0):
                    v, lowest = (i << 6) + trailing_zeros(hinted), hinted & (~hinted + np.uint64(1))
                    s = values_of(LAST_HINT - np.int64(load(hints, v)), numbered, F, P, G)
                    if commit(F, v, fold(identity(), propose(F, P, G, s, np.int64(1), v))):
                        word |= lowest
                    hinted ^= lowest
                while accepting != np.uint64(0):
                    lowest = accepting & (~accepting + np.uint64(1))
                    if pull_row((i << 6) + trailing_zeros(accepting), bits, graph, hints, by_id, numbered, F, P, G):
                        word |= lowest
                    accepting ^= lowest
            if not ALL:
                changed = word
                while changed != np.uint64(0):
                    v = (i << 6) + trailing_zeros(changed)
                    changed &= changed - np.uint64(1)
                    if v < masters:
                        awake += 1
                        if not DEFERS:
                            edges += load(degree, v)
                store(next_bits, i, word)
    fetch_add(shared, base + AWAKE, awake)
    fetch_add(shared, base + EDGE_SUM, edges)


@njit(**INNER)
def expand(t, threads, tail, bits, listed, W, c):
    """Convert a bitmap to a list of masters and one of mirrors."""
    mirrors, flags, shared, base = W.mirrors, W.flags, W.shared, slot(c)
    masters_found, mirror_found = buffer_of(W, t, 0), buffer_of(W, t, 1)
    masters, k, j = c[MASTERS], 0, 0
    words = (c[ROWS] + 63) >> 6
    for i in range(words * t // threads, words * (t + 1) // threads):
        word = load(bits, i)
        while word != np.uint64(0):
            v = (np.int64(i) << 6) + trailing_zeros(word)
            word &= word - np.uint64(1)
            if v < masters:
                if FLAGGED and tail == TOUCHED_TAIL:
                    store(flags, v, np.uint8(1))
                k = append(masters_found, k, v, listed, shared, base + tail)
            else:
                j = append(mirror_found, j, v, mirrors, shared, base + MIRROR_TAIL)
    flush(masters_found, k, listed, shared, base + tail)
    flush(mirror_found, j, mirrors, shared, base + MIRROR_TAIL)


@njit(**SPLICED)
def list_changed(t, threads, W, c):
    """List the vertices that a pull changed."""
    expand(t, threads, np.int64(TOUCHED_TAIL), lists(W, c).next_bits, lists(W, c).touched, W, c)


@njit(**INNER)
def vertex_phase(t, threads, fused, graph, F, P, G, W, c):
    """Run ``apply`` on changed masters, or on all live ones; sort them into near and far bucket where there are some.

    Threads take blocks of BLOCK masters if all are visited, else chunks of ``touched``. AT_ONCE, a fused round pulls a
    block just before. Other blocks still read what edges read: its new values replace the sums, and the two fields swap
    arrays after the round.
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
        blocks = blocks_of(c)
        while APPLY:
            b = fetch_add(shared, base + VERTEX_NEXT, 1)
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
