// One rank of the persistent multi-GPU kernel (multi_gpu_rounds.cuh): its state, edge phase, messages and totals.

struct MultiGpuRoom : ExchangeRoom {
    Staging staging, more;
    Counted counted;
    union {
        VertexRoom vertex;
        WarpSharesRoom search;
        TwcRoom twc;
    };
};

// This rank's total ``k``. ``stops``: this rank needs its host; ``lives``: vertices that a round over all live ones
// visits.
DEVICE i64 total_here(const i64* slot, int k, bool stops, i64 lives) {
    if (k == TOTAL_ACTIVES) return listed(slot, TAIL);
    if (k == TOTAL_DEGREES) return front_edges(slot);
    if (k == TOTAL_STOPS) return stops;
    if (k == TOTAL_WAITING) return PRIORITY ? (i64)(FRESH(&env.control->far) > 0) : 0;
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

// State of a round and its lists, for functions of their own.
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
        if (LOCAL_ROUNDS) visit.mirror_list.tail = &env.post->mirrors;
    }
};

// Combine mirrors' proposals into their masters.
APART void take_proposals(Standing now, u32 (*held)[STAGED_VERTICES], Receivers by) {
    const Asked a = parsed(KNOWN(&env.post->reduce));
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
    const Asked a = parsed(KNOWN(&env.post->broadcast));
    by.each(a, [&](const Peer& peer, const Message& m, u64 at, u64 step) {
        Front front;
        front.open(held, now.swapped ? env.queue1 : env.queue0, now.swapped ? env.sums1 : env.sums0, now.slot, TAIL);
        take_from<1>(a, peer, m, front, at, step);
        front.close();
    });
}

// State of one rank; every thread of its grid has the same values.
struct MultiGpuRank : Exchanger, Turn, Buckets {
    MultiGpuRoom& room;
    Globals G;
    i64 since; // the tick of the last exchange
    i64* slot; // counters of the frontier's list
    Asked reduce, broadcast;
    u64 began;
    i64 most, limit, forced, ranks;
    LiveList living;
    bool whole, fits; // ``fits``: every mirror has a row of a short message

    __device__ void open(i64 stop) {
        const RoundState* c = env.control;
        const ExchangeState* post = env.post;
        began = NOW(), limit = stop;
        reduce = parsed(KNOWN(&post->reduce)), broadcast = parsed(KNOWN(&post->broadcast));
        begin_exchanges();
        most = KNOWN(&post->small_limit), forced = KNOWN(&c->forced), ranks = env.others + 1;
        load_turn(), load_buckets();
        mode = PUSH, active = edges = 0;
        living = {KNOWN(&c->live_swapped) != 0, KNOWN(&c->live_count), KNOWN(&c->total_live)};
        whole = KNOWN(&c->whole);
        G = load_globals(round, total_active);
        slot = slot_of(tick - 1);
        fits = ONCE;
        for (i64 p = 0; p < env.peer_count; p++)
            fits = fits && span_of(peer_of(p).own_mirrors, reduce.role).total() <= most_few;
    }

    // Store the state as ``end_phase`` does after a vertex phase; ``ends``: as ``end_round`` does when the program ends.
    __device__ void close(bool ends) {
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
        if (thread_rank()) return;
        RoundState* c = env.control;
        end_exchanges();
        queued = listed(slot, TAIL), local_edges = listed_edges(slot, TAIL), largest = FRESH(slot + MOST_DEGREE);
        store_turn(), store_buckets();
        c->dirtied = FRESH(slot + DIRTY_TAIL), c->live_count = living.count, c->live_swapped = living.swapped;
        c->whole = whole;
        if (LIVE) c->total_live = living.all;
        for (int i = 0; i < SUMS; i++) c->sums[i] = FRESH(slot + SUMS_AT + 8 * i);
        store_globals(G);
        if (ends) c->program_ends = 1, c->return_state = NEEDS_HOST;
    }

    __device__ u32 (*held() const)[STAGED_VERTICES] { return room.staging.held[warp_in_block()]; }
    __device__ Standing standing() const { return {G, tick, since, bucket, swapped, far_swapped, slot}; }
    __device__ void barrier_all_gpus() { grid_barrier(env.gate, gate.due); }

    // True if proposals to mirrors are appended to messages one by one as edges make them.
    __device__ bool mailed() const { return MAILS && reduce.role && (fits || local_edges <= MAILED); }

    __device__ void aim(Visit& visit) const { standing().aim(visit, held(), mailed() ? number + 1 : 0); }

    __device__ i64 mirrors_touched() const { return FRESH(LOCAL_ROUNDS ? &env.post->mirrors : slot_of(tick) + MIRROR_TAIL); }

    // Reduce: send mirrors' proposals to their masters. Returns true if a grid barrier must follow.
    __device__ bool reduce_mirrors(bool pending) {
        const bool sent = mailed();
        const ChangeLists news = {env.mirrors, sent ? 0 : (u64)mirrors_touched(), (const u32*)0, 0};
        return exchange(reduce, news, sent, pending, [&](const Receivers& by) { take_proposals(standing(), held(), by); });
    }

    // Broadcast: send the frontier's values to its mirrors, which join the frontier.
    __device__ void broadcast_frontier() {
        if (!broadcast.role) return;
        const u64 dirty = DIRTY ? (u64)FRESH(slot + DIRTY_TAIL) : (u64)active;
        const ChangeLists news = {DIRTY ? env.dirty : queue(), dirty, queue(), (u64)active};
        if (exchange(broadcast, news, false, false, [&](const Receivers& by) { take_labels(standing(), held()[0], by); })) barrier_all_gpus();
        look();
    }

    // Read the frontier's size and edges.
    __device__ void look() {
        const i64* found = look_up(room.counted, slot);
        queued = listed(found, TAIL), local_edges = listed_edges(found, TAIL), largest = found[MOST_DEGREE];
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
        if (thread_rank() == 0) log_round(*this, 0);
        next_round(*this, t.active, t.edges, PUSH);
        count_in_bucket(*this, t.edges);
    }

    // Make the list of this tick the frontier.
    __device__ void turn() {
        slot = slot_of(tick++), swapped = !swapped;
        look();
        active = queued, edges = front_edges(room.counted.word);
    }
};
