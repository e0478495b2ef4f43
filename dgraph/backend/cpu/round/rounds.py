# ruff: noqa: F821, SIM102
# mypy: ignore-errors
"""Rounds on CPU threads: source that follows ``phases.py`` in a program's generated file; see there.

All threads run ``work`` from start to end (SPMD): one phase, for the reference loop of the engine, or whole fused
rounds. Every thread keeps its own copy of the round state, computed from the same counters; thread 0 stores it.
"""


@njit(**INNER)
def direction(mode, forced, active, was, edges, unexplored, n, arcs):
    """Choose push or pull for the next round from totals that are equal on every rank [Beamer et al., SC 2012].

    Args:
        mode: direction of the last round.
        forced: AUTO, FORCE_PUSH, FORCE_PULL or FLIP.
        active: vertices in the next frontier.
        was: vertices in the last frontier.
        edges: out-edges of the next frontier.
        unexplored: out-edges of vertices that were never active.
        n: vertices of the graph.
        arcs: arcs of the graph.
    """
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
    if ONCE:
        if mode == PUSH:  # near the end few edges remain, but a pull still visits all vertices
            return PULL if edges > unexplored // 15 and edges > n // 16 else PUSH
        return PUSH if active < was and active <= n // 18 else PULL
    return PULL if active + edges > arcs // 20 else PUSH


@njit(**INNER)
def decide(P, G, c, integers, floats, active, edges):
    """Run ``step`` on reduced totals, and set globals, the end and the next direction in the control block."""
    was = c[TOTAL_ACTIVE]
    G, done, whole = step(P, next_round(G, np.int64(active)))
    store_globals(G, integers, floats)
    c[ROUND] += 1
    c[DONE], c[WHOLE], c[TOTAL_ACTIVE], c[TOTAL_EDGES] = done, whole, active, edges
    mode = direction(c[MODE], c[FORCED], active, was, edges, c[UNEXPLORED], c[N], c[ARCS])
    if mode == PUSH:
        c[UNEXPLORED] -= edges
    c[MODE] = mode


@njit(**INNER)
def totals(P, integers, floats, c, sums, float_sums):
    """Return the globals with a round's reduced sums; ``sums`` are 8 words apart, as in the slots."""
    G = load_globals(integers, floats, c[N], c[M], c[ROUND], c[TOTAL_ACTIVE])
    if SUMS:
        G = with_sums(G, sums, 0)
    if FLOAT_SUMS:
        G = with_floats(G, float_sums)
    return G


@njit(**OPTIONS)
def apply_totals(P, integers, floats, c, sums, float_sums, active, edges, starting):
    """Process totals reduced over all ranks, after START (``starting``) or after a round."""
    G = totals(P, integers, floats, c, sums, float_sums)
    if starting:
        store_globals(G, integers, floats)
        c[TOTAL_ACTIVE], c[TOTAL_EDGES] = active, edges
        c[MODE] = direction(np.int64(PUSH), c[FORCED], active, np.int64(0), edges, c[UNEXPLORED], c[N], c[ARCS])
        if c[MODE] == PUSH:
            c[UNEXPLORED] -= edges
    else:
        decide(P, G, c, integers, floats, active, edges)
    c[BUCKET_EDGES] += edges
    c[BUCKET_ROUNDS] += 1


