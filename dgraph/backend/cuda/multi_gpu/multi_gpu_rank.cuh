// One rank of the persistent multi-GPU kernel (multi_gpu_rounds.cuh): its state, edge phase, messages and totals.

struct MultiGpuRoom : ExchangeRoom {
    Staging staging, more;
    Counted counted;
    union {
        VertexRoom vertex;
        WarpSearchRoom search;
        TwcRoom twc;
    };
};

// This rank's total ``k``. ``stops``: this rank needs its host; ``lives``: vertices that a round over all live ones
// visits.
DEVICE i64 total_here(const i64* slot, int k, bool stops, i64 lives) {
    if (k == TOTAL_ACTIVES) return listed(slot, TAIL);
    if (k == TOTAL_DEGREES) return front_edges(slot);
    if (k == TOTAL_STOPS) return stops;
    if (k == TOTAL_WAITING) return PRIORITY ? (i64)(FRESH(env.control + FAR) > 0) : 0;
    if (k == TOTAL_LIVES) return lives;
    return k == TOTAL_LOWEST ? FRESH(slot + FAR_MIN) : FRESH(slot + SUMS_AT + 8 * (k - TOTAL_SUMS));
}

// All totals of this rank, by ``step`` threads, this one the ``at``-th.
DEVICE void fill_totals(Totalled& t, const i64* slot, bool stops, i64 lives, u32 at, u32 step) {
    for (int k = at; k < TOTAL_SUMS + SUMS; k += step) t.mine[k] = total_here(slot, k, stops, lives);
}

// Allreduce that overlaps with nothing, by the first block; returns the nanoseconds it waited.
APART i64 agree_now(Agreement agreement, Totalled& t, const i64* slot, bool stops, i64 lives, bool whole) {
    fill_totals(t, slot, stops, lives, threadIdx.x, BLOCK);
    __syncthreads();
    agreement.post(t, whole);
    return agreement.receive_from(t, whole);
}

// State of a round and its lists.
struct Standing {
    Globals G;
    i64 tick, since, near; // ``since``: the tick of the last exchange
    bool swapped, far_swapped;
    i64* slot; // counters of the frontier's list

    // Set up the edge operator. ``mail``: number of the message that proposals to mirrors are appended to; 0: none.
    __device__ void aim(Visit& visit, u32 (*held)[STAGED_VERTICES], i64 mail) const {
        visit.G = G, visit.stamp = (u32)tick, visit.nearest = near, visit.seen = 0;
        visit.mail = mail, visit.sent = false, visit.sums = no_sums();
        visit.neighbours = env.out_neighbours, visit.weights = env.out_weights;
        visit.aim(slot_of(tick), swapped, far_swapped, held);
        visit.mirror_stamp = (u32)(LOCAL_ROUNDS ? since : tick);
        if (LOCAL_ROUNDS) visit.mirror_list.tail = env.post + POST_MIRRORS;
    }
};

// Combine mirrors' proposals into their masters.
APART void take_proposals(Standing now, u32 (*held)[STAGED_VERTICES], Receivers by) {
    const Asked a = parsed(KNOWN(env.post + POST_REDUCE));
    by.each(a, [&](const Peer& peer, const Message& m, u64 at, u64 step) {
        Visit visit;
        now.aim(visit, held, 0);
        if (by.few || (u64)m.count <= step) combine_from<1>(peer, m, visit, at, step);
        else combine_from<4>(peer, m, visit, at, step);
        visit.close();
    });
}

// Store broadcast values in mirrors, which join the frontier.
APART void take_labels(Standing now, u32* held, Receivers by) {
    const Asked a = parsed(KNOWN(env.post + POST_BROADCAST));
    by.each(a, [&](const Peer& peer, const Message& m, u64 at, u64 step) {
        Front front;
        front.open(held, now.swapped ? env.queue1 : env.queue0, now.swapped ? env.sums1 : env.sums0, now.slot, TAIL);
        take_from<1>(a, peer, m, front, at, step);
        front.close();
    });
}

