// Persistent multi-GPU kernel: small push rounds of all GPUs in one launch on each, without the host. Each rank
// processes its frontier's edges, writes messages into the peers' memory and reduces the totals with them.
//
// A round ends with an allreduce of totals, after which all ranks go on or return together. Where a program runs as
// long as any vertex is active, a rank processes the next round's edges while the totals travel. A round then
// waits for other GPUs once, for their messages. Ranks return behind a round whose successor's edges no rank has
// processed, so the host finds every rank behind its vertex phase.

// Warp of the first block that posts this rank's totals while the other warps begin the next round.
#define POSTING_WARP (BLOCK / 32 - 1)

// True if a rank may process the next round's edges before it knows the totals. ``edges`` is the frontier before; the
// next is assumed to be at most 8 times larger (KCORE_PEEL: not larger) and must still be small.
DEVICE bool runs_ahead(const Globals& G, i64 forced, i64 edges, i64 unexplored, i64 most) {
    const i64 grown = (KCORE_PEEL ? 1 : 8) * edges;
    return (KCORE_PEEL || env.ends_on_empty) && grown <= most && direction(PUSH, forced, 1, 1, grown, unexplored) == PUSH && !decided(G, 1).done;
}

// Sequence of rounds of one rank.
struct MultiGpuRounds : WalkingRank {
    // True if the program ends after a round with these totals, where that needs no ``step``.
    __device__ bool ends(const Totals& t) const { return env.ends_on_empty && !t.late && !t.active && !t.waiting; }

    // Open the next bucket if no vertex is active; if it is empty on all ranks, their lowest one. Returns true if the
    // round can go on here: not where totals have sums, which those of the bucket would replace, nor where mirrors of
    // waiting vertices have old values. Collective.
    __device__ bool opens_buckets(Totals& t) {
        if (!PRIORITY || SUMS || DIRTY || !t.waiting || t.stops || t.late || round + 1 >= limit) return false;
        width = buckets(width, bucket_edges, bucket_rounds), bucket_edges = bucket_rounds = 0;
        for (bool next = true; t.waiting && !t.active; next = false) {
            const u64 waiting = (u64)FRESH(&env.control->far);
            if (blockIdx.x == 0) clear(slot_of(tick + 1)); // counters of the round that the bucket begins
            if (!next) {
                slot = slot_of(tick);
                lowest_pass(slot, far_swapped, waiting, bucket);
                t = agree(true);
                slot = slot_of(tick - 1);
                if (t.late || t.lowest == 0) return false;
            }
            const i64 opened = (next ? bucket + 1 : t.lowest + FAR_BASE) + larger(width, 1ll) - 1;
            open_pass(slot_of(tick), swapped, far_swapped, waiting, bucket, opened, room.staging);
            barrier_all_gpus();
            turn();
            if (thread_rank() == 0) env.control->far = FRESH(slot + FAR_TAIL);
            bucket = G.bucket = opened, far_swapped = !far_swapped;
            t = agree(false);
            if (t.late) return false;
        }
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
        return t.active && !is_large(t);
    }

    __device__ i64 vertices_visited() const { return LIVE ? living.all : env.n; } // vertices of a round over all
    __device__ bool is_large(const Totals& t) const { return t.active > most || t.edges > most; }
    __device__ i64 next_direction(const Totals& t) const { return direction(PUSH, forced, t.active, total_active, t.edges, unexplored); }

    // Run rounds of this rank alone, until its frontier is empty or a limit is reached. Proposals to mirrors are kept
    // for the exchange; remaining active vertices are part of the next round.
    __device__ void run_locally() {
        if (!LOCAL_ROUNDS || broadcast.role) return;
        for (i64 k = 0; k < (PRIORITY ? MOST_LOCAL_IN_BUCKET : MOST_LOCAL) && listed(slot_of(tick), TAIL); k++) {
            turn();
            if (blockIdx.x == 0) clear(slot_of(tick + 1));
            walk();
            barrier_all_gpus();
        }
    }

