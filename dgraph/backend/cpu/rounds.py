# ruff: noqa: F821
# mypy: ignore-errors
"""Rounds on CPU threads: the text that follows a program's operators in its generated file (``compile.py``).

It is never imported from here: upper-case names are constants of the program or of ``layout.py``, and ``at_source``,
``propose``, ``offer``, ``apply`` … are its operators (``render.py``). All threads run ``work`` from start to end
together (SPMD) and meet at barriers; chunks of a phase are dealt out by an atomic counter.
"""


@njit(**INLINE)
def append(buffer, count, value, out, counters, tail):
    """Add to this thread's buffer, and flush a full one; the new count."""
    store(buffer, count, np.uint32(value))
    count += 1
    return flush(buffer, count, out, counters, tail) if count == BUFFER else count


@njit(**OPTIONS)
def flush(buffer, count, out, counters, tail):
    """Move this thread's buffer to its place in the list; 0."""
    if count > 0:
        at = fetch_add(counters, tail, count)
        for i in range(count):
            store(out, at + i, load(buffer, i))
    return 0


@njit(**INLINE)
def chunk_of(count, threads):
    """Vertices a turn: small enough to balance, large enough not to fight for the counter."""
    return count if threads == 1 else max(16, min(1024, count // (8 * threads)))


@njit(**OPTIONS)
def start_phase(t, threads, base, F, P, G, W, c):
    """``init`` on every master; the first frontier."""
    queue, shared, parts, live, live_counts, buffers = W[0], W[13], W[12], W[10], W[11], W[15]
    degree, front = F[-1], buffers[t, 0]
    masters, k, edges, sums = c[MASTERS], 0, 0, no_sums()
    blocks = (masters + BLOCK - 1) // BLOCK
    for b in range(t, blocks, threads):
        floats = no_float_sums()
        for v in range(b * BLOCK, min((b + 1) * BLOCK, masters)):
            awake, s, f = begin(F, P, G, v)
            sums, floats = add_sums(sums, s), add_floats(floats, f)
            if awake and not ALL:
                k = append(front, k, v, queue, shared, base + FRONT_TAIL)
                edges += load(degree, v)
            if LIVE:
                store(live, v, np.uint32(v))
        if LIVE:
            store(live_counts, b, np.int64(min((b + 1) * BLOCK, masters) - b * BLOCK))
        flush_floats(parts, b * FLOAT_SUMS, floats)
    flush(front, k, queue, shared, base + FRONT_TAIL)
    flush_sums(shared, base + SUMS_AT, sums)
    fetch_add(shared, base + EDGE_SUM, edges)


@njit(**OPTIONS)
def push_phase(t, threads, base, count, graph, F, P, G, queue, touched, W, c):
    """Every edge u → v of an active u proposes to v."""
    mirrors, flags, shared, buffers = W[2], W[4], W[13], W[15]
    offsets, neighbours, weights = graph
    degree, hits, mirror_hits = F[-1], buffers[t, 0], buffers[t, 1]
    masters, k, j, edges = c[MASTERS], 0, 0, 0
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
                if wants(F, P, G, v):
                    w = load(weights, e) if WEIGHTED else np.int64(1)
                    if offer(F, v, propose(F, P, G, s, w, v)) and not ALL:
                        if not FLAGGED or (load(flags, v) == 0 and swap(flags, v, np.uint8(1)) == 0):
                            if v < masters:
                                k = append(hits, k, v, touched, shared, base + TOUCHED_TAIL)
                                if not APPLY and not PRIORITY:
                                    edges += load(degree, v)
                            else:
                                j = append(mirror_hits, j, v, mirrors, shared, base + MIRROR_TAIL)
    flush(hits, k, touched, shared, base + TOUCHED_TAIL)
    flush(mirror_hits, j, mirrors, shared, base + MIRROR_TAIL)
    fetch_add(shared, base + EDGE_SUM, edges)


@njit(**OPTIONS)
def set_bits(t, threads, base, count, queue, bits):
    """The list of the frontier as bits; call between two barriers, on cleared words."""
    for i in range(count * t // threads, count * (t + 1) // threads):
        v = np.int64(load(queue, i))
        fetch_or(bits, v >> 6, np.uint64(1) << np.uint64(v & 63))


@njit(**OPTIONS)
def clear_bits(t, threads, rows, bits):
    words = (rows + 63) >> 6
    for i in range(words * t // threads, words * (t + 1) // threads):
        store(bits, i, np.uint64(0))


@njit(**INLINE)
def is_set(bits, u):
    return (load(bits, u >> 6) >> np.uint64(u & 63)) & np.uint64(1) != np.uint64(0)


@njit(**OPTIONS)
def pull_phase(t, threads, base, graph, F, P, G, bits, next_bits, W, c):
    """Every v that wants proposals looks back along its edges for active sources; ``next_bits``: who changed."""
    shared = W[13]
    offsets, neighbours, weights = graph
    degree = F[-1]
    rows, masters, awake, edges = c[ROWS], c[MASTERS], 0, 0
    words = (rows + 63) >> 6
    chunk = 16 if threads > 1 else words
    while words > 0:
        first = fetch_add(shared, base + EDGE_NEXT, chunk)
        if first >= words:
            break
        for i in range(first, min(first + chunk, words)):
            word = np.uint64(0)
            for v in range(i << 6, min((i + 1) << 6, rows)):
                if wants(F, P, G, v):
                    a, hit = identity(), False
                    for e in range(load(offsets, v), load(offsets, v + 1)):
                        u = np.int64(load(neighbours, e))
                        if ALL or is_set(bits, u):
                            w = load(weights, e) if WEIGHTED else np.int64(1)
                            a, hit = fold(a, propose(F, P, G, at_source(F, P, G, u), w, v)), True
                            if ONCE:
                                break
                    if hit and commit(F, v, a):
                        word |= np.uint64(1) << np.uint64(v & 63)
                        if v < masters:
                            awake += 1
                            if not APPLY and not PRIORITY:
                                edges += load(degree, v)
            if not ALL:
                store(next_bits, i, word)
    fetch_add(shared, base + AWAKE, awake)
    fetch_add(shared, base + EDGE_SUM, edges)


@njit(**OPTIONS)
def expand(t, threads, base, tail, bits, out, W, c):
    """Bits as a list of masters, and one of mirrors."""
    mirrors, flags, shared, buffers = W[2], W[4], W[13], W[15]
    found, mirror_found = buffers[t, 0], buffers[t, 1]
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
                k = append(found, k, v, out, shared, base + tail)
            else:
                j = append(mirror_found, j, v, mirrors, shared, base + MIRROR_TAIL)
    flush(found, k, out, shared, base + tail)
    flush(mirror_found, j, mirrors, shared, base + MIRROR_TAIL)


@njit(**OPTIONS)
def vertex_phase(t, threads, base, whole, F, P, G, queue, touched, far, W, c):
    """``apply`` on changed masters (on all, on all that live), or sort them into the near and the far pile."""
    dirty, flags, waiting, live, live_counts = W[3], W[4], W[7], W[10], W[11]
    parts, shared, buffers = W[12], W[13], W[15]
    degree, front, dirt = F[-1], buffers[t, 0], buffers[t, 1]
    masters, k, d, edges, sums = c[MASTERS], 0, 0, 0, no_sums()
    count = load_acquire(shared, base + TOUCHED_TAIL)
    if ALL or whole:
        blocks = (masters + BLOCK - 1) // BLOCK
        while APPLY:
            b = fetch_add(shared, base + VERTEX_NEXT, 1)
            if b >= blocks:
                break
            first, last = b * BLOCK, min((b + 1) * BLOCK, masters)
            if LIVE:
                last = first + load(live_counts, b)
            kept, floats = first, no_float_sums()
            for i in range(first, last):
                v = np.int64(load(live, i)) if LIVE else np.int64(i)
                awake, changed, s, f = apply(F, P, G, v)
                reset(F, v)
                sums, floats = add_sums(sums, s), add_floats(floats, f)
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
            flush_floats(parts, b * FLOAT_SUMS, floats)
        if FLAGGED:
            for i in range(count * t // threads, count * (t + 1) // threads):
                store(flags, load(touched, i), np.uint8(0))
    else:
        chunk = chunk_of(count, threads)
        while count > 0:
            first = fetch_add(shared, base + VERTEX_NEXT, chunk)
            if first >= count:
                break
            for i in range(first, min(first + chunk, count)):
                v = np.int64(load(touched, i))
                if FLAGGED:
                    store(flags, v, np.uint8(0))
                if APPLY:
                    awake, changed, s, f = apply(F, P, G, v)
                    reset(F, v)
                    sums = add_sums(sums, s)
                    if awake:
                        k = append(front, k, v, queue, shared, base + FRONT_TAIL)
                        edges += load(degree, v)
                    if DIRTY and (awake or changed):
                        d = append(dirt, d, v, dirty, shared, base + DIRTY_TAIL)
                elif PRIORITY:
                    if pile(F, P, G, v) <= c[PILE]:
                        k = append(front, k, v, queue, shared, base + FRONT_TAIL)
                        edges += load(degree, v)
                    elif load(waiting, v) == 0:
                        store(waiting, v, np.uint8(1))
                        d = append(dirt, d, v, far, c, FAR)
    flush(front, k, queue, shared, base + FRONT_TAIL)
    if DIRTY:
        flush(dirt, d, dirty, shared, base + DIRTY_TAIL)
    if PRIORITY:
        flush(dirt, d, far, c, FAR)
    flush_sums(shared, base + SUMS_AT, sums)
    fetch_add(shared, base + EDGE_SUM, edges)


@njit(**OPTIONS)
def lowest_pile(t, threads, base, F, P, G, far, W, c):
    """The lowest pile above the current one that a waiting vertex is in, into the slot's FAR_MIN."""
    low, count = np.int64(0), c[FAR]
    for i in range(count * t // threads, count * (t + 1) // threads):
        at = pile(F, P, G, np.int64(load(far, i)))
        if at > c[PILE]:
            low = min(low, at - FAR_BASE)
    fetch_min(W[13], base + FAR_MIN, low)


@njit(**OPTIONS)
def open_pile(t, threads, base, opened, F, P, G, queue, far, far_next, W, c):
    """Vertices of pile ``opened`` join the frontier; those below it have been through since they began to wait."""
    waiting, shared, buffers = W[7], W[13], W[15]
    degree, front, rest = F[-1], buffers[t, 0], buffers[t, 1]
    k, r, edges, count, current = 0, 0, 0, c[FAR], c[PILE]
    for i in range(count * t // threads, count * (t + 1) // threads):
        v = np.int64(load(far, i))
        at = pile(F, P, G, v)
        if at > opened:
            r = append(rest, r, v, far_next, shared, base + FAR_TAIL)
        else:
            store(waiting, v, np.uint8(0))
            if at > current:
                k = append(front, k, v, queue, shared, base + FRONT_TAIL)
                edges += load(degree, v)
    flush(front, k, queue, shared, base + FRONT_TAIL)
    flush(rest, r, far_next, shared, base + FAR_TAIL)
    fetch_add(shared, base + EDGE_SUM, edges)


@njit(**OPTIONS)
def direction(mode, forced, active, was, edges, unexplored, n, arcs):
    """Push or pull in the next round, from totals that every rank has.   [Beamer et al., SC 2012]"""
    if not CAN_PULL or forced == FORCE_PUSH:
        return PUSH
    if forced == FORCE_PULL or (ALL and forced == AUTO):
        return PULL
    if forced == FLIP:
        return PULL - mode
    if PRIORITY:
        return PUSH
    if ONCE:
        if mode == PUSH:
            return PULL if edges > unexplored // 15 else PUSH
        return PUSH if active < was and active <= n // 18 else PULL
    return PULL if active + edges > arcs // 20 else PUSH


@njit(**OPTIONS)
def decide(P, G, c, integers, floats, active, edges):
    """What a round's totals mean: globals, the end, the next direction. For ranks that agreed on them outside."""
    was = c[TOTAL_ACTIVE]
    G, done, whole = step(P, next_round(G, np.int64(active)))
    store_globals(G, integers, floats)
    c[ROUND] += 1
    c[DONE], c[WHOLE], c[TOTAL_ACTIVE], c[TOTAL_EDGES] = done, whole, active, edges
    mode = direction(c[MODE], c[FORCED], active, was, edges, c[UNEXPLORED], c[N], c[ARCS])
    if mode == PUSH:
        c[UNEXPLORED] -= edges
    c[MODE] = mode


@njit(**OPTIONS)
def totals(P, integers, floats, c, sums, float_sums):
    """Globals with a round's sums in them; ``sums`` are 8 words apart, as the slots hold them."""
    G = load_globals(integers, floats, c[N], c[M], c[ROUND], c[TOTAL_ACTIVE])
    return with_floats(with_sums(G, sums, 0), float_sums) if FLOAT_SUMS else with_sums(G, sums, 0)


@njit(**OPTIONS)
def agreed(P, integers, floats, c, sums, float_sums, active, edges, starting):
    """Take in totals that were agreed on by all ranks, after START (``starting``) or after a round."""
    G = totals(P, integers, floats, c, sums, float_sums)
    if starting:
        store_globals(G, integers, floats)
        c[TOTAL_ACTIVE], c[TOTAL_EDGES] = active, edges
        c[MODE] = direction(PUSH, c[FORCED], active, 0, edges, c[UNEXPLORED], c[N], c[ARCS])
        if c[MODE] == PUSH:
            c[UNEXPLORED] -= edges
    else:
        decide(P, G, c, integers, floats, active, edges)


@njit(**OPTIONS)
def combine(lids, positions, count, values, F, touched, W, c):
    """Proposals that mirrors made, into their masters. One thread."""
    flags, shared = W[4], W[13]
    degree, base = F[-1], (c[TICK] & 3) * SLOT
    for i in range(count):
        v = np.int64(load(lids, np.int64(load(positions, i))))
        p = values_at(values, i)
        if is_identity(p):
            continue
        if offer(F, v, p) and not ALL:
            if not FLAGGED or load(flags, v) == 0:
                if FLAGGED:
                    store(flags, v, np.uint8(1))
                store(touched, shared[base + TOUCHED_TAIL], np.uint32(v))
                shared[base + TOUCHED_TAIL] += 1
                if not APPLY and not PRIORITY:
                    shared[base + EDGE_SUM] += load(degree, v)


@njit(**OPTIONS)
def fold_parts(parts, blocks):
    """Float sums of blocks, in block order."""
    total = no_float_sums()
    for b in range(blocks):
        total = add_floats(total, part_at(parts, b * FLOAT_SUMS))
    return total


@njit(**OPTIONS)
def work(t, threads, phases, limit, small, push, pull, F, P, integers, floats, sums, float_sums, ring, W, c):
    """Thread t of ``threads``: one phase, or FUSED rounds until done, ``limit`` rounds, or a frontier that another
    number of threads suits better (``small`` > 0: leave above it; < 0: leave below it)."""
    shared, gate, parts = W[13], W[14], W[12]
    queue, touched, far, far_next = W[0], W[1], W[8], W[9]
    bits, next_bits = W[5], W[6]
    if c[SWAPPED] & 1:
        queue, touched = touched, queue
    if c[FAR_SWAPPED] & 1:
        far, far_next = far_next, far
    if c[BITS_SWAPPED] & 1:
        bits, next_bits = next_bits, bits
    tick, mode, valid, whole, done = c[TICK], c[MODE], c[BITS], c[WHOLE], c[DONE]
    queued, active, edges, unexplored = c[QUEUED], c[TOTAL_ACTIVE], c[EDGES], c[UNEXPLORED]
    swapped, bits_swapped, far_swapped = c[SWAPPED], c[BITS_SWAPPED], c[FAR_SWAPPED]
    first = c[ROUND]
    masters, rows = c[MASTERS], c[ROWS]
    blocks = (masters + BLOCK - 1) // BLOCK
    G = load_globals(integers, floats, c[N], c[M], first, active)
    rounds, lowest = 0, np.int64(0)
    barrier(gate, threads)
    while True:
        base = (tick & 3) * SLOT
        if t == 0:
            cleared = ((tick + 2) & 3) * SLOT
            for i in range(SLOT):
                shared[cleared + i] = 0
        if phases & START:
            start_phase(t, threads, base, F, P, G, W, c)
            barrier(gate, threads)
            queued = load_acquire(shared, base + FRONT_TAIL)
            edges = load_acquire(shared, base + EDGE_SUM)
        if phases & EDGE:
            if t == 0 and phases == FUSED:
                at = ((first + rounds) % RING) * 3
                ring[at], ring[at + 1], ring[at + 2] = active, edges, mode
            if mode == PUSH:
                push_phase(t, threads, base, rows if ALL else queued, push, F, P, G, queue, touched, W, c)
                barrier(gate, threads)
            else:
                if not ALL and not valid:
                    clear_bits(t, threads, rows, bits)
                    barrier(gate, threads)
                    set_bits(t, threads, base, queued, queue, bits)
                    barrier(gate, threads)
                pull_phase(t, threads, base, pull, F, P, G, bits, next_bits, W, c)
                barrier(gate, threads)
                if not ALL and (APPLY or PRIORITY or phases != FUSED):
                    expand(t, threads, base, TOUCHED_TAIL, next_bits, touched, W, c)
                    valid = 0
                    barrier(gate, threads)
        if phases & VERTEX:
            if ALL or APPLY or PRIORITY or (FLAGGED and mode == PUSH) or (FLAGGED and phases != FUSED):
                vertex_phase(t, threads, base, whole, F, P, G, queue, touched, far, W, c)
                barrier(gate, threads)
            edges = load_acquire(shared, base + EDGE_SUM)
            if ALL:
                queued = masters
            elif APPLY or PRIORITY:
                queued = load_acquire(shared, base + FRONT_TAIL)
            elif mode == PULL and phases == FUSED:
                queued = load_acquire(shared, base + AWAKE)
                bits, next_bits, bits_swapped, valid = next_bits, bits, bits_swapped + 1, 1
            else:
                queued = load_acquire(shared, base + TOUCHED_TAIL)
                queue, touched, swapped = touched, queue, swapped + 1
        if phases & LOWEST:
            lowest_pile(t, threads, base, F, P, G, far, W, c)
            barrier(gate, threads)
            lowest = load_acquire(shared, base + FAR_MIN)
        if phases & OPEN:
            open_pile(t, threads, base, c[LOWEST_PILE], F, P, G, queue, far, far_next, W, c)
            barrier(gate, threads)
            queued = load_acquire(shared, base + FRONT_TAIL)
            edges = load_acquire(shared, base + EDGE_SUM)
            far, far_next, far_swapped = far_next, far, far_swapped + 1
            if t == 0:
                c[FAR] = load_acquire(shared, base + FAR_TAIL)
                c[PILE] = c[LOWEST_PILE]
        if phases != FUSED:
            break
        tick += 1
        if PRIORITY and queued == 0 and c[FAR] > 0:
            base = (tick & 3) * SLOT
            if t == 0:
                cleared = ((tick + 2) & 3) * SLOT
                for i in range(SLOT):
                    shared[cleared + i] = 0
            lowest_pile(t, threads, base, F, P, G, far, W, c)
            barrier(gate, threads)
            lowest = load_acquire(shared, base + FAR_MIN) + FAR_BASE
            open_pile(t, threads, base, lowest, F, P, G, queue, far, far_next, W, c)
            barrier(gate, threads)
            queued = load_acquire(shared, base + FRONT_TAIL)
            edges = load_acquire(shared, base + EDGE_SUM)
            far, far_next, far_swapped = far_next, far, far_swapped + 1
            if t == 0:
                c[FAR] = load_acquire(shared, base + FAR_TAIL)
                c[PILE] = lowest
            barrier(gate, threads)
            tick += 1
        was, active = active, queued
        G = with_sums(G, shared, base + SUMS_AT)
        if FLOAT_SUMS:
            G = with_floats(G, fold_parts(parts, blocks))
        G, done, whole = step(P, next_round(G, np.int64(active)))
        rounds += 1
        was_mode = mode
        mode = direction(mode, c[FORCED], active, was, edges, unexplored, c[N], c[ARCS])
        if mode == PUSH:
            unexplored -= edges
        if was_mode == PULL and mode == PUSH and valid and not done:
            expand(t, threads, base, BITS_TAIL, bits, queue, W, c)
            valid = 0
            barrier(gate, threads)
        if done or rounds == limit:
            break
        if mode == PUSH and ((small > 0 and queued + edges > small) or (small < 0 and queued + edges < -small)):
            break
    barrier(gate, threads)
    if t == 0:
        c[QUEUED], c[EDGES], c[BITS] = queued, edges, valid
        c[SWAPPED], c[BITS_SWAPPED], c[FAR_SWAPPED] = swapped & 1, bits_swapped & 1, far_swapped & 1
        c[ACTIVE] = queued
        if phases == FUSED:
            store_globals(G, integers, floats)
            c[TICK], c[ROUND], c[MODE], c[WHOLE], c[DONE] = tick, first + rounds, mode, whole, done
            c[TOTAL_ACTIVE], c[TOTAL_EDGES], c[UNEXPLORED] = active, edges, unexplored
        else:
            c[MIRRORS_TOUCHED] = load_acquire(shared, base + MIRROR_TAIL)
            c[DIRTIED] = load_acquire(shared, base + DIRTY_TAIL)
            if phases & LOWEST:
                c[LOWEST_PILE] = lowest + FAR_BASE
            for i in range(SUMS):
                sums[8 * i] = load_acquire(shared, base + SUMS_AT + 8 * i)
            if FLOAT_SUMS:
                store_floats(float_sums, fold_parts(parts, blocks))
            if phases != EDGE:
                c[TICK] = tick + 1
    barrier(gate, threads)
    return rounds
