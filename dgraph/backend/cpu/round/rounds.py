# ruff: noqa: F821, SIM102
# mypy: ignore-errors
"""Rounds on CPU threads: source that follows ``phases.py`` in a program's generated file; see there.

All threads run ``work`` (``entry.py``) from start to end (SPMD): one phase, for the reference loop of the engine, or
whole fused rounds. A thread has its own copy of the round state, ``c``, and computes the same from the same counters as
the others; thread 0 stores it at the end. The end of a round is ``end_round``, for fused rounds and for the reference
loop.
"""


@njit(**INNER)
def direction(was, c):
    """Choose push or pull for the next round from totals that are equal on every rank [Beamer et al., SC 2012].

    Args:
        was: vertices in the last frontier.
        c: round state: direction of the last round, and totals of the next frontier.
    """
    active, edges, unexplored, n = c[TOTAL_ACTIVE], c[TOTAL_EDGES], c[UNEXPLORED], c[N]
    mode, forced = c[MODE], c[FORCED]
    if not CAN_PUSH:
        return PULL
    if not CAN_PULL or forced == FORCE_PUSH:
        return PUSH
    if forced == FORCE_PULL or (ALL and forced == AUTO):
        return PULL
    if forced == FLIP:
        return PULL - mode
    if GATHERS and was == 0:
        return PULL if edges > unexplored // 2 else PUSH
    if PRIORITY:
        return PUSH
    if LEVELLED:
        if mode == PUSH:  # near the end few edges remain, but a pull still visits all vertices
            return PULL if edges > unexplored // 15 and edges > n // 16 else PUSH
        return PUSH if active < was and active <= n // 18 else PULL
    return PULL if active + edges > c[ARCS] // 20 else PUSH


@njit(**INNER)
def set_frontier(was, active, edges, c):
    """Set the totals of the next frontier and its direction; ``was``: vertices in the last one."""
    c[TOTAL_ACTIVE], c[TOTAL_EDGES] = active, edges
    c[VISITED] += active
    c[VISITED_EDGES] += edges
    mode = direction(was, c)
    c[MODE] = mode
    if mode == PUSH:
        c[UNEXPLORED] -= edges
    c[BUCKET_EDGES] += edges
    c[BUCKET_ROUNDS] += 1


@njit(**INNER)
def end_round(P, G, active, edges, c):
    """End a round: run ``step`` on reduced globals and on totals of the next frontier; return the new globals."""
    G, done, whole = step(P, next_round(G, np.int64(active)))
    c[ROUND] += 1
    c[DONE], c[WHOLE] = done, whole
    set_frontier(c[TOTAL_ACTIVE], active, edges, c)
    return G


@njit(**OPTIONS)
def apply_totals(P, results, c, active, edges, starting):
    """Process totals reduced over all ranks, after START (``starting``) or after a round."""
    R, c = Results(*pointers(results)), offset(c, 0)
    G = load_globals(R.integers, R.floats, c[N], c[M], c[ROUND], c[TOTAL_ACTIVE], c[BUCKET])
    if SUMS:
        G = with_sums(G, R.sums, 0)
    if FLOAT_SUMS:
        G = with_floats(G, R.float_sums)
    if starting:
        set_frontier(np.int64(0), active, edges, c)
    else:
        G = end_round(P, G, active, edges, c)
    store_globals(G, R.integers, R.floats)


