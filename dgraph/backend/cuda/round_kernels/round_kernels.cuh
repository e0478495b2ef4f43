// One phase a launch: what the reference loop calls, and the broad rounds between launches of persistent_rounds.cuh.

DEVICE Globals globals_now() { return load_globals(KNOWN(&env.control->round), KNOWN(&env.control->total_active)); }
DEVICE i64* slot_now() { return slot_of(KNOWN(&env.control->tick)); }
DEVICE bool is(const i64& word) { return KNOWN(&word) != 0; }

DEVICE LiveList living_now() {
    return {is(env.control->live_swapped), KNOWN(&env.control->live_count), KNOWN(&env.control->total_live)};
}

struct PhaseRoom {
    Staging staging, more;
    FloatRoom floats;
    bool last;
};

// Sparse frontier (queue) to bitmap. Any grid.
KERNEL set_bits(i64) {
    const u32* queue = is(env.control->swapped) ? env.queue1 : env.queue0;
    u32* bits = is(env.control->bits_swapped) ? env.bits1 : env.bits0;
    const u64 count = (u64)KNOWN(&env.control->queued);
    for (u64 i = thread_rank(); i < count; i += threads()) atomicOr(bits + (queue[i] >> 5), 1u << (queue[i] & 31));
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
    const bool swapped = is(env.control->swapped);
    if (APPLY && ALL) apply_all(G, slot, room.floats);
    else if (APPLY && (!KCORE_PEEL || is(env.control->whole)))
        apply_pass(G, slot, is(env.control->whole), swapped, is(env.control->far_swapped), living_now(), room.staging, room.more);
    else if (PRIORITY) sort_pass(slot, swapped, is(env.control->far_swapped), KNOWN(&env.control->bucket), room.staging);
}

// The control words after a phase. By one block, which alone writes them.
DEVICE void finish_phase(i64 phase, FloatRoom& room) {
    RoundState* c = env.control;
    const i64 tick = c->tick;
    i64* slot = slot_of(phase == JOINED ? tick - 1 : tick);
    const Floats floats = fold_parts(room);
    __syncthreads(); // every thread has read the tick
    if (threadIdx.x == 0) {
        if (phase == EDGES_VISITED) c->mirrors_touched = FRESH(slot + MIRROR_TAIL);
        if (phase == STARTED || phase == APPLIED || phase == OPENED) {
            const i64 active = ALL ? env.masters : (i64)listed(slot, TAIL), edges = ALL ? env.arcs : front_edges(slot);
            const i64 dirtied = FRESH(slot + DIRTY_TAIL);
            c->active = active, c->edges = edges, c->dirtied = dirtied;
            c->swapped = !c->swapped;
            for (int i = 0; i < SUMS; i++) c->sums[i] = FRESH(slot + SUMS_AT + 8 * i);
            for (int i = 0; i < FLOAT_SUMS; i++) env.float_sums[i] = floats.s[i];
        }
        if (phase == STARTED) c->live_count = env.masters;
        if (LIVE && phase == APPLIED && c->whole) {
            LiveList living = living_now();
            living.turn(slot);
            c->live_count = living.count, c->live_swapped = living.swapped;
        }
        if (phase == LOWEST_FOUND) {
            c->lowest_bucket = FRESH(slot + FAR_MIN) + FAR_BASE;
            c->width = buckets(c->width, c->bucket_edges, c->bucket_rounds);
            c->bucket_edges = c->bucket_rounds = 0;
        }
        if (phase == OPENED) {
            c->far = FRESH(slot + FAR_TAIL), c->far_swapped = !c->far_swapped;
            c->bucket = c->lowest_bucket + larger(c->width, 1ll) - 1;
        }
        if (phase == STARTED || phase == APPLIED || phase == OPENED || phase == JOINED) {
            const i64 queued = ALL ? env.masters : (i64)listed(slot, TAIL), most = FRESH(slot + MOST_DEGREE);
            const i64 edges = ALL ? env.arcs : listed_edges(slot, TAIL);
            c->queued = queued, c->local_edges = edges, c->largest = most;
        }
        if (phase != EDGES_VISITED && phase != JOINED) c->tick = tick + 1;
    }
    if (phase != EDGES_VISITED && phase != JOINED) clear(slot_of(tick + 2));
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
    RoundState* c = env.control;
    store_globals(G);
    if (starting) return set_totals(*c, active, edges, direction(PUSH, c->forced, active, 0, edges, c->unexplored));
    count_in_bucket(*c, edges);
    next_round(*c, active, edges, direction(c->mode, c->forced, active, c->total_active, edges, c->unexplored));
}

// Control words after a round, or after ``init`` (``starting``), from this rank's own totals or those in env.totals.
// By one thread.
DEVICE void take_totals(bool starting, bool own) {
    RoundState* c = env.control;
    const i64 active = own ? c->active : FRESH(env.totals), edges = own ? c->edges : FRESH(env.totals + 1);
    i64 sums[MOST_SUMS];
    for (int i = 0; i < SUMS; i++) sums[i] = own ? c->sums[i] : FRESH(env.totals + 2 + i);
    Floats floats = no_floats();
    for (int i = 0; i < FLOAT_SUMS; i++) floats.s[i] = FRESH(env.float_sums + i);
    Globals G = globals_with(sums, floats);
    if (!starting) {
        const Decision decision = decided(G, active);
        G = decision.G, c->done = decision.done, c->whole = decision.whole;
    }
    c->return_state = 0;
    begin_round(G, active, edges, starting);
}

// ``init`` of masters; mirrors get identities, or their own labels where they are in trees. With ``alone``, on a graph that
// one rank has alone, the last block to arrive also ends the phase, and this rank's totals are those of all: atomicAdd counts
// the blocks, __threadfence orders their writes before it.
KERNEL start(i64 alone) {
    SHARED(PhaseRoom, room);
    const Globals G = globals_now();
    const u64 masters = (u64)env.masters;
    i64* slot = slot_now();
    Sums sums = no_sums();
    Front front;
    List far;
    front.open(room.staging.held[warp_in_block()][0], is(env.control->swapped) ? env.queue0 : env.queue1,
               is(env.control->swapped) ? env.sums0 : env.sums1, slot, TAIL);
    far.open(room.staging.held[warp_in_block()][FAR_STAGING], is(env.control->far_swapped) ? env.far1 : env.far0,
             &env.control->far);
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
            const bool waits = PRIORITY && APPLY && awake && bucket((u32)v) > G.bucket;
            if (!ALL) front.add(awake && !waits, (u32)v);
            if (PRIORITY && APPLY) far.add(waits && marked_far((u32)v), (u32)v);
        }
        const Floats all = block_sum(floats, room.floats);
        if (threadIdx.x == 0)
            for (int i = 0; i < FLOAT_SUMS; i++) env.parts[b * FLOAT_SUMS + i] = all.s[i];
    }
    if (!FUSED)
        for (u64 v = masters + thread_rank(); v < (u64)env.rows; v += threads()) {
            if (UNION_FIND) begin(G, (u32)v);
            else set_identities((u32)v);
        }
    if (!ALL) front.close();
    if (PRIORITY && APPLY) far.close();
    flush_sums(slot, sums);
    if (!alone) return;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) room.last = atomicAdd((u64*)&env.control->arrived, 1ull) + 1 == gridDim.x;
    __syncthreads();
    if (!room.last) return;
    finish_phase(STARTED, room.floats);
    if (threadIdx.x == 0) take_totals(true, true);
}
