// Rounds of H-index estimates on one GPU: effects of lowered vertices, and their propagation.

// Decrement the support of neighbours that listed vertices fell below; list those that lack support now. A warp takes
// WARP_PIECE edges at a time, found by binary search over the list's prefix sums.
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

// List the received mirrors, which stand in the queue behind the masters that were sent.
DEVICE void list_mirrors(i64 round, u64 to_send, HindexRoom& room) {
    Front front;
    front.open(room.staging.held[warp_in_block()][0], env.mirrors, env.sums0, slot_in_turn(round), HUGE_TAIL);
    front.offsets = env.back_offsets - env.masters;
    const u64 count = listed(slot_of(0), TAIL) - to_send;
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const bool mine = i < count;
        front.add(mine, mine ? FRESH(env.queue0 + to_send + i) : 0);
    }
    front.close();
}

DEVICE void keep_estimates(const Work& work) {
    for (u64 i = thread_rank(); i < work.count; i += threads()) {
        const u32 v = FRESH(work.items + i);
        env.before[v] = env.f_core[v];
    }
}

// State of one rank; every thread of its grid has the same values. ``to_send``, ``fell``, ``again``: shared masters
// that fell since the last exchange, vertices that fell in this round, vertices to evaluate again.
struct HindexRank {
    HindexRoom& room;
    u32 due, stamp;
    i64 round, few;
    u64 to_send, fell, again;
    bool has_received;

    __device__ void open() {
        const i64* c = env.control;
        due = (u32)KNOWN(c + GATE), round = KNOWN(c + ROUND), to_send = (u64)KNOWN(c + ACTIVE), has_received = !FUSED && round > 0;
        few = FUSED ? 0 : KNOWN(env.post + POST_OFFSET_LIMIT), stamp = FUSED ? 0 : (u32)KNOWN(env.post + POST_NUMBER) + 1;
    }

    __device__ void close() const {
        if (thread_rank()) return;
        i64* c = env.control;
        c[GATE] = due, c[ROUND] = round, c[ACTIVE] = (i64)to_send, c[QUEUED] = (i64)(fell + again), c[EDGES] = edges();
    }

    __device__ void barrier_all_gpus() { grid_barrier(env.gate, due); }
    __device__ i64 edges() const { return listed_edges(slot_in_turn(round - 1), TAIL); }

    // Run rounds until no estimate falls or ``limit`` is reached; between ranks also until a round has much work again.
    __device__ void run(i64 limit) {
        const i64 end = round + limit;
        if (has_received) {
            list_mirrors(round - 1, to_send, room);
            barrier_all_gpus();
        }
        while (true) {
            one();
            // Blocks that continue may append to the next list only if some vertex fell, so all blocks decide alike.
            if (fell + again == 0 || round >= end) break;
            if (!FUSED && (fell > (u64)few || edges() > few)) break;
        }
        to_send = FUSED ? 0 : (u64)listed(slot_of(0), TAIL);
    }

    __device__ void one() {
        i64 *slot = slot_in_turn(round), *next = slot_in_turn(round + 1);
        if (round > 0) {
            List list;
            list.open(room.staging.held[warp_in_block()][0], evaluation_list(round), slot + TOUCHED_TAIL);
            take_support(lowered_masters(round - 1), env.out_neighbours, list);
            if (has_received) take_support(lowered_mirrors(round - 1), env.back_neighbours, list);
            list.close();
            barrier_all_gpus();
            keep_estimates(lowered_masters(round - 1));
            if (has_received) keep_estimates(lowered_mirrors(round - 1));
            if (blockIdx.x == 0) clear(next);
            if (blockIdx.x == 0 && has_received) clear(slot_of(0));
            barrier_all_gpus();
        }
        has_received = false;
        const u64 evaluated = round ? (u64)FRESH(slot + TOUCHED_TAIL) : (u64)env.masters;
        RowEvaluator evaluator;
        evaluator.open(round, stamp, room);
        evaluator.evaluate_list(slot, round ? evaluation_list(round) : (const u32*)0, evaluated);
        evaluator.close();
        barrier_all_gpus();
        if (FRESH(slot + PIECES_TAIL)) {
            evaluator.evaluate_pieces(slot, room);
            evaluator.close();
            barrier_all_gpus();
        }
        fell = listed(slot, TAIL), again = (u64)FRESH(next + TOUCHED_TAIL);
        if (FUSED) figure(round, (i64)evaluated, listed_edges(slot, TAIL));
        round++;
    }

    __device__ static void figure(i64 round, i64 vertices, i64 edges) {
        i64* figure = env.ring + (round % RING) * FIGURES;
        if (thread_rank() == 0) figure[0] = vertices, figure[1] = edges, figure[2] = PUSH, figure[3] = 0;
    }
};

KERNEL estimate(i64 limit) {
    SHARED(HindexRoom, room);
    HindexRank rank = {room};
    rank.open();
    rank.run(limit);
    rank.close();
}

// Set every estimate to the degree, at most ``most``.
KERNEL begin_estimates(i64 most) {
    for (u64 v = thread_rank(); v < (u64)env.rows; v += threads())
        env.f_core[v] = env.before[v] = (core_value)smaller((i64)env.degree[v], most);
}

// Group edges into mirrors by mirror. ``fills`` 0: count them. 1: with ``back_offsets`` as the groups' ends, fill the
// groups from the end, so that it then holds their starts.
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
