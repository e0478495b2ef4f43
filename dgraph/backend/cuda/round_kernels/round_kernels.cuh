// One phase a launch: what the reference loop calls, and the broad rounds between launches of persistent_rounds.cuh.

DEVICE Globals globals_now() { return load_globals(KNOWN(env.control + ROUND), KNOWN(env.control + TOTAL_ACTIVE)); }
DEVICE i64* slot_now() { return slot_of(KNOWN(env.control + TICK)); }
DEVICE bool is(u32 word) { return KNOWN(env.control + word) != 0; }

DEVICE LiveList living_now() {
    return {is(LIVE_SWAPPED), KNOWN(env.control + LIVE_COUNT), KNOWN(env.control + TOTAL_LIVE)};
}

struct PhaseRoom {
    Staging staging, more;
    FloatRoom floats;
};

KERNEL start(i64) {
    SHARED(PhaseRoom, room);
    const Globals G = globals_now();
    const u64 masters = (u64)env.masters;
    i64* slot = slot_now();
    Sums sums = no_sums();
    Front front;
    front.open(room.staging.held[warp_in_block()][0], is(SWAPPED) ? env.queue0 : env.queue1,
               is(SWAPPED) ? env.sums0 : env.sums1, slot, TAIL);
    for (u64 b = blockIdx.x; b < parts(); b += gridDim.x) {
        Floats floats = no_floats();
        for (u64 run = b * BLOCK; run < masters; run += parts() * BLOCK) {
            const u64 v = run + threadIdx.x;
            bool awake = false;
            if (v < masters) {
                const Applied r = begin(G, (u32)v);
                add_sums(sums, r.sums);
                add_floats(floats, r.floats);
                awake = r.awake;
                if (LIVE) env.live0[v] = (u32)v;
            }
            if (ONCE) {
                const u32 seen = ballot(v < masters && !wants(G, (u32)v));
                if (lane_id() == 0 && v < masters) env.seen[v >> 5] = seen;
            }
            if (!ALL) front.add(awake, (u32)v);
        }
        const Floats all = block_sum(floats, room.floats);
        if (threadIdx.x == 0)
            for (int i = 0; i < FLOAT_SUMS; i++) env.parts[b * FLOAT_SUMS + i] = all.s[i];
    }
    if (!ALL) front.close();
    flush_sums(slot, sums);
}

// Sparse frontier (queue) to bitmap. Any grid.
KERNEL set_bits(i64) {
    const u32* queue = is(SWAPPED) ? env.queue1 : env.queue0;
    u32* bits = is(BITS_SWAPPED) ? env.bits1 : env.bits0;
    const u64 count = (u64)KNOWN(env.control + QUEUED);
    for (u64 i = thread_rank(); i < count; i += threads()) atomicOr(bits + (queue[i] >> 5), 1u << (queue[i] & 31));
}

// Pulls wait for memory: so many blocks that registers just suffice, or, for a search on one GPU, nearly. Where all vertices
// pull NVRTC takes fewest registers if it is told nothing: 32, but 48 for one block or more.
#if ALL
#define PULL_KERNEL KERNEL
#else
#define PULL_KERNEL KERNEL_OF(ONCE || !FUSED ? 8 : 6)
#endif

PULL_KERNEL pull(i64 of) {
    SHARED(PullBitsRoom, room);
    if (is_over()) return;
    const bool swapped = is(BITS_SWAPPED);
    const Puller puller = {globals_now(), swapped ? env.bits1 : env.bits0};
    if (ALL) pull_rows(puller, of, thread_rank(), threads());
    else pull_bits(puller, swapped ? env.bits0 : env.bits1, slot_now(), room);
    if (RECORD) env.record[blockIdx.x * (u64)BLOCK + threadIdx.x] += puller.seen;
}

// The same where vertices are numbered by degree: rows begin with hubs, and a block keeps what edges read there.
#if ALL
KERNEL_BY(HUB_BLOCK, 2) pull_hubs(i64 of) {
    SHARED_ARRAY(Source, hubs, HUB_BYTES);
    if (is_over()) return;
    const Globals G = globals_now();
    const u64 kept = smaller((u64)HUBS, (u64)env.rows);
    for (u64 u = threadIdx.x; u < kept; u += HUB_BLOCK) hubs[u] = at_source(G, (u32)u);
    __syncthreads();
    pull_rows({G, 0, hubs}, of, blockIdx.x * (u64)HUB_BLOCK + threadIdx.x, gridDim.x * (u64)HUB_BLOCK);
}
#endif

KERNEL join_rows(i64) {
    if (is_over()) return;
    const Puller puller = {globals_now(), 0};
    join_chunks(puller, OF_ALL);
}

