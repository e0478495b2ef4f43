// Rounds of estimates on one GPU: who fell, whom that concerns, and what is told of it.

// Take the vertices of a list that fell off their neighbours' support; those that lack it now are looked at next.
DEVICE void take_support(const Work& work, const u32* neighbours, List& next) {
    for (u64 edge = warp_rank() * WARP_PIECE; edge < work.edges; edge += warps() * WARP_PIECE) {
        const u64 end = smaller(edge + WARP_PIECE, work.edges);
        u64 window = search_by_warp(work, edge), at = edge;
        while (at < end) {
            const u64 i = window + lane_id();
            const bool mine = i < work.count;
            const u32 u = mine ? work.item(i) : 0;
            const u64 start = mine ? work.start(i) : work.edges;
            const offset_t base = mine ? work.first(u) - (offset_t)start : 0;
            const core_value was = mine ? env.before[u] : 0, now = mine ? env.f_core[u] : 0;
            const u64 stop = smaller(end, shuffle(start, 31));
            for (; at < stop; at += 32 * AT_ONCE) {
                u32 v[AT_ONCE];
                core_value x[AT_ONCE], high[AT_ONCE], low[AT_ONCE];
                bool has[AT_ONCE];
                for (int k = 0; k < AT_ONCE; k++) {
                    const u64 here = at + 32 * k + lane_id();
                    u32 owner = 0;
                    for (u32 step = 16; step; step >>= 1)
                        if (shuffle(start, owner + step) <= here) owner += step;
                    high[k] = shuffle(was, owner), low[k] = shuffle(now, owner);
                    const offset_t e = shuffle(base, owner) + (offset_t)here;
                    has[k] = here < stop;
                    v[k] = has[k] ? neighbours[e] : 0;
                    has[k] = has[k] && v[k] < (u64)env.masters;
                }
                for (int k = 0; k < AT_ONCE; k++) x[k] = has[k] ? env.f_core[v[k]] : 0;
                for (int k = 0; k < AT_ONCE; k++) has[k] = has[k] && low[k] < x[k] && x[k] <= high[k];
                for (int k = 0; k < AT_ONCE; k++) {
                    if (has[k]) has[k] = (i64)atomicAdd((u64*)(env.f_lost + v[k]), ~0ull) == (i64)x[k];
                    next.add(has[k], v[k]);
                }
            }
            at = stop;
            window += 31;
        }
    }
}

DEVICE Work lowered_masters(i64 round) {
    const i64* slot = slot_in_turn(round);
    return {env.queue1, env.sums1, env.out_offsets, (u64)listed(slot, TAIL), (u64)listed_edges(slot, TAIL), 0};
}

DEVICE Work lowered_mirrors(i64 round) {
    const i64* slot = slot_in_turn(round);
    return {env.mirrors, env.sums0, env.back_offsets - env.masters, (u64)listed(slot, HUGE_TAIL),
            (u64)listed_edges(slot, HUGE_TAIL), 0};
}

// Mirrors that were heard of stand in the queue behind the masters that were told of.
DEVICE void list_mirrors(i64 round, u64 told, EstimatesRoom& room) {
    Front front;
    front.open(room.staging.held[warp_in_block()][0], env.mirrors, env.sums0, slot_in_turn(round), HUGE_TAIL);
    front.offsets = env.back_offsets - env.masters;
    const u64 count = listed(slot_of(0), TAIL) - told;
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const bool mine = i < count;
        front.add(mine, mine ? FRESH(env.queue0 + told + i) : 0);
    }
    front.close();
}

DEVICE void keep_estimates(const Work& work) {
    for (u64 i = thread_rank(); i < work.count; i += threads()) {
        const u32 v = FRESH(work.items + i);
        env.before[v] = env.f_core[v];
    }
}

// One rank's part of the rounds; every thread of its grid holds the same.
struct Falling {
    EstimatesRoom& room;
    u32 due, stamp;
    i64 round, few;
    u64 told, fell, again;
    bool hears;

    __device__ void open() {
        const i64* c = env.control;
        due = (u32)KNOWN(c + GATE), round = KNOWN(c + ROUND), told = (u64)KNOWN(c + ACTIVE), hears = !FUSED && round > 0;
        few = FUSED ? 0 : KNOWN(env.post + POST_FEW), stamp = FUSED ? 0 : (u32)KNOWN(env.post + POST_NUMBER) + 1;
    }

