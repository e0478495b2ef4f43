// Whole rounds in one cooperative launch, while frontiers are small: thousands of them without the host.

struct RoundsRoom {
    Staging staging, more;
    FloatRoom floats;
    Counted counted;
    union {
        VertexRoom vertex;
        WarpSharesRoom search;
        TwcRoom twc;
    };
};

// Bits of the frontier as a list.
DEVICE void expand_bits(const u32* bits, i64* slot, bool swapped, Staging& staging) {
    Front front;
    front.open(staging.held[warp_in_block()][0], swapped ? env.queue0 : env.queue1, swapped ? env.sums0 : env.sums1,
               slot, TAIL);
    each_set_bit((u64)env.rows, [&](u64 i) { return FRESH(bits + i); }, [&](bool mine, u32 v) { front.add(mine, v); });
    front.close();
}

// Rounds of a rank that has the whole graph. Every thread has the same values.
struct PersistentRounds : Turn, Buckets {
    RoundsRoom& room;
    Globals G;
    LiveList living;
    i64 forced, waiting;
    u32 due;
    bool whole, done, bits_valid; // ``bits_valid``: the frontier is a bitmap

    __device__ void load() {
        const RoundState* c = env.control;
        load_turn(), load_buckets();
        total_edges = local_edges, forced = KNOWN(&c->forced), due = (u32)KNOWN(&c->gate);
        living = {KNOWN(&c->live_swapped) != 0, KNOWN(&c->live_count), 0};
        whole = KNOWN(&c->whole), done = KNOWN(&c->done), bits_valid = KNOWN(&c->bits);
        G = load_globals(round, total_active);
    }

    // By one thread.
    __device__ void store() {
        RoundState* c = env.control;
        active = queued, edges = total_edges;
        store_turn(), store_buckets();
        c->live_count = living.count, c->live_swapped = living.swapped, c->gate = due;
        c->whole = whole, c->done = done, c->bits = bits_valid;
        store_globals(G);
    }

    __device__ void barrier() { grid_barrier(env.gate, due); }

    __device__ void next_tick() {
        tick++;
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
    }

    __device__ void walk(i64* slot) {
        Visit visit;
        visit.G = G, visit.stamp = (u32)tick, visit.nearest = bucket, visit.seen = visit.mail = 0;
        visit.sums = no_sums();
        visit.neighbours = env.out_neighbours, visit.weights = env.out_weights;
        visit.aim(slot, swapped, far_swapped, room.staging.held[warp_in_block()]);
        const Work work = {queue(), degree_sums(), env.out_offsets, (u64)queued, (u64)local_edges, 0};
        if (largest <= LOW_DEGREE) vertex(visit, work, room.vertex);
        else if (WIDE) twc(visit, work, room.twc);
        else warp_shares(visit, work, room.search);
        visit.close();
    }

    // Edge and vertex phase. Passes a grid barrier at least once: counters of the round after the next are being cleared.
    __device__ void run_phases() {
        i64* slot = slot_of(tick);
        bool met = false;
        if (!ALL && queued > 0) {
            walk(slot);
            barrier();
            met = true;
        }
        if (APPLY && !ALL && (whole || (!KCORE_PEEL && look_up(room.counted, slot)[TOUCHED_TAIL] > 0))) {
            apply_pass(G, slot, whole, swapped, far_swapped, living, room.staging, room.more);
            barrier();
            met = true;
        }
        if (!met) barrier();
    }

    // Make the vertices that the phases found the frontier. ``as_bits``: it is the bitmap of a pull.
    __device__ void take_frontier(bool as_bits) {
        const i64* found = look_up(room.counted, slot_of(tick));
        largest = found[MOST_DEGREE];
        if (ALL) {
            queued = env.masters, local_edges = env.arcs;
        } else if (as_bits) {
            queued = found[AWAKE], local_edges = found[EDGE_SUM];
            bits_swapped = !bits_swapped, bits_valid = true;
        } else {
            queued = listed(found, TAIL), local_edges = front_edges(found);
            swapped = !swapped;
            if (LIVE && whole) living.turn(found);
        }
        next_tick();
        bucket_edges += local_edges, bucket_rounds++;
        waiting = PRIORITY ? room.counted.waiting : 0;
        with_sums(G, found + SUMS_AT);
    }

    // Open buckets until one has vertices. The next one is rarely empty: only where it is, the lowest is looked for.
    __device__ void open_buckets() {
        if (queued || !waiting) return;
        width = buckets(width, bucket_edges, bucket_rounds), bucket_edges = bucket_rounds = 0;
        for (bool next = true; queued == 0 && waiting > 0; next = false) {
            i64* slot = slot_of(tick);
            if (!next) {
                lowest_pass(slot, far_swapped, (u64)waiting, bucket);
                barrier();
            }
            const i64 opened = (next ? bucket + 1 : FRESH(slot + FAR_MIN) + FAR_BASE) + larger(width, 1ll) - 1;
            open_pass(slot, swapped, far_swapped, (u64)waiting, bucket, opened, room.staging);
            barrier();
            queued = listed(slot, TAIL), local_edges = front_edges(slot), largest = FRESH(slot + MOST_DEGREE);
            bucket = G.bucket = opened, swapped = !swapped, far_swapped = !far_swapped, waiting = FRESH(slot + FAR_TAIL);
            if (thread_rank() == 0) env.control->far = waiting;
            barrier();
            next_tick();
        }
    }

    // End the round. ``taken_by``: the schedule whose kernels walked its edges, or 0.
    __device__ void end(i64 taken_by) {
        const i64 was_mode = mode;
        with_floats(G, fold_parts(room.floats));
        const Decision decision = decided(G, queued);
        G = decision.G, done = decision.done, whole = decision.whole;
        if (thread_rank() == 0) log_round(*this, taken_by);
        next_round(*this, queued, local_edges, direction(mode, forced, queued, total_active, local_edges, unexplored));
        if (ALL || was_mode != PULL || mode != PUSH || !bits_valid || done) return;
        i64* slot = slot_of(tick);
        expand_bits(bits(), slot, swapped, room.staging);
        barrier();
        largest = FRESH(slot + MOST_DEGREE), swapped = !swapped, bits_valid = false;
        next_tick();
    }
};

#if PERSISTENT
// ``asked``: the round to stop at; in the highest byte the schedule, from 1, whose kernels have just walked the edges of
// the next round, or 0.
KERNEL_OF(1) rounds(i64 asked) {
    SHARED(RoundsRoom, room);
    const i64 limit = asked & ((1ll << SCHEDULE_BIT) - 1);
    const i64 most_edges = KNOWN(&env.control->small_edges), most_queued = KNOWN(&env.control->small_queue);
    i64 taken_by = asked >> SCHEDULE_BIT;
    PersistentRounds now = {{}, {}, room};
    now.load();
    const auto is_large = [&]() { return now.queued > most_queued || now.local_edges > most_edges; };
    if (now.done || now.round >= limit) return;
    // Launched before the host has read the totals of ``init``: other kernels walk the edges of this round.
    if (!ALL && !taken_by && (now.mode == PULL || (now.queued > 0 && is_large()))) return;
    while (true) {
        if (!taken_by) now.run_phases();
        now.take_frontier(taken_by == PULLED && !APPLY && !PRIORITY);
        if (PRIORITY) now.open_buckets();
        now.end(taken_by);
        taken_by = 0;
        if (now.done || now.round >= limit || ALL || now.mode == PULL || is_large()) break;
    }
    now.barrier();
    if (thread_rank() == 0) now.store();
}
#endif
