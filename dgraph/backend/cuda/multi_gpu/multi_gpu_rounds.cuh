// Rounds of all GPUs together, without the host: each walks its frontier, writes messages into the others' memory, and
// learns from words that they write into its own how the round came out. For rounds that push and are small.
//
// A round ends at the agreement: what ranks found is posted as totals, and all of them go on or leave alike. Where a
// program goes on for as long as anything is active (AHEAD), a rank walks the edges of the next round while the totals
// are on their way; then a round waits for other GPUs once, for their messages. Ranks leave after a round whose edges
// nobody has walked yet, or where nothing was active: so the host finds every rank behind its vertex phase.

// The warp of the first block that tells others what this rank found, while the others begin the next round.
#define TELLER (BLOCK / 32 - 1)

// Whether a rank may walk the edges of the next round before it knows how this one came out: ``edges`` are of the
// frontier before, and one that grows eightfold is still to be small; where vertices are peeled frontiers hardly grow.
DEVICE bool runs_ahead(const Globals& G, i64 forced, i64 edges, i64 unexplored, i64 most) {
    Globals next = G;
    next.round += 1, next.active = 1;
    const i64 grown = (KCORE_PEEL ? 1 : 8) * edges;
    return AHEAD && grown <= most && direction(PUSH, forced, 1, 1, grown, unexplored) == PUSH && !step(next).done;
}

// How its rounds follow each other.
struct Across : AcrossRank {
    // Whether the program ends with the round that came out so, where this needs no ``step``.
    __device__ bool ends(const Totals& t) const { return AHEAD && !KCORE_PEEL && !t.late && !t.active && !t.waiting; }

    // Where nothing is active: the next buckets, or where they are empty the lowest of all ranks, become the frontier.
    // Whether there was one.
    __device__ bool opens_buckets(Totals& t) {
        if (!PRIORITY || !t.waiting || t.stops || t.late || round + 1 >= limit) return false;
        width = buckets(width, bucket_edges, bucket_rounds), bucket_edges = bucket_rounds = 0;
        for (bool next = true; t.waiting && !t.active; next = false) {
            const u64 waiting = (u64)FRESH(env.control + FAR);
            if (blockIdx.x == 0) clear(slot_of(tick + 1)); // the round that the bucket makes counts there
            if (!next) {
                slot = slot_of(tick);
                lowest_pass(slot, far_swapped, waiting, near);
                t = agree(true);
                slot = slot_of(tick - 1);
                if (t.late || t.lowest == 0) return false;
            }
            const i64 opened = (next ? near + 1 : t.lowest + FAR_BASE) + larger(width, 1ll) - 1;
            open_pass(slot_of(tick), swapped, far_swapped, waiting, near, opened, room.staging);
            barrier_all_gpus();
            turn();
            if (thread_rank() == 0) env.control[FAR] = FRESH(slot + FAR_TAIL);
            near = opened, far_swapped = !far_swapped;
            t = agree(false);
            if (t.late) return false;
        }
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
        return t.active && !is_broad(t);
    }

    __device__ i64 looks() const { return LIVE ? living.all : env.n; } // vertices of a round over all
    __device__ bool is_broad(const Totals& t) const { return t.active > most || t.edges > most; }
    __device__ i64 way(const Totals& t) const { return direction(PUSH, forced, t.active, active, t.edges, unexplored); }

    // Rounds of this rank alone, until none of its own vertices is active or others have waited long enough. Mirrors that
    // got proposals wait; vertices that are still active are part of the next round.
    __device__ void run_locally() {
        if (!LOCAL_ROUNDS || signal_peers.role) return;
        for (i64 k = 0; k < (PRIORITY ? MOST_LOCAL_IN_BUCKET : MOST_LOCAL) && listed(slot_of(tick), TAIL); k++) {
            turn();
            if (blockIdx.x == 0) clear(slot_of(tick + 1));
            walk();
            barrier_all_gpus();
        }
    }

