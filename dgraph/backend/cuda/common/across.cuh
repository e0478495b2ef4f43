// Rounds of all GPUs together, without the host: each walks its frontier, writes messages into the others' memory, and
// learns from words that they write into its own how the round came out. For rounds that push and are small.
//
// A round ends at the agreement: what ranks found is posted as totals, and all of them go on or leave alike. Where a
// program goes on for as long as anything is active (AHEAD), a rank walks the edges of the next round while the totals
// are on their way; then a round waits for other GPUs once, for their messages. Ranks leave after a round whose edges
// nobody has walked yet, or where nothing was active: so the host finds every rank behind its vertex phase.

struct AcrossRoom {
    Staging staging, more;
    PackRoom pack;
    Totalled totals;
    union {
        VertexRoom vertex;
        WarpSearchRoom search;
        TwcRoom twc;
    };
};

// What this rank found: word ``k`` of its totals. ``lives``: vertices that a round over all would look at.
DEVICE i64 total_here(const i64* slot, int k, bool stops, i64 lives) {
    if (k == TOTAL_ACTIVES) return listed(slot, TAIL);
    if (k == TOTAL_DEGREES) return front_edges(slot);
    if (k == TOTAL_STOPS) return stops;
    if (k == TOTAL_WAITING) return PRIORITY ? (i64)(FRESH(env.control + FAR) > 0) : 0;
    if (k == TOTAL_LIVES) return lives;
    return k == TOTAL_LOWEST ? FRESH(slot + FAR_MIN) : FRESH(slot + SUMS_AT + 8 * (k - TOTAL_SUMS));
}

// Whether a rank may walk the edges of the next round before it knows how this one came out: ``edges`` are of the
// frontier before, and one that grows eightfold is still to be small.
DEVICE bool runs_ahead(const Globals& G, i64 forced, i64 edges, i64 unexplored, i64 most) {
    Globals next = G;
    next.round += 1, next.active = 1;
    return AHEAD && 8 * edges <= most && direction(PUSH, forced, 1, 1, 8 * edges, unexplored) == PUSH && !step(next).done;
}

// One rank's part of the rounds; every thread of its grid holds the same.
struct Across {
    AcrossRoom& room;
    Asked reduce, tell;
    Gate gate;
    Agreement agreement;
    Globals G;
    u64 began;
    i64 number, most_few, most, limit, forced, ranks;
    i64 tick, round, active, total, queued, edges, largest, near, unexplored, live_count, own_active, own_edges;
    i64 width, pile_edges, pile_rounds, since; // ``since``: the tick of the last exchange
    i64 total_live; // where LIVE
    bool swapped, far_swapped, live_swapped, whole, at_once; // ``at_once``: mirrors join a message when they are proposed to
    i64* slot; // counters of the frontier's list
    i64 packing, waiting, unpacking; // nanoseconds of the first thread

    __device__ void open(i64 stop) {
        const i64 *c = env.control, *post = env.post;
        began = NOW(), limit = stop;
        reduce = parsed(FRESH(post + POST_REDUCE)), tell = parsed(FRESH(post + POST_TELL));
        gate = {(u32)FRESH(c + GATE), (u32)FRESH(post + POST_GO), env.gate, (u32*)(env.post + POST_GO)};
        number = FRESH(post + POST_NUMBER), agreement.stamp = FRESH(post + POST_STAMP);
        most_few = FRESH(post + POST_FEW), most = FRESH(post + POST_MOST);
        forced = FRESH(c + FORCED), ranks = env.others + 1;
        tick = FRESH(c + TICK), round = FRESH(c + ROUND), active = FRESH(c + TOTAL_ACTIVE), total = FRESH(c + TOTAL_EDGES);
        queued = FRESH(c + QUEUED), edges = FRESH(c + LOCAL_EDGES), largest = FRESH(c + LARGEST), near = FRESH(c + PILE);
        unexplored = FRESH(c + UNEXPLORED), live_count = FRESH(c + LIVE_COUNT), own_active = own_edges = 0;
        width = FRESH(c + WIDTH), pile_edges = FRESH(c + PILE_EDGES), pile_rounds = FRESH(c + PILE_ROUNDS);
        swapped = FRESH(c + SWAPPED), far_swapped = FRESH(c + FAR_SWAPPED), live_swapped = FRESH(c + LIVE_SWAPPED);
        whole = FRESH(c + WHOLE), total_live = FRESH(c + TOTAL_LIVE);
        G = load_globals(round, active);
        slot = slot_of(tick - 1);
        packing = waiting = unpacking = 0;
        at_once = ONCE && !LOCAL && reduce.role;
        for (i64 p = 0; p < env.peer_count; p++)
            at_once = at_once && span_of(peer_of(p).mine, reduce.role).total() <= most_few;
    }

