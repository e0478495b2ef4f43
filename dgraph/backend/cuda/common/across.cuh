// Rounds of all GPUs together, without the host: each walks its frontier, writes messages into the others' memory, and
// learns from words that they write into its own how the round came out. For rounds that push and are small.
//
// A round ends at the agreement: what ranks found is posted as totals, and all of them go on or leave alike. Where a
// program goes on for as long as anything is active (AHEAD), a rank walks the edges of the next round while the totals
// are on their way; then a round waits for other GPUs once, for their messages. ``leave`` is decided of rounds whose
// edges nobody has walked yet, or in which nothing was active: so the host finds every rank behind its vertex phase.

struct AcrossRoom {
    Staging staging, more;
    PackRoom pack;
    i64 totals[TOTAL_SUMS + MOST_SUMS]; // the first block's: what this rank found in the last round
    union {
        VertexRoom vertex;
        WarpSearchRoom search;
        TwcRoom twc;
    };
};

// All blocks of this GPU. When all have come, the first block does ``work`` alone, and then all go on.
struct Gate {
    u32 due, gone;
    u32 *arrived, *go;

    template <class F> __device__ void around(const F& work) {
        due += gridDim.x, gone++;
        __syncthreads();
        if (threadIdx.x == 0) {
            FENCE_SYSTEM(); // what this block wrote into peers' memory comes before what the first posts
            ARRIVE(arrived);
        }
        if (blockIdx.x == 0) {
            if (threadIdx.x == 0)
                while ((int)(LATEST(arrived) - due) < 0) WAIT();
            __syncthreads();
            work();
            __syncthreads();
            if (threadIdx.x == 0) ARRIVE(go);
        } else if (threadIdx.x == 0) {
            while ((int)(LATEST(go) - gone) < 0) WAIT();
        }
        __syncthreads();
    }
};

// To peer p, of a list too short to be worth counting first: offsets, in columns of POST_FEW rows.
DEVICE Message few(const Asked& a, i64 p, i64 number) {
    const Peer& peer = peer_of(p);
    const Span span = span_of(a.leaving(peer), a.role);
    const i64 rows = smaller(span.total(), FRESH(env.post + POST_FEW));
    Message m;
    m.place(peer.outbox[number & 1], OFFSETS, FRESH(post_of(p) + COUNTED), rows, span, a.fields, false);
    return m;
}

DEVICE void post_few(const Asked& a, i64 number) {
    for (i64 p = threadIdx.x; p < env.peer_count; p += BLOCK) {
        const Peer& peer = peer_of(p);
        Message m = few(a, p, number);
        const i64 rows = smaller(m.span.total(), FRESH(env.post + POST_FEW));
        m.bytes = m.count ? HEADER + padded(4 * m.count) + m.count * width_of(a.fields, false) : 0;
        if (m.count == 0) m.kind = NOTHING;
        finish(p, m, rows, number);
        RELEASE_SYSTEM(peer.signal + SIGNAL_NUMBER, (u64)number);
    }
}

// Proposals or values that a list names, as offsets, without counting them first: lists are short here.
DEVICE void append(const Asked& a, const News& news, i64 number) {
    for (u64 i = thread_rank(); i - lane_id() < news.count; i += threads()) {
        const bool mine = i < news.count;
        const u32 v = mine ? FRESH(news.list + i) : 0;
        u32 e = mine && !a.reduces ? env.told_offsets[v] : 0;
        const u32 last = !mine ? 0 : a.reduces ? 1 : env.told_offsets[v + 1];
        for (; ballot(e < last); e++) {
            Place at = {-1, 0};
            if (e < last) at = a.reduces ? place_of_mirror(v) : place_of_slot(env.told[e]);
            if (at.p >= 0 && !span_of(a.leaving(peer_of(at.p)), a.role).holds(at.position)) at.p = -1;
            for (u32 left = ballot(at.p >= 0); left;) {
                const u32 leader = __ffs(left) - 1;
                const i64 p = shuffle(at.p, leader);
                const u32 same = ballot(at.p == p);
                u64 base = 0;
                if (lane_id() == leader) base = atomicAdd((u64*)(post_of(p) + COUNTED), (u64)__popc(same));
                base = shuffle(base, leader);
                if (at.p == p) {
                    const Peer& peer = peer_of(p);
                    put(a, peer, few(a, p, number), at.position,
                        (i64)base + __popc(same & ((1u << lane_id()) - 1)));
                }
                left &= ~same;
            }
        }
    }
}