// Frontier bitmap of a pull to the lists that a push would have made. Vertices of near and of far buckets are separated here,
// where neighbours in memory are looked at together, and not while their values are lowered.
KERNEL expand(i64) {
    SHARED(PhaseRoom, room);
    const i64 tick = KNOWN(env.control + TICK);
    const u32* bits = is(BITS_SWAPPED) ? env.bits0 : env.bits1;
    const i64 nearest = KNOWN(env.control + BUCKET);
    i64* slot = slot_now();
    u32(*held)[STAGED_VERTICES] = room.staging.held[warp_in_block()];
    Front front;
    List touched, mirrors, far;
    front.open(held[0], is(SWAPPED) ? env.queue0 : env.queue1, is(SWAPPED) ? env.sums0 : env.sums1, slot, TAIL);
    touched.open(held[0], env.touched, slot + TOUCHED_TAIL);
    mirrors.open(held[1], env.mirrors, slot + MIRROR_TAIL);
    far.open(held[FAR_STAGING], is(FAR_SWAPPED) ? env.far1 : env.far0, env.control + FAR);
    each_set_bit((u64)env.rows, [&](u64 i) { return bits[i]; }, [&](bool mine, u32 v) {
        const bool master = FUSED || v < env.masters;
        const bool waits = PRIORITY && mine && master && bucket(v) > nearest, near = mine && !waits;
        if (near && FLAGGED) env.stamps[v] = (u32)tick;
        if (APPLY) touched.add(near && master, v);
        else front.add(near && master, v);
        if (!FUSED) mirrors.add(near && !master, v);
        if (PRIORITY) far.add(waits && marked_far(v), v);
    });
    if (APPLY) touched.close();
    else front.close();
    if (!FUSED) mirrors.close();
    if (PRIORITY) far.close();
}

// Passes over all vertices wait for memory: more warps wait at once if a thread takes fewer registers.
#if ALL
#define VERTEX_KERNEL KERNEL_OF(6)
#else
#define VERTEX_KERNEL KERNEL
#endif

VERTEX_KERNEL vertex_phase(i64) {
    SHARED(PhaseRoom, room);
    if (is_over()) return;
    const Globals G = globals_now();
    i64* slot = slot_now();
    const bool swapped = is(SWAPPED);
    if (APPLY && ALL) apply_all(G, slot, room.floats);
    else if (APPLY && (!KCORE_PEEL || is(WHOLE)))
        apply_pass(G, slot, is(WHOLE), swapped, living_now(), room.staging, room.more);
    else if (PRIORITY) sort_pass(slot, swapped, is(FAR_SWAPPED), KNOWN(env.control + BUCKET), room.staging);
}

KERNEL lowest_bucket(i64) {
    if (PRIORITY)
        lowest_pass(slot_now(), is(FAR_SWAPPED), (u64)KNOWN(env.control + FAR), KNOWN(env.control + BUCKET));
}

KERNEL open_bucket(i64) {
    SHARED(PhaseRoom, room);
    if (PRIORITY)
        open_pass(slot_now(), is(SWAPPED), is(FAR_SWAPPED), (u64)KNOWN(env.control + FAR), KNOWN(env.control + BUCKET),
                  KNOWN(env.control + LOWEST_BUCKET) + larger(KNOWN(env.control + WIDTH), 1ll) - 1, room.staging);
}

// Proposals that mirrors made on other ranks, into their masters.
KERNEL combine(i64 count) {
    SHARED(PhaseRoom, room);
    Visit visit;
    visit.open(globals_now(), KNOWN(env.control + TICK), KNOWN(env.control + BUCKET), room.staging.held[warp_in_block()]);
    for (u64 i = thread_rank(); i - lane_id() < (u64)count; i += threads()) {
        const bool mine = i < (u64)count;
        const bool some[] = {mine};
        const u32 v[] = {mine ? env.lids[env.positions[i]] : 0};
        Proposal p[1];
        if (mine) p[0] = proposal_at((i64)i);
        visit.receive<1>(some, v, p);
    }
    visit.close();
}

// Mirrors join the frontier behind the masters.
KERNEL join(i64 count) {
    SHARED(PhaseRoom, room);
    i64* slot = slot_of(KNOWN(env.control + TICK) - 1);
    Front front;
    front.open(room.staging.held[warp_in_block()][0], is(SWAPPED) ? env.queue1 : env.queue0,
               is(SWAPPED) ? env.sums1 : env.sums0, slot, TAIL);
    for (u64 i = thread_rank(); i - lane_id() < (u64)count; i += threads()) {
        const bool mine = i < (u64)count;
        front.add(mine, mine ? env.lids[i] : 0);
    }
    front.close();
}