@njit(**OPTIONS)
def combine(lids, positions, count, values, F, P, results, arrays, c):
    """Combine ``count`` proposals of mirrors into the masters ``lids[positions]``; one thread."""
    F, W, c = pointers(F), WorkArrays(*pointers(arrays)), offset(c, 0)
    flags, shared, touched = W.flags, W.shared, lists(W, c).touched
    degree, base, sums = F[-1], slot(c), no_sums()
    if EDGE_KERNEL:
        R = Results(*pointers(results))
        G = load_globals(R.integers, R.floats, c[N], c[M], c[ROUND], c[TOTAL_ACTIVE], c[BUCKET])
    for i in range(count):
        v = np.int64(load(lids, np.int64(load(positions, i))))
        p = values_at(values, i)
        if is_identity(p):
            continue
        if EDGE_KERNEL:
            changed, terms = settle(F, P, G, v, p, W, c)
            sums = add_sums(sums, terms)
        else:
            changed = offer(F, v, p, True)
        if changed and not ALL:
            if EDGE_KERNEL or not FLAGGED or set_mark(flags, v, True):
                store(touched, shared[base + TOUCHED_TAIL], np.uint32(v))
                shared[base + TOUCHED_TAIL] += 1
                if not DEFERS:
                    shared[base + EDGE_SUM] += load(degree, v)
    if EDGE_KERNEL and SUMS:
        flush_sums(shared, base + SUMS_AT, sums)


@njit(**INNER)
def fold_parts(parts, blocks):
    """Return the float sums of all blocks, added in block order."""
    total = no_float_sums()
    for b in range(blocks):
        total = add_floats(total, part_at(parts, b * FLOAT_SUMS))
    return total


@njit(**SPLICED)
def run_start(t, threads, F, P, G, W, c):
    """Run START: ``init`` and the first frontier."""
    start_phase(t, threads, F, P, G, W, c)
    barrier(W.gate, threads)
    c[QUEUED] = load_acquire(W.shared, slot(c) + FRONT_TAIL)
    c[EDGES] = load_acquire(W.shared, slot(c) + EDGE_SUM)
    if PRIORITY:
        c[FAR] = load_acquire(W.shared, FAR_COUNT)


@njit(**SPLICED)
def run_edge(t, threads, fused, push, pull, F, P, G, W, c):
    """Run EDGE: push along the out-edges of the queue, or pull along all in-edges from the frontier's bitmap."""
    if not FOLDS and CAN_PUSH and (not CAN_PULL or c[MODE] == PUSH):
        if threads == 1:
            push_phase_alone(t, threads, push, F, P, G, W, c)
        else:
            push_phase(t, threads, push, F, P, G, W, c)
        barrier(W.gate, threads)
    else:
        if FOLDS and marks_rows(c):
            flag_neighbours(t, threads, pull, W, c)
            barrier(W.gate, threads)
        elif not ALL and not c[BITS]:
            flag_frontier(t, threads, W, c)
            barrier(W.gate, threads)
            set_bits(t, threads, W, c)
            barrier(W.gate, threads)
        if FOLDS:
            fold_phase(t, threads, pull, F, P, G, W, c)
        else:
            pull_phase(t, threads, pull, F, P, G, W, c)
        barrier(W.gate, threads)
        if not ALL and (DEFERS or not fused):
            list_changed(t, threads, W, c)
            c[BITS] = 0
            barrier(W.gate, threads)


@njit(**SPLICED)
def run_vertex(t, threads, fused, pull, F, P, G, W, c):
    """Run VERTEX: ``apply``, or sorting into buckets; changed vertices that need neither are the next frontier."""
    if ALL or DEFERS or (FLAGGED and not EDGE_KERNEL and (c[MODE] == PUSH or not fused)):
        vertex_phase(t, threads, fused, pull, F, P, G, W, c)
        barrier(W.gate, threads)
    base = slot(c)
    c[EDGES] = load_acquire(W.shared, base + EDGE_SUM)
    if PRIORITY:
        c[FAR] = load_acquire(W.shared, FAR_COUNT)
    if ALL:
        c[QUEUED] = c[MASTERS]
    elif DEFERS:
        c[QUEUED] = load_acquire(W.shared, base + FRONT_TAIL)
    elif CAN_PULL and c[MODE] == PULL and fused:
        c[QUEUED] = load_acquire(W.shared, base + AWAKE)
        c[BITS_SWAPPED] ^= 1
        c[BITS] = 1
    else:
        c[QUEUED] = load_acquire(W.shared, base + TOUCHED_TAIL)
        c[SWAPPED] ^= 1