struct Across {
    Gate gate;
    i64 number, stamp;

    // One exchange: all blocks write, the first posts and waits for what all peers posted.
    __device__ void exchange(const Asked& a, const News& news, PackRoom& room) {
        const u64 began = NOW();
        number++;
        const bool appends = !a.marked && news.count <= (u64)FRESH(env.post + POST_FEW);
        if (appends) append(a, news, number);
        else pack_all(a, news, number, gate.due, room);
        gate.around([&]() {
            if (appends) post_few(a, number);
            else post_all(a, number);
            const u64 posted = NOW();
            all_heard(env.peer_count, SIGNAL_NUMBER, (u64)number);
            if (threadIdx.x) return;
            env.post[POST_PACKING] += (i64)(posted - began), env.post[POST_WAITING] += (i64)(NOW() - posted);
        });
        if (!appends && a.marked) mark_active(news, true);
    }

    __device__ u32 totals_at() const { return SIGNAL_TOTALS + TOTALS_WORDS * (u32)(stamp & 1); }

    // By the first block: this rank's totals into every other's memory.
    __device__ void post_totals(const i64* mine) {
        stamp++;
        for (i64 p = threadIdx.x; p < env.others; p += BLOCK) {
            u64* words = peer_of(p).signal + totals_at();
            for (int i = 0; i < TOTAL_SUMS + SUMS; i++) words[1 + i] = (u64)mine[i];
            RELEASE_SYSTEM(words, (u64)stamp);
        }
    }

    // By the first block: the totals of all ranks, where every block of this GPU finds them.
    __device__ void hear_totals(const i64* mine) {
        const u64 began = NOW();
        all_heard(env.others, totals_at(), (u64)stamp);
        for (int i = threadIdx.x; i < TOTAL_SUMS + SUMS; i += BLOCK) {
            i64 sum = mine[i];
            for (i64 p = 0; p < env.others; p++) sum += (i64)FRESH(peer_of(p).signals + totals_at() + 1 + i);
            env.post[i < TOTAL_SUMS ? POST_TOTALS + i : POST_SUMS + 8 * (i - TOTAL_SUMS)] = sum;
        }
        if (threadIdx.x == 0) env.post[POST_WAITING] += (i64)(NOW() - began);
    }
};


// What all ranks found together.
struct Totals {
    i64 active, edges;
    bool stops, late;
};

DEVICE Totals totals_now() {
    const i64* t = env.post + POST_TOTALS;
    return {FRESH(t + TOTAL_ACTIVES), FRESH(t + TOTAL_DEGREES), FRESH(t + TOTAL_STOPS) != 0, FRESH(env.post + POST_LATE) != 0};
}

DEVICE bool is_broad(const Totals& t, i64 most) { return t.active > most || t.edges > most; }

// What this rank found: word ``i`` of its totals.
DEVICE i64 total_here(const i64* slot, int i, bool stops) {
    if (i == TOTAL_ACTIVES) return listed(slot, TAIL);
    if (i == TOTAL_DEGREES) return front_edges(slot);
    return i == TOTAL_STOPS ? (i64)stops : FRESH(slot + SUMS_AT + 8 * (i - TOTAL_SUMS));
}

DEVICE void note(i64 round, i64 active, i64 edges) {
    i64* figure = env.ring + (round % RING) * FIGURES;
    if (thread_rank() == 0) figure[0] = active, figure[1] = edges, figure[2] = PUSH, figure[3] = 0;
}

DEVICE void aim(Visit& visit, const Globals& G, i64 tick, i64 near, bool swapped, bool far_swapped, u32 (*held)[64]) {
    visit.G = G, visit.stamp = (u32)tick, visit.nearest = near, visit.seen = 0;
    visit.neighbours = env.out_neighbours, visit.weights = env.out_weights;
    visit.aim(slot_of(tick), swapped, far_swapped, held);
}