    __device__ void close() const {
        if (thread_rank()) return;
        i64* c = env.control;
        c[GATE] = due, c[ROUND] = round, c[ACTIVE] = (i64)told, c[QUEUED] = (i64)(fell + again), c[EDGES] = edges();
    }

    __device__ void barrier_all_gpus() { grid_barrier(env.gate, due); }
    __device__ i64 edges() const { return listed_edges(slot_in_turn(round - 1), TAIL); }

    // Rounds until nothing falls; between ranks, until there is much to do again: no more than ``limit``.
    __device__ void run(i64 limit) {
        const i64 end = round + limit;
        if (hears) {
            list_mirrors(round - 1, told, room);
            barrier_all_gpus();
        }
        while (true) {
            one();
            // Blocks that go on may add to what is looked at next, but only where some fell: so all blocks decide alike.
            if (fell + again == 0 || round >= end) break;
            if (!FUSED && (fell > (u64)few || edges() > few)) break;
        }
        told = FUSED ? 0 : (u64)listed(slot_of(0), TAIL);
    }

    __device__ void one() {
        i64 *slot = slot_in_turn(round), *next = slot_in_turn(round + 1);
        if (round > 0) {
            List list;
            list.open(room.staging.held[warp_in_block()][0], looked_at(round), slot + TOUCHED_TAIL);
            take_support(lowered_masters(round - 1), env.out_neighbours, list);
            if (hears) take_support(lowered_mirrors(round - 1), env.back_neighbours, list);
            list.close();
            barrier_all_gpus();
            keep_estimates(lowered_masters(round - 1));
            if (hears) keep_estimates(lowered_mirrors(round - 1));
            if (blockIdx.x == 0) clear(next);
            if (blockIdx.x == 0 && hears) clear(slot_of(0));
            barrier_all_gpus();
        }
        hears = false;
        const u64 looked = round ? (u64)FRESH(slot + TOUCHED_TAIL) : (u64)env.masters;
        Looking looking;
        looking.open(round, stamp, room);
        looking.look(slot, round ? looked_at(round) : (const u32*)0, looked);
        looking.close();
        barrier_all_gpus();
        if (FRESH(slot + PIECES_TAIL)) {
            looking.look_at_pieces(slot, room);
            looking.close();
            barrier_all_gpus();
        }
        fell = listed(slot, TAIL), again = (u64)FRESH(next + TOUCHED_TAIL);
        if (FUSED) figure(round, (i64)looked, listed_edges(slot, TAIL));
        round++;
    }

    __device__ static void figure(i64 round, i64 vertices, i64 edges) {
        i64* figure = env.ring + (round % RING) * FIGURES;
        if (thread_rank() == 0) figure[0] = vertices, figure[1] = edges, figure[2] = PUSH, figure[3] = 0;
    }
};

KERNEL estimate(i64 limit) {
    SHARED(EstimatesRoom, room);
    Falling falling = {room};
    falling.open();
    falling.run(limit);
    falling.close();
}

// Every vertex's degree, but no more than ``most``.
KERNEL begin_estimates(i64 most) {
    for (u64 v = thread_rank(); v < (u64)env.rows; v += threads())
        env.f_core[v] = env.before[v] = (core_value)smaller((i64)env.degree[v], most);
}

// Edges into mirrors, by mirror: how many (``fills`` 0); or, where ``back_offsets`` says where they end, from there down
// whose, so that it says where they begin.
KERNEL turn_edges(i64 fills) {
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.masters; v += threads()) {
        const bool mine = v < (u64)env.masters;
        const offset_t e = mine ? env.out_offsets[v] : 0, last = mine ? env.out_offsets[v + 1] : 0;
        for (u32 left = ballot(e < last); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1, from = shuffle((u32)v, lane);
            const offset_t stop = shuffle(last, lane);
            for (offset_t at = shuffle(e, lane) + lane_id(); at < stop; at += 32) {
                const u32 to = env.out_neighbours[at];
                if (to < (u64)env.masters) continue;
                const offset_t end = atomicAdd(env.back_offsets + (to - env.masters), (offset_t)(fills ? -1 : 1));
                if (fills) env.back_neighbours[end - 1] = from;
            }
        }
    }
}
