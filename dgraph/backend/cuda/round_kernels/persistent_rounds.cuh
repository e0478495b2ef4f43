// Whole rounds in one cooperative launch, while frontiers are small: thousands of them without the host.

struct RoundsRoom {
    Staging staging, more;
    FloatRoom floats;
    Counted counted;
    union {
        VertexRoom vertex;
        WarpSearchRoom search;
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

#if PERSISTENT
// ``asked``: the round to stop at; in the highest byte the schedule, from 1, whose kernels have just walked the edges of
// the next round, or 0.
KERNEL_OF(1) rounds(i64 asked) {
    SHARED(RoundsRoom, room);
    i64* c = env.control;
    u32 due = (u32)KNOWN(c + GATE);
    i64 tick = KNOWN(c + TICK), mode = KNOWN(c + MODE), round = KNOWN(c + ROUND), active = KNOWN(c + TOTAL_ACTIVE);
    i64 queued = KNOWN(c + QUEUED), edges = KNOWN(c + LOCAL_EDGES), largest = KNOWN(c + LARGEST), near = KNOWN(c + BUCKET);
    i64 unexplored = KNOWN(c + UNEXPLORED);
    LiveList living = {KNOWN(c + LIVE_SWAPPED) != 0, KNOWN(c + LIVE_COUNT), 0};
    bool swapped = KNOWN(c + SWAPPED), bits_swapped = KNOWN(c + BITS_SWAPPED), far_swapped = KNOWN(c + FAR_SWAPPED);
    bool whole = KNOWN(c + WHOLE), done = KNOWN(c + DONE);
    bool valid = KNOWN(c + BITS), pending = asked >> SCHEDULE_BIT != 0;
    const i64 limit = asked & ((1ll << SCHEDULE_BIT) - 1), forced = KNOWN(c + FORCED);
    i64 width = KNOWN(c + WIDTH), bucket_edges = KNOWN(c + BUCKET_EDGES), bucket_rounds = KNOWN(c + BUCKET_ROUNDS);
    const i64 most_edges = KNOWN(c + SMALL_EDGES), most_queued = KNOWN(c + SMALL_QUEUE);
    if (done || round >= limit) return;
    Globals G = load_globals(round, active);
    i64 taken_by = asked >> SCHEDULE_BIT;
    while (true) {
        i64* slot = slot_of(tick);
        if (!pending) {
            bool met = false; // at least once a round: the counters of the round after the next are being cleared
            if (!ALL && queued > 0) {
                Visit visit;
                visit.G = G, visit.stamp = (u32)tick, visit.nearest = near, visit.seen = visit.mail = 0;
                visit.sums = no_sums();
                visit.neighbours = env.out_neighbours, visit.weights = env.out_weights;
                visit.aim(slot, swapped, far_swapped, room.staging.held[warp_in_block()]);
                const Work work = {swapped ? env.queue1 : env.queue0, swapped ? env.sums1 : env.sums0, env.out_offsets,
                                   (u64)queued, (u64)edges, 0};
                if (largest <= LOW_DEGREE) vertex(visit, work, room.vertex);
                else if (WIDE) twc(visit, work, room.twc);
                else warp_search(visit, work, room.search);
                visit.close();
                grid_barrier(env.gate, due);
                met = true;
            }
            if (APPLY && !ALL && (whole || (!KCORE_PEEL && look_up(room.counted, slot)[TOUCHED_TAIL] > 0))) {
                apply_pass(G, slot, whole, swapped, living, room.staging, room.more);
                grid_barrier(env.gate, due);
                met = true;
            }
            if (!met) grid_barrier(env.gate, due);
        }
        const i64 was = active, was_edges = edges, was_mode = mode;
        const i64* found = look_up(room.counted, slot);
        largest = found[MOST_DEGREE];
        if (ALL) {
            queued = env.masters, edges = env.arcs;
        } else if (taken_by == PULLED && !APPLY && !PRIORITY) {
            queued = found[AWAKE], edges = found[EDGE_SUM];
            bits_swapped = !bits_swapped, valid = true;
        } else {
            queued = listed(found, TAIL), edges = front_edges(found);
            swapped = !swapped;
            if (LIVE && whole) living.turn(found);
        }
        pending = false;
        tick++;
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
        bucket_edges += edges, bucket_rounds++;
        i64 waiting = PRIORITY ? room.counted.waiting : 0;
        with_sums(G, found + SUMS_AT);
        if (PRIORITY && queued == 0 && waiting > 0)
            width = buckets(width, bucket_edges, bucket_rounds), bucket_edges = bucket_rounds = 0;
        // The next bucket is rarely empty: only where it is, the lowest is looked for.
        for (bool next = true; PRIORITY && queued == 0 && waiting > 0; next = false) {
            i64* now = slot_of(tick);
            if (!next) {
                lowest_pass(now, far_swapped, (u64)waiting, near);
                grid_barrier(env.gate, due);
            }
            const i64 opened = (next ? near + 1 : FRESH(now + FAR_MIN) + FAR_BASE) + larger(width, 1ll) - 1;
            open_pass(now, swapped, far_swapped, (u64)waiting, near, opened, room.staging);
            grid_barrier(env.gate, due);
            queued = listed(now, TAIL), edges = front_edges(now), largest = FRESH(now + MOST_DEGREE);
            near = opened, swapped = !swapped, far_swapped = !far_swapped, waiting = FRESH(now + FAR_TAIL);
            if (thread_rank() == 0) c[FAR] = waiting;
            grid_barrier(env.gate, due);
            tick++;
            if (blockIdx.x == 0) clear(slot_of(tick + 1));
        }
        active = queued;
        with_floats(G, fold_parts(room.floats));
        G.round += 1, G.active = active;
        const Decision decision = step(G);
        G = decision.G, done = decision.done, whole = decision.whole;
        if (thread_rank() == 0) {
            i64* figure = env.ring + (round % RING) * FIGURES;
            figure[0] = was, figure[1] = was_edges, figure[2] = was_mode, figure[3] = taken_by;
        }
        taken_by = 0;
        round++;
        mode = direction(mode, forced, active, was, edges, unexplored);
        if (mode == PUSH) unexplored -= edges;
        if (!ALL && was_mode == PULL && mode == PUSH && valid && !done) {
            i64* now = slot_of(tick);
            expand_bits(bits_swapped ? env.bits1 : env.bits0, now, swapped, room.staging);
            grid_barrier(env.gate, due);
            largest = FRESH(now + MOST_DEGREE), swapped = !swapped, valid = false;
            tick++;
            if (blockIdx.x == 0) clear(slot_of(tick + 1));
        }
        if (done || round >= limit || ALL || mode == PULL || queued > most_queued || edges > most_edges) break;
    }
    grid_barrier(env.gate, due);
    if (thread_rank() == 0) {
        c[GATE] = due, c[TICK] = tick, c[MODE] = mode, c[ROUND] = round, c[TOTAL_ACTIVE] = active;
        c[QUEUED] = c[ACTIVE] = queued, c[EDGES] = c[TOTAL_EDGES] = edges, c[LARGEST] = largest, c[BUCKET] = near;
        c[UNEXPLORED] = unexplored, c[LIVE_COUNT] = living.count;
        c[SWAPPED] = swapped, c[BITS_SWAPPED] = bits_swapped, c[FAR_SWAPPED] = far_swapped;
        c[LIVE_SWAPPED] = living.swapped, c[WHOLE] = whole, c[DONE] = done, c[BITS] = valid;
        c[LOCAL_EDGES] = edges, c[WIDTH] = width, c[BUCKET_EDGES] = bucket_edges, c[BUCKET_ROUNDS] = bucket_rounds;
        store_globals(G);
    }
}
#endif