@njit(**INNER)
def buckets(width, edges, rounds):
    """Return the number of buckets to open next: more after small rounds. A ``width`` of 0 keeps the caller's Δ."""
    if width == 0:
        return 0
    if edges < FEW_EDGES * rounds:
        return min(2 * width, MOST_BUCKETS)
    return max(width // 2, 1) if edges > MANY_EDGES * rounds else width


@njit(**OPTIONS)
def combine(lids, positions, count, values, F, touched, W, c):
    """Combine ``count`` proposals of mirrors into the masters ``lids[positions]``; one thread."""
    flags, shared = W[4], W[13]
    degree, base = F[-1], (c[TICK] & 3) * SLOT
    for i in range(count):
        v = np.int64(load(lids, np.int64(load(positions, i))))
        p = values_at(values, i)
        if is_identity(p):
            continue
        if offer(F, v, p, True) and not ALL:
            if not FLAGGED or set_mark(flags, v, True):
                store(touched, shared[base + TOUCHED_TAIL], np.uint32(v))
                shared[base + TOUCHED_TAIL] += 1
                if not APPLY and not PRIORITY:
                    shared[base + EDGE_SUM] += load(degree, v)


@njit(**INNER)
def fold_parts(parts, blocks):
    """Return the float sums of all blocks, added in block order."""
    total = no_float_sums()
    for b in range(blocks):
        total = add_floats(total, part_at(parts, b * FLOAT_SUMS))
    return total


@njit(**OPTIONS)
def work(t, threads, phases, limit, small, push, pull, F, P, integers, floats, sums, float_sums, ring, W, c):
    """Run thread t of ``threads``: one phase, or FUSED rounds; return the number of rounds.

    Fused rounds end when the program is done, after ``limit`` rounds, or at a frontier for which another number of
    threads is better: larger than ``small`` if that is positive, smaller than ``-small`` if negative.
    """
    shared, gate, parts, shares = W[13], W[14], W[12], W[16]
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
    width, bucket_edges, bucket_rounds = c[WIDTH], c[BUCKET_EDGES], c[BUCKET_ROUNDS]
    barrier(gate, threads)
    while True:
        base = (tick & 3) * SLOT
        if t == 0:
            cleared = ((tick + 2) & 3) * SLOT
            for i in range(SLOT):
                shared[cleared + i] = 0
            for share in range(share_of(shares, tick + 2, 0), share_of(shares, tick + 2, len(shares) // 32), 8):
                shares[share + BEGIN] = shares[share + END] = 0
        if phases & START:
            start_phase(t, threads, base, F, P, G, W, c)
            barrier(gate, threads)
            queued = load_acquire(shared, base + FRONT_TAIL)
            edges = load_acquire(shared, base + EDGE_SUM)
        if phases & EDGE:
            if t == 0 and phases == FUSED:
                at = ((first + rounds) % RING) * 3
                ring[at], ring[at + 1], ring[at + 2] = active, edges, mode
            if not CAN_PULL or mode == PUSH:
                if threads == 1:
                    push_phase_alone(
                        t, threads, tick, base, rows if ALL else queued, push, F, P, G, queue, touched, W, c
                    )
                else:
                    push_phase(t, threads, tick, base, rows if ALL else queued, push, F, P, G, queue, touched, W, c)
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
                    expand(t, threads, base, np.int64(TOUCHED_TAIL), next_bits, touched, W, c)
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
            elif CAN_PULL and mode == PULL and phases == FUSED:
                queued = load_acquire(shared, base + AWAKE)
                bits, next_bits, bits_swapped, valid = next_bits, bits, bits_swapped + 1, 1
            else:
                queued = load_acquire(shared, base + TOUCHED_TAIL)
                queue, touched, swapped = touched, queue, swapped + 1
        if PRIORITY and phases & LOWEST:
            lowest_bucket(t, threads, base, F, P, G, far, W, c)
            barrier(gate, threads)
            lowest = load_acquire(shared, base + FAR_MIN)
        if PRIORITY and phases & OPEN:
            width, bucket_edges, bucket_rounds = buckets(width, bucket_edges, bucket_rounds), 0, 0
            opened = c[LOWEST_BUCKET] + max(width, 1) - 1
            open_bucket(t, threads, base, opened, F, P, G, queue, far, far_next, W, c)
            barrier(gate, threads)
            queued = load_acquire(shared, base + FRONT_TAIL)
            edges = load_acquire(shared, base + EDGE_SUM)
            far, far_next, far_swapped = far_next, far, far_swapped + 1
            if t == 0:
                c[FAR] = load_acquire(shared, base + FAR_TAIL)
                c[BUCKET] = opened
        if phases != FUSED:
            break
        tick += 1
        if PRIORITY and queued == 0 and c[FAR] > 0:
            base = (tick & 3) * SLOT
            if t == 0:
                cleared = ((tick + 2) & 3) * SLOT
                for i in range(SLOT):
                    shared[cleared + i] = 0
            lowest_bucket(t, threads, base, F, P, G, far, W, c)
            barrier(gate, threads)
            width, bucket_edges, bucket_rounds = buckets(width, bucket_edges, bucket_rounds), 0, 0
            opened = load_acquire(shared, base + FAR_MIN) + FAR_BASE + max(width, 1) - 1
            open_bucket(t, threads, base, opened, F, P, G, queue, far, far_next, W, c)
            barrier(gate, threads)
            queued = load_acquire(shared, base + FRONT_TAIL)
            edges = load_acquire(shared, base + EDGE_SUM)
            far, far_next, far_swapped = far_next, far, far_swapped + 1
            if t == 0:
                c[FAR] = load_acquire(shared, base + FAR_TAIL)
                c[BUCKET] = opened
            barrier(gate, threads)
            tick += 1
        was, active = active, queued
        if PRIORITY:
            bucket_edges += edges
            bucket_rounds += 1
        if SUMS:
            G = with_sums(G, shared, base + SUMS_AT)
        if FLOAT_SUMS:
            G = with_floats(G, fold_parts(parts, blocks))
        G, done, whole = step(P, next_round(G, np.int64(active)))
        rounds += 1
        was_mode = mode
        mode = direction(mode, c[FORCED], active, was, edges, unexplored, c[N], c[ARCS])
        if mode == PUSH:
            unexplored -= edges
        if CAN_PULL and not ALL and was_mode == PULL and mode == PUSH and valid and not done:
            expand(t, threads, base, np.int64(BITS_TAIL), bits, queue, W, c)
            valid = 0
            barrier(gate, threads)
        if done or rounds == limit:
            break
        if small > 0 and (mode == PULL or queued + edges > small):
            break
        if small < 0 and mode == PUSH and queued + edges < -small:
            break
    barrier(gate, threads)
    if t == 0:
        c[QUEUED], c[EDGES], c[BITS] = queued, edges, valid
        c[SWAPPED], c[BITS_SWAPPED], c[FAR_SWAPPED] = swapped & 1, bits_swapped & 1, far_swapped & 1
        c[ACTIVE] = queued
        if PRIORITY:
            c[WIDTH], c[BUCKET_EDGES], c[BUCKET_ROUNDS] = width, bucket_edges, bucket_rounds
        if phases == FUSED:
            store_globals(G, integers, floats)
            c[TICK], c[ROUND], c[MODE], c[WHOLE], c[DONE] = tick, first + rounds, mode, whole, done
            c[TOTAL_ACTIVE], c[TOTAL_EDGES], c[UNEXPLORED] = active, edges, unexplored
        else:
            c[MIRRORS_TOUCHED] = load_acquire(shared, base + MIRROR_TAIL)
            c[DIRTIED] = load_acquire(shared, base + DIRTY_TAIL)
            if PRIORITY and phases & LOWEST:
                c[LOWEST_BUCKET] = lowest + FAR_BASE
            for i in range(SUMS):
                sums[8 * i] = load_acquire(shared, base + SUMS_AT + 8 * i)
            if FLOAT_SUMS:
                store_floats(float_sums, fold_parts(parts, blocks))
            if phases != EDGE:
                c[TICK] = tick + 1
    barrier(gate, threads)
    return rounds