    // As ``settle`` leaves it behind a vertex phase.
    __device__ void close() const {
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
        if (thread_rank()) return;
        i64* c = env.control;
        c[GATE] = gate.due, env.post[POST_NUMBER] = number, env.post[POST_STAMP] = agreement.stamp;
        c[TICK] = tick, c[ROUND] = round, c[TOTAL_ACTIVE] = active, c[TOTAL_EDGES] = total, c[UNEXPLORED] = unexplored;
        c[ACTIVE] = own_active, c[EDGES] = own_edges, c[SWAPPED] = swapped, c[DIRTIED] = FRESH(slot + DIRTY_TAIL);
        c[QUEUED] = listed(slot, TAIL), c[LOCAL_EDGES] = listed_edges(slot, TAIL), c[LARGEST] = FRESH(slot + MOST);
        c[LIVE_COUNT] = live_count, c[LIVE_SWAPPED] = live_swapped, c[WHOLE] = whole;
        if (LIVE) c[TOTAL_LIVE] = total_live;
        c[PILE] = near, c[FAR_SWAPPED] = far_swapped;
        c[WIDTH] = width, c[PILE_EDGES] = pile_edges, c[PILE_ROUNDS] = pile_rounds;
        for (int i = 0; i < SUMS; i++) c[SUMS_HERE + i] = FRESH(slot + SUMS_AT + 8 * i);
        env.post[POST_PACKING] += packing, env.post[POST_WAITING] += waiting, env.post[POST_UNPACKING] += unpacking;
        store_globals(G);
    }

    __device__ u32 (*held() const)[64] { return room.staging.held[warp_in_block()]; }
    __device__ const u32* queue() const { return swapped ? env.queue1 : env.queue0; }
    __device__ void meet_all() { meet(env.gate, gate.due); }

    __device__ void aim(Visit& visit) const {
        visit.G = G, visit.stamp = (u32)tick, visit.nearest = near, visit.seen = 0;
        visit.mail = at_once ? number + 1 : 0, visit.sent = false;
        visit.neighbours = env.out_neighbours, visit.weights = env.out_weights;
        visit.aim(slot_of(tick), swapped, far_swapped, held());
        if (SORTS) visit.beyond.open(room.more.held[warp_in_block()][0], far_swapped ? env.far1 : env.far0, env.control + FAR);
        visit.mirror_stamp = (u32)(LOCAL ? since : tick);
        if (LOCAL) visit.second.tail = env.post + POST_MIRRORS;
    }

    __device__ i64 mirrors_touched() const { return FRESH(LOCAL ? env.post + POST_MIRRORS : slot_of(tick) + MIRROR_TAIL); }

    __device__ void walk() const {
        if (queued == 0) return;
        Visit visit;
        aim(visit);
        const Work work = {queue(), swapped ? env.sums1 : env.sums0, env.out_offsets, (u64)queued, (u64)edges, 0};
        if (largest <= LOW_DEGREE) vertex(visit, work, room.vertex);
        else if (WIDE) twc(visit, work, room.twc);
        else warp_search(visit, work, room.search);
        visit.close();
        if (visit.sent) FENCE_SYSTEM(); // by itself, while others of its block still walk
    }

    // Rows that came from all peers; -1: too many for one block, or not counted.
    __device__ i64 few_came() const {
        i64 rows = 0;
        bool heads = false;
        for (i64 p = 0; p < env.peer_count; p++) {
            const i64 many = (i64)(FRESH(peer_of(p).signals + signal_word(number)) & COUNT_IN_HEAD);
            heads |= many == COUNT_IN_HEAD, rows += many;
        }
        return heads || rows > FEW_ROWS ? -1 : rows;
    }