// Whether a rank may walk the edges of the next round before it knows how this one came out: ``edges`` are of the
// frontier before, and one that grows eightfold is still to be small.
DEVICE bool runs_ahead(const Globals& G, i64 forced, i64 edges, i64 unexplored, i64 most) {
    Globals next = G;
    next.round += 1, next.active = 1;
    return AHEAD && 8 * edges <= most && direction(PUSH, forced, 1, 1, 8 * edges, unexplored) == PUSH && !step(next).done;
}

// ``limit``: the round to stop before.
KERNEL across(i64 limit) {
    SHARED(AcrossRoom, room);
    const u64 began = NOW();
    i64* c = env.control;
    const Asked reduce = parsed(FRESH(env.post + POST_REDUCE)), tell = parsed(FRESH(env.post + POST_TELL));
    Across all;
    all.gate = {(u32)FRESH(c + GATE), (u32)FRESH(env.post + POST_GO), env.gate, (u32*)(env.post + POST_GO)};
    all.number = FRESH(env.post + POST_NUMBER), all.stamp = FRESH(env.post + POST_STAMP);
    i64 tick = FRESH(c + TICK), round = FRESH(c + ROUND), active = FRESH(c + TOTAL_ACTIVE), total = FRESH(c + TOTAL_EDGES);
    i64 queued = FRESH(c + QUEUED), edges = FRESH(c + LOCAL_EDGES), largest = FRESH(c + LARGEST);
    i64 unexplored = FRESH(c + UNEXPLORED), live_count = FRESH(c + LIVE_COUNT), own_active = 0, own_edges = 0;
    bool swapped = FRESH(c + SWAPPED), live_swapped = FRESH(c + LIVE_SWAPPED), whole = FRESH(c + WHOLE);
    const bool far_swapped = FRESH(c + FAR_SWAPPED);
    const i64 near = FRESH(c + PILE), forced = FRESH(c + FORCED), most = FRESH(env.post + POST_MOST);
    u32(*held)[64] = room.staging.held[warp_in_block()];
    Globals G = load_globals(round, active);
    bool pending = false, hurries = true; // totals are on their way; nothing speaks against walking ahead
    while (true) {
        i64* slot = slot_of(tick);
        if (queued > 0) {
            Visit visit;
            aim(visit, G, tick, near, swapped, far_swapped, held);
            const Work work = {swapped ? env.queue1 : env.queue0, swapped ? env.sums1 : env.sums0, env.out_offsets,
                               (u64)queued, (u64)edges, 0};
            if (largest <= LOW_DEGREE) vertex(visit, work, room.vertex);
            else if (WIDE) twc(visit, work, room.twc);
            else warp_search(visit, work, room.search);
            visit.close();
        }
        if (pending) {
            all.gate.around([&]() { all.hear_totals(room.totals); });
            const Totals t = totals_now();
            if (t.late || t.active == 0) break;
            note(round, active, total);
            round++, active = t.active, total = t.edges, unexplored -= total, G.active = active;
            hurries = !t.stops && !is_broad(t, most) && direction(PUSH, forced, active, active, total, unexplored) == PUSH;
            pending = false;
        } else {
            meet(env.gate, all.gate.due);
        }
        if (reduce.role) {
            all.exchange(reduce, {env.mirrors, (u64)FRESH(slot + MIRROR_TAIL), (const u32*)0, 0}, room.pack);
            Visit visit;
            const u64 arrived = NOW();
            aim(visit, G, tick, near, swapped, far_swapped, held);
            if (!FRESH(env.post + POST_LATE))
                for (i64 p = 0; p < env.peer_count; p++) combine_from(peer_of(p), incoming(reduce, p, all.number), visit);
            visit.close();
            if (thread_rank() == 0) env.post[POST_UNPACKING] += (i64)(NOW() - arrived);
        }
        if (APPLY || PRIORITY) {
            meet(env.gate, all.gate.due);
            if (APPLY) apply_pass(G, slot, whole, swapped, live_swapped, live_count, room.staging, room.more);
            else sort_pass(slot, swapped, far_swapped, near, room.staging);
        }
        // The round is over; ``slot`` now tells of the next frontier.
        tick++, swapped = !swapped;
        const bool ahead = hurries && round + 1 < limit && runs_ahead(G, forced, total, unexplored, most);
        const auto post = [&]() {
            for (int i = threadIdx.x; i < TOTAL_SUMS + SUMS; i += BLOCK)
                room.totals[i] = total_here(slot, i, NOW() - began > LOOK_AROUND);
            __syncthreads();
            all.post_totals(room.totals);
        };
        if (ahead) {
            meet(env.gate, all.gate.due);
            if (blockIdx.x == 0) post();
            else all.stamp++;
        } else {
            all.gate.around([&]() {
                post();
                all.hear_totals(room.totals);
            });
            if (blockIdx.x) all.stamp++;
        }
        own_active = listed(slot, TAIL), own_edges = front_edges(slot);
        if (LIVE && whole) live_count = FRESH(slot + LIVE_TAIL), live_swapped = !live_swapped;
        if (ahead) {
            G.round += 1, pending = true;
        } else {
            const Totals t = totals_now();
            Globals next = G;
            with_sums(next, env.post + POST_SUMS);
            next.round += 1, next.active = t.active;
            const Decision decision = step(next);
            const bool quiet = t.active == 0 && (AHEAD || PRIORITY);
            const i64 rest = unexplored - t.edges, way = direction(PUSH, forced, t.active, active, t.edges, unexplored);
            if (t.late || t.stops || quiet || decision.done || round + 1 >= limit || way == PULL || is_broad(t, most) ||
                (decision.whole && env.n > most))
                break;
            note(round, active, total);
            round++, active = t.active, total = t.edges, unexplored = rest, G = decision.G, whole = decision.whole;
            hurries = true;
        }
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
        if (tell.role) {
            const u32* queue = swapped ? env.queue1 : env.queue0;
            all.exchange(tell, {DIRTY ? env.dirty : queue, DIRTY ? (u64)FRESH(slot + DIRTY_TAIL) : (u64)own_active, queue,
                                (u64)own_active}, room.pack);
            Front front;
            const u64 arrived = NOW();
            front.open(held[0], swapped ? env.queue1 : env.queue0, swapped ? env.sums1 : env.sums0, slot, TAIL);
            if (!FRESH(env.post + POST_LATE))
                for (i64 p = 0; p < env.peer_count; p++) take_from(tell, peer_of(p), incoming(tell, p, all.number), front);
            front.close();
            if (thread_rank() == 0) env.post[POST_UNPACKING] += (i64)(NOW() - arrived);
            meet(env.gate, all.gate.due);
        }
        queued = listed(slot, TAIL), edges = listed_edges(slot, TAIL), largest = FRESH(slot + MOST);
    }
    // As ``settle`` leaves it behind a vertex phase.
    if (blockIdx.x == 0) clear(slot_of(tick + 1));
    if (thread_rank()) return;
    const i64* slot = slot_of(tick - 1);
    c[GATE] = all.gate.due, env.post[POST_NUMBER] = all.number, env.post[POST_STAMP] = all.stamp;
    c[TICK] = tick, c[ROUND] = round, c[TOTAL_ACTIVE] = active, c[TOTAL_EDGES] = total, c[UNEXPLORED] = unexplored;
    c[ACTIVE] = own_active, c[EDGES] = own_edges, c[SWAPPED] = swapped, c[DIRTIED] = FRESH(slot + DIRTY_TAIL);
    c[QUEUED] = listed(slot, TAIL), c[LOCAL_EDGES] = listed_edges(slot, TAIL), c[LARGEST] = FRESH(slot + MOST);
    c[LIVE_COUNT] = live_count, c[LIVE_SWAPPED] = live_swapped, c[WHOLE] = whole;
    for (int i = 0; i < SUMS; i++) c[SUMS_HERE + i] = FRESH(slot + SUMS_AT + 8 * i);
    store_globals(G);
}