    // Vertex phase. ``complete``: a grid barrier has followed the last write to the lists. Returns the same for its own
    // writes.
    __device__ bool applied(bool complete) {
        if (!APPLY || (KCORE_PEEL && !whole)) return complete;
        if (!complete) barrier_all_gpus();
        i64* now = slot_of(tick);
        if (!whole && look_up(room.counted, now)[TOUCHED_TAIL] == 0) return true;
        apply_pass(G, now, whole, swapped, far_swapped, living, room.staging, room.more);
        return false;
    }

    // Read the totals of the round before, which arrive late where vertices are peeled. While any vertex is peeled only
    // sums change. Returns true if the round that ranks have started goes on; a round that peels none passes over all
    // live vertices.
    __device__ bool peeling_continues(const Totals& t) {
        living.all = t.lives;
        Globals next = G;
        with_shared(next);
        const Decision decision = decided(next, t.active, 0);
        const bool ends = t.stops || round + 1 >= limit || (decision.whole && vertices_visited() > WHOLE_MULTI_GPU * ranks);
        if (decision.done || (t.active == 0 && ends)) return false;
        G = decision.G, whole = decision.whole;
        return true;
    }

    // Return true if the next round begins here, after a round whose totals all ranks have.
    __device__ bool continues(Totals& t) {
        if (t.late || t.stops || round + 1 >= limit) return false;
        if (t.active == 0 && (env.ends_on_empty || PRIORITY) && !opens_buckets(t)) return false;
        Globals next = G;
        with_shared(next);
        const Decision decision = decided(next, t.active);
        if (decision.done || next_direction(t) == PULL || is_large(t) || (decision.whole && vertices_visited() > WHOLE_MULTI_GPU * ranks))
            return false;
        count_round(t);
        G = decision.G, whole = decision.whole;
        return true;
    }
};

// ``limit``: the round to stop before. All blocks are resident, since they use grid barriers.
KERNEL_OF(1) multi_gpu_rounds(i64 limit) {
    SHARED(MultiGpuRoom, room);
    if (is_over()) return;
    MultiGpuRounds all = {{{{room}, {}, {}, room}}};
    all.open(limit);
    bool pending = false, may_run_ahead = true; // totals are in flight; the next round may be processed ahead
    bool ends;                            // the program ends, known to all ranks
    while (true) {
        all.since = all.tick;
        bool complete = true;
        const bool idle = KCORE_PEEL && all.total_active == 0; // no rank has edges to process, known to all ranks
        if (!idle) {
            all.walk();
            if (!all.mailed()) all.barrier_all_gpus();
            all.forget();
            all.run_locally();
        }
        if (all.reduce.role && !idle) {
            complete = !all.reduce_mirrors(pending);
        } else if (pending) {
            all.gate.around([&]() { all.waiting += all.agreement.receive_from(room.totals, SUMS > 0); });
            all.share(true);
        }
        if (pending) {
            // If no vertex was active, no rank has processed edges or sent messages since.
            Totals t = all.shared_totals();
            const bool quiet = t.active == 0;
            pending = false;
            const bool continues = !t.late && (KCORE_PEEL ? all.peeling_continues(t) : !quiet || all.opens_buckets(t));
            ends = all.ends(t);
            if (!continues) break;
            may_run_ahead = quiet || !(t.stops || all.is_large(t) || all.next_direction(t) == PULL);
            all.count_round(t);
            all.G.active = t.active;
            if (quiet && !KCORE_PEEL) {
                all.broadcast_frontier();
                continue;
            }
        }
        complete = all.applied(complete);
        const bool ahead = may_run_ahead && !(KCORE_PEEL && all.whole) && all.round + 1 < all.limit &&
                           runs_ahead(all.G, all.forced, all.total_edges, all.unexplored, all.most);
        if (ahead) {
            if (!complete) all.barrier_all_gpus();
            all.turn();
            if (blockIdx.x == 0 && warp_in_block() == POSTING_WARP) {
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
            may_run_ahead = true;
        }
        if (blockIdx.x == 0) clear(slot_of(all.tick + 1));
        all.broadcast_frontier();
    }
    all.close(ends);
}
