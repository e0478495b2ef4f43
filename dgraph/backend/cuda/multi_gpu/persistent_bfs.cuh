// Direction-optimising search of all GPUs in one launch: push and pull rounds, small and large. For programs in which a
// vertex is reached once and its value is the same from every neighbour, so that only newly reached vertices are sent.
//    [Beamer et al., SC 2012: direction-optimising BFS]
//
// A push frontier is a list, a pull frontier a bitmap. A round is: its edges; a reduce of hits on mirrors to their
// owners; an allreduce, which decides the next direction; a broadcast of newly reached masters to those mirrors that
// the direction needs. ``env.seen`` has a bit for every vertex known to be reached: all such masters, some such
// mirrors.

// Messages of one rank, and its sequence of rounds.
struct PersistentBfs : BfsRank {
    // Post the messages that all blocks have written, as bits or as positions, and wait for all peers, by the first
    // block. Returns false if a peer did not answer.
    __device__ bool exchange(const Asked& a, bool as_bits, u64 start) {
        gate.around([&]() {
            if (as_bits) post_bits(a, number);
            else post_few(a, number);
            const u64 posted = NOW();
            wait_for_messages(number);
            __syncthreads();
            packing += (i64)(posted - start), waiting += (i64)(NOW() - posted);
        });
        return !FRESH(&env.post->stalled);
    }

    // Reduce: send hits on mirrors to their masters.
    __device__ void reduce() {
        const Asked a = reduces(mode);
        if (!a.role) return;
        barrier_all_gpus();
        const u64 start = NOW();
        const u64 listed_now = mode == PUSH ? (u64)FRESH(slot_of(tick) + MIRROR_TAIL) : 0;
        const bool as_bits = mode == PULL || listed_now > (u64)most_few;
        number++;
        if (as_bits && mode == PUSH) {
            const u64 words = ((u64)env.rows + 31) / 32;
            for (u64 i = env.masters / 32 + thread_rank(); i < words; i += threads()) env.hits[i] = 0;
            barrier_all_gpus();
            set_listed(env.hits, env.mirrors, listed_now);
            barrier_all_gpus();
        }
        if (as_bits) write_mirrors(a, env.hits, number);
        else append(a, {env.mirrors, listed_now, (const u32*)0, 0}, number, most_few);
        if (!exchange(a, as_bits, start)) return;
        const u64 came = NOW();
        u32* next = next_bits();
        i64 awake = 0, degrees = 0;
        Front front;
        open_list(front, true, slot_of(tick));
        for (i64 p = 0; p < env.peer_count; p++)
            each_labelled(room.named, a, p, number, most_few, [&](const bool* named, const i64* position, int many) {
                bool mine[NAMED_AT_ONCE];
                u32 v[NAMED_AT_ONCE];
                for (int k = 0; k < many; k++) mine[k] = named[k], v[k] = mine[k] ? peer_of(p).lids[position[k]] : 0;
                keep_unseen(mine, v, many);
                for (int k = 0; k < many; k++) {
                    if (mine[k]) put(v[k], propose(G, Source(), (weight_t)1, v[k]));
                    if (mode == PUSH) {
                        front.add(mine[k], v[k]);
                    } else if (mine[k]) {
                        atomicOr(next + (v[k] >> 5), 1u << (v[k] & 31));
                        awake++, degrees += degree_of(v[k]);
                    }
                }
            });
        if (mode == PUSH) front.close();
        else count_awake(slot_of(tick), awake, degrees, room.awake);
        unpacking += (i64)(NOW() - came);
    }