// The control words after a phase. By one block, which alone writes them.
DEVICE void finish_phase(i64 phase, FloatRoom& room) {
    i64* c = env.control;
    const i64 tick = c[TICK];
    i64* slot = slot_of(phase == JOINED ? tick - 1 : tick);
    const Floats floats = fold_parts(room);
    __syncthreads(); // every thread has read the tick
    if (threadIdx.x == 0) {
        if (phase == EDGES_VISITED) c[MIRRORS_TOUCHED] = FRESH(slot + MIRROR_TAIL);
        if (phase == STARTED || phase == APPLIED || phase == OPENED) {
            const i64 active = ALL ? env.masters : (i64)listed(slot, TAIL), edges = ALL ? env.arcs : front_edges(slot);
            const i64 dirtied = FRESH(slot + DIRTY_TAIL);
            c[ACTIVE] = active, c[EDGES] = edges, c[DIRTIED] = dirtied;
            c[SWAPPED] = !c[SWAPPED];
            for (int i = 0; i < SUMS; i++) c[SUMS_HERE + i] = FRESH(slot + SUMS_AT + 8 * i);
            for (int i = 0; i < FLOAT_SUMS; i++) env.float_sums[i] = floats.s[i];
        }
        if (phase == STARTED) c[LIVE_COUNT] = env.masters;
        if (LIVE && phase == APPLIED && c[WHOLE]) {
            LiveList living = living_now();
            living.turn(slot);
            c[LIVE_COUNT] = living.count, c[LIVE_SWAPPED] = living.swapped;
        }
        if (phase == LOWEST_FOUND) {
            c[LOWEST_BUCKET] = FRESH(slot + FAR_MIN) + FAR_BASE;
            c[WIDTH] = buckets(c[WIDTH], c[BUCKET_EDGES], c[BUCKET_ROUNDS]);
            c[BUCKET_EDGES] = c[BUCKET_ROUNDS] = 0;
        }
        if (phase == OPENED) {
            c[FAR] = FRESH(slot + FAR_TAIL), c[FAR_SWAPPED] = !c[FAR_SWAPPED];
            c[BUCKET] = c[LOWEST_BUCKET] + larger(c[WIDTH], 1ll) - 1;
        }
        if (phase == STARTED || phase == APPLIED || phase == OPENED || phase == JOINED) {
            const i64 queued = ALL ? env.masters : (i64)listed(slot, TAIL), most = FRESH(slot + MOST_DEGREE);
            const i64 edges = ALL ? env.arcs : listed_edges(slot, TAIL);
            c[QUEUED] = queued, c[LOCAL_EDGES] = edges, c[LARGEST] = most;
        }
        if (phase != EDGES_VISITED && phase != JOINED) c[TICK] = tick + 1;
    }
    if (phase != EDGES_VISITED && phase != JOINED) clear(slot_of(tick + 2));
}

KERNEL end_phase(i64 phase) {
    SHARED(PhaseRoom, room);
    finish_phase(phase, room.floats);
}

// Globals once all ranks' sums are known.
DEVICE Globals globals_with(const i64* sums, const Floats& floats) {
    Globals G = globals_now();
    i64 apart[8 * MOST_SUMS];
    for (int i = 0; i < SUMS; i++) apart[8 * i] = sums[i];
    with_sums(G, apart);
    with_floats(G, floats);
    return G;
}

// The next round, or the first (``starting``), of ``active`` vertices and their ``edges`` on all ranks. By one thread.
DEVICE void begin_round(const Globals& G, i64 active, i64 edges, bool starting) {
    i64* c = env.control;
    const i64 was = c[TOTAL_ACTIVE], unexplored = c[UNEXPLORED], before = starting ? PUSH : c[MODE];
    c[TOTAL_ACTIVE] = active, c[TOTAL_EDGES] = edges;
    if (!starting) {
        const i64 rounds = c[BUCKET_ROUNDS];
        c[ROUND] = c[ROUND] + 1, c[BUCKET_ROUNDS] = rounds + 1;
        if (rounds) c[BUCKET_EDGES] = c[BUCKET_EDGES] + edges / (env.others + 1); // not what opened the bucket
    }
    store_globals(G);
    const i64 mode = direction(before, c[FORCED], active, starting ? 0 : was, edges, unexplored);
    c[MODE] = mode;
    if (mode == PUSH) c[UNEXPLORED] = unexplored - edges;
}

// Totals that all ranks agreed on, after ``init`` (how & 1) or after a round; or this rank's own (how & 2).
// One block.
KERNEL apply_totals(i64 how) {
    i64* c = env.control;
    const bool starting = how & 1, own = how & 2;
    if (threadIdx.x || blockIdx.x) return;
    const i64 active = own ? c[ACTIVE] : FRESH(env.totals), edges = own ? c[EDGES] : FRESH(env.totals + 1);
    i64 sums[MOST_SUMS];
    for (int i = 0; i < SUMS; i++) sums[i] = own ? c[SUMS_HERE + i] : FRESH(env.totals + 2 + i);
    Floats floats = no_floats();
    for (int i = 0; i < FLOAT_SUMS; i++) floats.s[i] = FRESH(env.float_sums + i);
    Globals G = globals_with(sums, floats);
    if (!starting) {
        G.round += 1, G.active = active;
        const Decision decision = step(G);
        G = decision.G, c[DONE] = decision.done, c[WHOLE] = decision.whole;
    }
    c[RETURN_STATE] = 0;
    begin_round(G, active, edges, starting);
}