    // One exchange: all blocks write, the first posts and waits for what all peers posted; ``pending``: and for the totals
    // of the round before, which were on their way. ``take(p, at, step)`` takes every ``step``-th row from peer p; a few
    // the first block takes by itself, its warps from several peers at a time. Whether all blocks took some, so that they
    // have to meet before what came is complete.
    template <class F> __device__ bool exchange(const Asked& a, const News& news, bool pending, const F& take) {
        const u64 start = NOW();
        number++;
        const bool sent = at_once && a.reduces, appends = sent || (!a.marked && news.count <= (u64)most_few);
        if (!appends) pack_all(a, news, number, gate.due, room.pack);
        else if (!sent && news.count) append(a, news, number, most_few);
        gate.around([&]() {
            if (appends) post_few(a, number);
            else post_all(a, number);
            const u64 posted = NOW();
            if (pending) agreement.begin(room.totals), agreement.collect(room.totals, false);
            wait_for_messages(number);
            if (pending) agreement.keep(room.totals);
            __syncthreads();
            const u64 came = NOW();
            if (few_came() > 0 && !FRESH(env.post + POST_LATE)) {
                const u32 all = BLOCK / 32, each = larger(all / (u32)env.peer_count, 1u), warp = warp_in_block();
                take((i64)(warp / each), (i64)(all / each), (u64)(warp % each * 32 + lane_id()), (u64)(each * 32));
            }
            if (threadIdx.x) return;
            if (LOCAL && a.reduces) env.post[POST_MIRRORS] = 0;
            packing += (i64)(posted - start), waiting += (i64)(came - posted), unpacking += (i64)(NOW() - came);
        });
        if (!appends && a.marked) mark_active(news, true);
        if (few_came() >= 0 || FRESH(env.post + POST_LATE)) return false;
        const u64 came = NOW();
        take(0, 1, thread_rank(), threads());
        if (thread_rank() == 0) unpacking += (i64)(NOW() - came);
        return true;
    }

    // Mirrors' proposals reach their masters.
    __device__ bool takes(bool pending) {
        const News news = {env.mirrors, at_once ? 0 : (u64)mirrors_touched(), (const u32*)0, 0};
        return exchange(reduce, news, pending, [&](i64 first, i64 every, u64 at, u64 step) {
            Visit visit;
            aim(visit);
            for (i64 p = first; p < env.peer_count; p += every)
                combine_from<1>(peer_of(p), incoming_any(reduce, p, number, most_few), visit, at, step);
            visit.close();
        });
    }

    // Mirrors hear of the frontier, and join it.
    __device__ void listen() {
        if (!tell.role) return;
        const u64 dirty = DIRTY ? (u64)FRESH(slot + DIRTY_TAIL) : (u64)own_active;
        const News news = {DIRTY ? env.dirty : queue(), dirty, queue(), (u64)own_active};
        if (exchange(tell, news, false, [&](i64 first, i64 every, u64 at, u64 step) {
                Front front;
                front.open(held()[0], swapped ? env.queue1 : env.queue0, swapped ? env.sums1 : env.sums0, slot, TAIL);
                for (i64 p = first; p < env.peer_count; p += every)
                    take_from<1>(tell, peer_of(p), incoming_any(tell, p, number, most_few), front, at, step);
                front.close();
            }))
            meet_all();
        look();
    }

    // The frontier as it stands.
    __device__ void look() { queued = listed(slot, TAIL), edges = listed_edges(slot, TAIL), largest = FRESH(slot + MOST); }

    __device__ void fill() {
        const i64 lives = !LIVE ? 0 : whole ? FRESH(slot + LIVE_TAIL) : live_count;
        for (int k = threadIdx.x; k < TOTAL_SUMS + SUMS; k += BLOCK)
            room.totals.mine[k] = total_here(slot, k, NOW() - began > LOOK_AROUND, lives);
        __syncthreads();
    }

    __device__ Totals agree(bool all_words) {
        gate.around([&]() {
            fill();
            agreement.post(room.totals, all_words);
            const i64 waited = agreement.hear(room.totals, all_words);
            if (threadIdx.x == 0) waiting += waited;
        });
        if (blockIdx.x) agreement.stamp++;
        return totals_now();
    }

    // All ranks count the round that is over.
    __device__ void count_round(const Totals& t) {
        i64* figure = env.ring + (round % RING) * FIGURES;
        if (thread_rank() == 0) figure[0] = active, figure[1] = total, figure[2] = PUSH, figure[3] = 0;
        round++, active = t.active, total = t.edges, unexplored -= total;
        pile_edges += total / ranks, pile_rounds++;
    }

    // The list that counters of this tick tell of becomes the frontier.
    __device__ void turn() {
        slot = slot_of(tick++), swapped = !swapped;
        look();
        own_active = queued, own_edges = front_edges(slot);
    }