    // Broadcast: send newly reached masters to the mirrors that the next round needs. Those mirrors are marked as seen,
    // so no hit on them is sent back.
    __device__ void broadcast() {
        const Asked a = broadcasts(mode);
        if (!a.role) return;
        const u64 start = NOW();
        const bool as_bits = mode == PULL || active > most_few;
        const ChangeLists news = {queue(), (u64)active, queue(), (u64)active};
        number++;
        if (as_bits && mode == PUSH) mark_active(news, false), barrier_all_gpus();
        if (mode == PULL && is_listed && active <= env.masters / LISTED_SHARE)
            write_listed(a, queue(), (u64)active, number, gate.due);
        else if (as_bits) write_masters(a, mode == PULL ? bits() : env.awake, number);
        else append(a, news, number, most_few);
        const bool all_came = exchange(a, as_bits, start);
        const u64 came = NOW();
        if (as_bits && mode == PUSH) mark_active(news, true);
        if (!all_came) return;
        if (mode == PULL) {
            const i64 words = (env.rows + 31) / 32;
            for (i64 i = env.masters / 32 + (i64)thread_rank(); i < words; i += (i64)threads()) {
                const u32 word = mirrors_labelled(a, number, i);
                bits()[i] = (FRESH(bits() + i) & masters_in((u64)i)) | word;
                if (word) env.seen[i] |= word;
            }
        } else {
            Front front;
            open_list(front, false, slot);
            for (i64 p = 0; p < env.peer_count; p++)
                each_labelled(room.named, a, p, number, most_few, [&](const bool* mine, const i64* position, int many) {
                    for (int k = 0; k < many; k++) {
                        const u32 v = mine[k] ? (u32)(peer_of(p).first + position[k]) : 0;
                        if (mine[k]) atomicOr(env.seen + (v >> 5), 1u << (v & 31));
                        front.add(mine[k], v);
                    }
                });
            front.close();
        }
        barrier_all_gpus();
        if (mode == PUSH) look();
        unpacking += (i64)(NOW() - came);
    }

    // Allreduce of the round's totals.
    __device__ Totals agree() {
        gate.around([&]() {
            const i64* now = slot_of(tick);
            for (int k = threadIdx.x; k < TOTAL_SUMS; k += BLOCK)
                room.totals.mine[k] = k == TOTAL_ACTIVES ? (mode == PULL ? FRESH(now + AWAKE) : (i64)listed(now, TAIL))
                                      : k == TOTAL_DEGREES ? edges_found()
                                      : k == TOTAL_STOPS ? (i64)(NOW() - began > HOST_CHECK_TIME) : 0;
            __syncthreads();
            agreement.post(room.totals, false);
            const i64 waited = agreement.receive_from(room.totals, false);
            if (threadIdx.x == 0) waiting += waited;
        });
        if (blockIdx.x) agreement.stamp++;
        return totals_now();
    }

    // Make the reached vertices the frontier.
    __device__ void advance() {
        const i64* now = slot_of(tick);
        active = mode == PULL ? FRESH(now + AWAKE) : (i64)listed(now, TAIL), edges = edges_found();
        if (mode == PUSH) {
            turn();
            return;
        }
        slot = slot_of(tick++), bits_swapped = !bits_swapped, queued = local_edges = 0;
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
    }

    // Decide as ``end_round`` does whether the next round begins here; if not, ``end_round`` finds the state that it
    // expects.
    __device__ bool continues(const Totals& t) {
        const Decision decision = decided(G, t.active);
        const i64 was_mode = mode, next_mode = direction(mode, forced, t.active, total_active, t.edges, unexplored);
        small = next_mode == PUSH && t.active <= most && t.edges <= most ? small + 1 : 0;
        was_large |= small == 0;
        leaves = t.late || t.stops || round + 1 >= limit || decision.done, ends = decision.done && !t.late;
        const bool few = t.edges <= MAILED * (env.others + 1); // in a large frontier most edges end at seen vertices, which only this kernel skips
        if (leaves || small > (small_kernel_follows && was_large && few ? 0 : SMALL_IN_A_ROW)) {
            if (mode == PULL && active) bits_to_list();
            if (ends) G = decision.G;
            return false;
        }
        if (thread_rank() == 0) log_round(*this, 0);
        next_round(*this, t.active, t.edges, next_mode);
        G = decision.G;
        if (mode == PUSH && was_mode == PULL) bits_to_list();
        is_listed = mode == PULL && was_mode == PUSH;
        if (is_listed) list_to_bits(active);
        return true;
    }
};

// ``limit``: the round to stop before. All blocks are resident, since they use grid barriers.
KERNEL_OF(PERSISTENT_BFS) persistent_bfs(i64 limit) {
    SHARED(BfsRoom, room);
    if (is_over()) return;
    PersistentBfs all = {{{}, room}};
    all.open(limit);
    while (true) {
        if (all.mode == PULL) all.pull();
        else all.push();
        all.reduce();
        const Totals t = all.agree();
        all.advance();
        if (!all.continues(t)) break;
        all.broadcast();
    }
    all.close();
}