// State of one rank; every thread of its grid has the same values.
struct MultiGpuRank : Exchanger, Standing {
    MultiGpuRoom& room;
    Asked reduce, broadcast;
    u64 began;
    i64 most, limit, forced, ranks;
    i64 round, active, total, queued, edges, largest, unexplored, own_active, own_edges;
    i64 width, bucket_edges, bucket_rounds;
    LiveList living;
    bool spread; // components: whether the labels of all vertices have spread
    bool whole, fits; // ``fits``: every mirror has a row of a short message

    __device__ void open(i64 stop) {
        const i64 *c = env.control, *post = env.post;
        began = NOW(), limit = stop;
        reduce = parsed(KNOWN(post + POST_REDUCE)), broadcast = parsed(KNOWN(post + POST_BROADCAST));
        begin_exchanges();
        most = KNOWN(post + POST_SMALL_LIMIT), forced = KNOWN(c + FORCED), ranks = env.others + 1;
        tick = KNOWN(c + TICK), round = KNOWN(c + ROUND), active = KNOWN(c + TOTAL_ACTIVE), total = KNOWN(c + TOTAL_EDGES);
        queued = KNOWN(c + QUEUED), edges = KNOWN(c + LOCAL_EDGES), largest = KNOWN(c + LARGEST), near = KNOWN(c + BUCKET);
        unexplored = KNOWN(c + UNEXPLORED), own_active = own_edges = 0;
        living = {KNOWN(c + LIVE_SWAPPED) != 0, KNOWN(c + LIVE_COUNT), KNOWN(c + TOTAL_LIVE)};
        width = KNOWN(c + WIDTH), bucket_edges = KNOWN(c + BUCKET_EDGES), bucket_rounds = KNOWN(c + BUCKET_ROUNDS);
        swapped = KNOWN(c + SWAPPED), far_swapped = KNOWN(c + FAR_SWAPPED), whole = KNOWN(c + WHOLE);
        G = load_globals(round, active);
        slot = slot_of(tick - 1);
#if UNION_FIND
        spread = round > KNOWN(env.forest + FOREST_SINCE);
#endif
        fits = ONCE;
        for (i64 p = 0; p < env.peer_count; p++)
            fits = fits && span_of(peer_of(p).own_mirrors, reduce.role).total() <= most_few;
    }

    // Store the state as ``end_phase`` does after a vertex phase; ``ends``: as ``end_round`` does when the program ends.
    __device__ void close(bool ends) const {
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
        if (thread_rank()) return;
        i64* c = env.control;
        end_exchanges();
        c[TICK] = tick, c[ROUND] = round, c[TOTAL_ACTIVE] = active, c[TOTAL_EDGES] = total, c[UNEXPLORED] = unexplored;
        c[ACTIVE] = own_active, c[EDGES] = own_edges, c[SWAPPED] = swapped, c[DIRTIED] = FRESH(slot + DIRTY_TAIL);
        c[QUEUED] = listed(slot, TAIL), c[LOCAL_EDGES] = listed_edges(slot, TAIL), c[LARGEST] = FRESH(slot + MOST_DEGREE);
        c[LIVE_COUNT] = living.count, c[LIVE_SWAPPED] = living.swapped, c[WHOLE] = whole;
        if (LIVE) c[TOTAL_LIVE] = living.all;
        c[BUCKET] = near, c[FAR_SWAPPED] = far_swapped;
        c[WIDTH] = width, c[BUCKET_EDGES] = bucket_edges, c[BUCKET_ROUNDS] = bucket_rounds;
        for (int i = 0; i < SUMS; i++) c[SUMS_HERE + i] = FRESH(slot + SUMS_AT + 8 * i);
        store_globals(G);
        if (ends) c[PROGRAM_ENDS] = 1, c[RETURN_STATE] = NEEDS_HOST;
    }

    __device__ u32 (*held() const)[STAGED_VERTICES] { return room.staging.held[warp_in_block()]; }
    __device__ const u32* queue() const { return swapped ? env.queue1 : env.queue0; }
    __device__ void barrier_all_gpus() { grid_barrier(env.gate, gate.due); }