    // The vertex phase; ``complete``: all blocks have met since the lists were written.
    __device__ bool applied(bool complete) {
        if (!APPLY || (KCORE_PEEL && !whole)) return complete;
        if (!complete) barrier_all_gpus();
        i64* now = slot_of(tick);
        if (!whole && look_up(room.counted, now)[TOUCHED_TAIL] == 0) return true;
        apply_pass(G, now, whole, swapped, living, room.staging, room.more);
        return false;
    }

    // The totals of the round before, where vertices are peeled: as long as any is, nothing but sums has changed by them.
    // Whether the round goes on, which ranks have begun: one that peels nobody passes over all.
    __device__ bool peels_on(const Totals& t) {
        living.all = t.lives;
        Globals next = G;
        with_shared(next);
        next.active = t.active;
        const Decision decision = step(next);
        const bool ends = t.stops || round + 1 >= limit || (decision.whole && looks() > WHOLE_ACROSS * ranks);
        if (decision.done || (t.active == 0 && ends)) return false;
        G = decision.G, whole = decision.whole;
        return true;
    }

    // After a round whose totals all wait for: whether the next one is begun here.
    __device__ bool continues(Totals& t) {
        if (t.late || t.stops || round + 1 >= limit) return false;
        if (t.active == 0 && ((AHEAD && !KCORE_PEEL) || PRIORITY) && !opens_buckets(t)) return false;
        Globals next = G;
        with_shared(next);
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
    if (is_over()) return;
    Across all = {{{room}, {}, room}};
    all.open(limit);
    bool pending = false, hurries = true; // totals are on their way; nothing speaks against walking ahead
    bool ends;                            // all know that the program does
    while (true) {
        all.since = all.tick;
        bool complete = true;
        const bool idle = KCORE_PEEL && all.active == 0; // all know that nobody has edges to walk
        if (!idle) {
            all.walk();
            if (!all.mailed()) all.barrier_all_gpus();
            all.forget();
            all.run_locally();
        }
        if (all.reduce.role && !idle) {
            complete = !all.takes(pending);
        } else if (pending) {
            all.gate.around([&]() { all.waiting += all.agreement.receive_from(room.totals, SUMS > 0); });
            all.share(true);
        }
        if (pending) {
            // Where nothing was active, nobody has walked or said anything since.
            Totals t = all.shared_totals();
            const bool quiet = t.active == 0;
            pending = false;
            const bool continues = !t.late && (KCORE_PEEL ? all.peels_on(t) : !quiet || all.opens_buckets(t));
            ends = all.ends(t);
            if (!continues) break;
            hurries = quiet || !(t.stops || all.is_broad(t) || all.way(t) == PULL);
            all.count_round(t);
            all.G.active = t.active;
            if (quiet && !KCORE_PEEL) {
                all.poll_peers();
                continue;
            }
        }
        complete = all.applied(complete);
        const bool ahead = hurries && !(KCORE_PEEL && all.whole) && all.round + 1 < all.limit &&
                           runs_ahead(all.G, all.forced, all.total, all.unexplored, all.most);
        if (ahead) {
            if (!complete) all.barrier_all_gpus();
            all.turn();
            if (blockIdx.x == 0 && warp_in_block() == TELLER) {
                fill_totals(room.totals, all.slot, all.stops(), all.lives(), lane_id(), 32);
                __syncwarp();
                all.agreement.post(room.totals, SUMS > 0, lane_id(), 32);
            } else {
                all.agreement.stamp++;
            }
            all.G.round += 1, pending = true;
        } else {
            all.slot = slot_of(all.tick);
            Totals t = all.agree(SUMS > 0 || LIVE);
            if (LIVE) all.living.all = t.lives;
            all.turn();
            if (LIVE && all.whole) all.living.turn(room.counted.word);
            const bool continues = all.continues(t);
            ends = all.ends(t);
            if (!continues) break;
            hurries = true;
        }
        if (blockIdx.x == 0) clear(slot_of(all.tick + 1));
        all.poll_peers();
    }
    all.close(ends);
}