@njit(**SPLICED)
def run_edges(t, threads, limit, small, push, pull, F, P, G, W, c):
    """Run EDGE; where LOCAL_ROUNDS, up to ``limit`` rounds of this rank but the last VERTEX.

    They end early if no master changed, or more than ``small``. Changed mirrors stay listed for the exchange.
    """
    while True:
        run_edge(t, threads, False, push, pull, F, P, G, W, c)
        if not LOCAL_ROUNDS:
            break
        limit -= 1
        changed = load_acquire(W.shared, slot(c) + TOUCHED_TAIL)
        if limit == 0 or changed == 0 or changed > small:
            break
        if t == 0:
            W.shared[next_slot(c) + MIRROR_TAIL] = load_acquire(W.shared, slot(c) + MIRROR_TAIL)
        run_vertex(t, threads, False, pull, F, P, G, W, c)
        c[TICK] += 1
        clear_slot(t, threads, W, c)


@njit(**SPLICED)
def run_lowest(t, threads, F, P, G, W, c):
    """Run LOWEST: find the lowest bucket in which a vertex waits; ``FAR_BASE`` if none does."""
    if FOLLOWS:
        lowest_followed(t, threads, F, P, G, W, c)
    else:
        lowest_bucket(t, threads, F, P, G, W, c)
    barrier(W.gate, threads)
    c[LOWEST_BUCKET] = load_acquire(W.shared, slot(c) + FAR_MIN) + FAR_BASE