    // Where nothing is active: the lowest piles of all ranks become the frontier. Whether there was one.
    __device__ bool opens_piles(Totals& t) {
        if (!PRIORITY || !t.waiting || t.stops || t.late || round + 1 >= limit) return false;
        const u64 waiting = (u64)FRESH(env.control + FAR);
        if (blockIdx.x == 0) clear(slot_of(tick + 1)); // the round that the pile makes counts there
        slot = slot_of(tick);
        lowest_pass(slot, far_swapped, waiting, near);
        t = agree(true);
        slot = slot_of(tick - 1);
        if (t.late || t.lowest == 0) return false;
        width = piles(width, pile_edges, pile_rounds), pile_edges = pile_rounds = 0;
        const i64 opened = t.lowest + FAR_BASE + larger(width, 1ll) - 1;
        open_pass(slot_of(tick), swapped, far_swapped, waiting, near, opened, room.staging);
        meet_all();
        turn();
        if (thread_rank() == 0) env.control[FAR] = FRESH(slot + FAR_TAIL);
        near = opened, far_swapped = !far_swapped;
        t = agree(false);
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
        return !t.late && t.active && !is_broad(t);
    }

    __device__ i64 looks() const { return LIVE ? total_live : env.n; } // vertices of a round over all
    __device__ bool is_broad(const Totals& t) const { return t.active > most || t.edges > most; }
    __device__ i64 way(const Totals& t) const { return direction(PUSH, forced, t.active, active, t.edges, unexplored); }

    // Rounds of this rank alone, until none of its own vertices is active or others have waited long enough. Mirrors that
    // got proposals wait; vertices that are still active are part of the next round.
    __device__ void run_locally() {
        if (!LOCAL || tell.role) return;
        for (i64 k = 0; k < MOST_LOCAL && listed(slot_of(tick), TAIL); k++) {
            turn();
            if (blockIdx.x == 0) clear(slot_of(tick + 1));
            walk();
            meet_all();
        }
    }

    // The vertex phase; ``complete``: all blocks have met since the lists were written.
    __device__ bool applied(bool complete) {
        if (!APPLY) return complete;
        if (!complete) meet_all();
        i64* now = slot_of(tick);
        if (!whole && FRESH(now + TOUCHED_TAIL) == 0) return true;
        apply_pass(G, now, whole, swapped, live_swapped, live_count, room.staging, room.more);
        return false;
    }

    // After a round whose totals all wait for: whether the next one is begun here.
    __device__ bool goes_on(Totals& t) {
        if (t.late || t.stops || round + 1 >= limit) return false;
        if (t.active == 0 && (AHEAD || PRIORITY) && !opens_piles(t)) return false;
        Globals next = G;
        with_sums(next, env.post + POST_SUMS);
        next.round += 1, next.active = t.active;
        const Decision decision = step(next);
        if (decision.done || way(t) == PULL || is_broad(t) || (decision.whole && looks() > WHOLE_ACROSS * ranks))
            return false;
        count_round(t);
        G = decision.G, whole = decision.whole;
        return true;
    }
};

// ``limit``: the round to stop before.
KERNEL_OF(1) across(i64 limit) {
    SHARED(AcrossRoom, room);
    Across all = {room};
    all.open(limit);
    bool pending = false, hurries = true; // totals are on their way; nothing speaks against walking ahead
    while (true) {
        all.since = all.tick;
        all.walk();
        if (!all.at_once) all.meet_all();
        all.run_locally();
        bool complete = true;
        if (all.reduce.role) complete = !all.takes(pending);
        else if (pending) all.gate.around([&]() { all.waiting += all.agreement.hear(room.totals, false); });
        if (pending) {
            // Where nothing was active, nobody has walked or said anything since.
            Totals t = totals_now();
            const bool quiet = t.active == 0;
            pending = false;
            if (t.late || (quiet && !all.opens_piles(t))) break;
            hurries = quiet || !(t.stops || all.is_broad(t) || all.way(t) == PULL);
            all.count_round(t);
            all.G.active = t.active;
            if (quiet) {
                all.listen();
                continue;
            }
        }
        complete = all.applied(complete);
        const bool ahead = hurries && all.round + 1 < all.limit &&
                           runs_ahead(all.G, all.forced, all.total, all.unexplored, all.most);
        if (ahead) {
            if (!complete) all.meet_all();
            all.turn();
            if (blockIdx.x == 0) {
                all.fill();
                all.agreement.post(room.totals, false);
            } else {
                all.agreement.stamp++;
            }
            all.G.round += 1, pending = true;
        } else {
            all.slot = slot_of(all.tick);
            Totals t = all.agree(SUMS > 0 || LIVE);
            if (LIVE) all.total_live = t.lives;
            all.turn();
            if (LIVE && all.whole) all.live_count = FRESH(all.slot + LIVE_TAIL), all.live_swapped = !all.live_swapped;
            if (!all.goes_on(t)) break;
            hurries = true;
        }
        if (blockIdx.x == 0) clear(slot_of(all.tick + 1));
        all.listen();
    }
    all.close();
}