    // True if proposals to mirrors are appended to messages one by one as edges make them.
    __device__ bool mailed() const { return MAIL_PROPOSALS && reduce.role && (fits || edges <= MAILED); }

    __device__ void aim(Visit& visit) const { Standing::aim(visit, held(), mailed() ? number + 1 : 0); }

    __device__ i64 mirrors_touched() const { return FRESH(LOCAL_ROUNDS ? env.post + POST_MIRRORS : slot_of(tick) + MIRROR_TAIL); }

#if UNION_FIND
    __device__ void walk() {
        if (spread) gather_listed(G, queue(), (u64)queued);
        else gather_all(G);
        barrier_all_gpus();
        Visit visit;
        aim(visit);
        spread_labels(visit, spread);
        visit.close();
        spread = true;
    }

    // Clear the marks of trees after all ranks' labels have spread.
    __device__ void forget() const {
        for (u64 i = thread_rank(); i < inside_words(); i += threads()) env.bits1[i] = 0;
    }
#else
    __device__ void forget() const {}

    __device__ void walk() const {
        if (queued == 0) return;
        Visit visit;
        aim(visit);
        const Work work = {queue(), swapped ? env.sums1 : env.sums0, env.out_offsets, (u64)queued, (u64)edges, 0};
        if (largest <= LOW_DEGREE) vertex(visit, work, room.vertex);
        else if (WIDE) twc(visit, work, room.twc);
        else warp_search(visit, work, room.search);
        visit.close();
        if (visit.sent) FENCE_SYSTEM(); // at once: other warps of the block still process edges
    }
#endif

    // Reduce: send mirrors' proposals to their masters. Returns true if a grid barrier must follow.
    __device__ bool reduce_mirrors(bool pending) {
        const bool sent = mailed();
        const ChangeLists news = {env.mirrors, sent ? 0 : (u64)mirrors_touched(), (const u32*)0, 0};
        return exchange(reduce, news, sent, pending, [&](const Receivers& by) { take_proposals(*this, held(), by); });
    }

    // Broadcast: send the frontier's values to its mirrors, which join the frontier.
    __device__ void broadcast_frontier() {
        if (!broadcast.role) return;
        const u64 dirty = DIRTY ? (u64)FRESH(slot + DIRTY_TAIL) : (u64)own_active;
        const ChangeLists news = {DIRTY ? env.dirty : queue(), dirty, queue(), (u64)own_active};
        if (exchange(broadcast, news, false, false, [&](const Receivers& by) { take_labels(*this, held()[0], by); })) barrier_all_gpus();
        look();
    }

    // Read the frontier's size and edges.
    __device__ void look() {
        const i64* found = look_up(room.counted, slot);
        queued = listed(found, TAIL), edges = listed_edges(found, TAIL), largest = found[MOST_DEGREE];
    }

    __device__ bool stops() const { return NOW() - began > HOST_CHECK_TIME; }
    __device__ i64 lives() const { return !LIVE ? 0 : whole ? living.after(slot) : living.count; }

    __device__ Totals agree(bool all_words) {
        gate.around([&]() {
            const i64 waited = agree_now(agreement, room.totals, slot, stops(), lives(), all_words);
            if (threadIdx.x == 0) waiting += waited;
        });
        agreement.stamp++;
        share(true);
        return shared_totals();
    }

    // Record the round that is over; the same on all ranks.
    __device__ void count_round(const Totals& t) {
        i64* figure = env.ring + (round % RING) * FIGURES;
        if (thread_rank() == 0) figure[0] = active, figure[1] = total, figure[2] = PUSH, figure[3] = 0;
        round++, active = t.active, total = t.edges, unexplored -= total;
        if (bucket_rounds++) bucket_edges += total / ranks; // the round that opened the bucket does not count
    }

    // Make the list of this tick the frontier.
    __device__ void turn() {
        slot = slot_of(tick++), swapped = !swapped;
        look();
        own_active = queued, own_edges = front_edges(room.counted.word);
    }
};