@njit(**INNER)
def widen(c, threads):
    """Set the number of buckets to open next: more after small rounds. A width of 0 keeps the caller's Δ.

    ``threads`` share the edges of a round. Where they follow vertices, an opening reads all that wait, so their
    number counts, too.
    """
    width, edges, few = c[WIDTH], c[BUCKET_EDGES], max(FEW_EDGES * c[BUCKET_ROUNDS] * threads, c[FAR] // 2 * FOLLOWS)
    if width > 0 and edges < few:
        c[WIDTH] = min(2 * width, MOST_BUCKETS)
    elif width > 0 and edges > few * (MANY_EDGES // FEW_EDGES):
        c[WIDTH] = max(width // 2, 1)
    c[BUCKET_EDGES] = c[BUCKET_ROUNDS] = 0


@njit(**SPLICED)
def run_open(t, threads, push, F, P, G, W, c):
    """Run OPEN: move the vertices of the lowest bucket, or of several, from the waiting list to the frontier."""
    widen(c, threads * min(max(threads // MANY_THREADS, 1), 4) if FOLLOWS else 1)
    opened = c[LOWEST_BUCKET] + max(c[WIDTH], 1) - 1
    if FOLLOWS:
        open_followed(t, threads, opened, push, F, P, G, W, c)
    else:
        open_bucket(t, threads, opened, F, P, G, W, c)
    barrier(W.gate, threads)
    base = slot(c)
    c[QUEUED] = load_acquire(W.shared, base + FRONT_TAIL)
    c[EDGES] = load_acquire(W.shared, base + EDGE_SUM)
    c[BUCKET] = opened
    emptied = far_count(c)
    c[FAR_SWAPPED] ^= 1
    if FOLLOWS:
        set_far(W, c)
        if t == 0:
            W.shared[emptied] = 0
        if c[QUEUED] == 0:  # the next opening appends there
            barrier(W.gate, threads)
        c[LOWEST_BUCKET] = load_acquire(W.shared, base + FAR_MIN) + FAR_BASE
    else:
        c[FAR] = load_acquire(W.shared, base + FAR_TAIL)
        if t == 0:
            W.shared[FAR_COUNT] = c[FAR]


@njit(**INLINE)
def set_far(W, c):
    """Set the lengths of the shared waiting list and, with the threads' own, of all."""
    c[LISTED] = load_acquire(W.shared, far_count(c))
    c[FAR] = c[LISTED] + load_acquire(W.shared, slot(c) + LATER_SUM)


@njit(**SPLICED)
def run_follow(t, threads, small, push, F, P, G, R, W, c):
    """Run EDGE and VERTEX of programs whose threads follow their own vertices; ``follow.py``."""
    if c[FAR] == 0:
        c[LOWEST_BUCKET] = FAR_BASE
    if threads == 1:
        follow_phase_alone(t, threads, small, push, F, P, G, W, c)
    else:
        follow_phase(t, threads, small, push, F, P, G, W, c)
    barrier(W.gate, threads)
    base = slot(c)
    relaxed = load_acquire(W.shared, base + FOLLOWED_EDGES)
    if t == 0:
        place = (c[ROUND] % RING) * 3
        R.ring[place], R.ring[place + 1] = load_acquire(W.shared, base + AWAKE), relaxed
    c[BUCKET_EDGES] += relaxed - c[EDGES]
    c[QUEUED] = load_acquire(W.shared, base + TOUCHED_TAIL)
    c[EDGES] = load_acquire(W.shared, base + EDGE_SUM)
    set_far(W, c)
    c[LOWEST_BUCKET] = min(c[LOWEST_BUCKET], load_acquire(W.shared, base + FAR_MIN) + FAR_BASE)
    c[SWAPPED] ^= 1


@njit(**SPLICED)
def run_fused(t, threads, limit, small, push, pull, F, P, G, R, W, c):
    """Run whole rounds of a graph without mirrors until the program is done or ``work`` says to stop."""
    last = c[ROUND] + limit
    c[LISTED], c[LATER] = c[FAR], 0
    while True:
        clear_slot(t, threads, W, c)
        if t == 0:
            place = (c[ROUND] % RING) * 3
            R.ring[place], R.ring[place + 1], R.ring[place + 2] = c[TOTAL_ACTIVE], c[EDGES], c[MODE]
        if FOLLOWS:
            run_follow(t, threads, small, push, F, P, G, R, W, c)
        else:
            if not AT_ONCE:
                run_edge(t, threads, True, push, pull, F, P, G, W, c)
            if EDGE_KERNEL and t == 0:
                R.ring[place] += load_acquire(W.shared, slot(c) + AWAKE)
                R.ring[place + 1] += load_acquire(W.shared, slot(c) + FOLLOWED_EDGES)
            run_vertex(t, threads, True, pull, F, P, G, W, c)
        if AT_ONCE:
            F = swapped(F)
        if SUMS:
            G = with_sums(G, W.shared, slot(c) + SUMS_AT)
        if FLOAT_SUMS:
            G = with_floats(G, fold_parts(parts_of(W, c), blocks_of(c)))
        c[TICK] += 1
        while PRIORITY and c[QUEUED] == 0 and c[FAR] > 0:
            clear_slot(t, threads, W, c)
            if not FOLLOWS or c[LOWEST_BUCKET] <= c[BUCKET]:
                run_lowest(t, threads, F, P, G, W, c)
            run_open(t, threads, push, F, P, G, W, c)
            G = in_bucket(G, c[BUCKET])
            c[TICK] += 1
        pulled = c[MODE] == PULL
        G = end_round(P, G, c[QUEUED], c[EDGES], c)
        if CAN_PULL and not ALL and pulled and c[MODE] == PUSH and c[BITS] and not c[DONE]:
            expand(t, threads, np.int64(BITS_TAIL), lists(W, c).bits, lists(W, c).queue, W, c)
            c[BITS] = 0
            barrier(W.gate, threads)
        if c[DONE] or c[ROUND] == last:
            break
        size = c[QUEUED] + c[EDGES]
        if (small > 0 and (c[MODE] == PULL or size > small)) or (small < 0 and c[MODE] == PUSH and size < -small):
            break
    if AT_ONCE:
        for v in range(c[MASTERS] * t // threads, c[MASTERS] * (t + 1) // threads):
            reset(F, v)
    if FOLLOWS:  # another number of threads may go on
        barrier(W.gate, threads)  # before this, a thread may still read the length
        flush(buffer_of(W, t, 1), c[LATER], lists(W, c).far, W.shared, far_count(c))
        c[LATER] = 0
    return G
