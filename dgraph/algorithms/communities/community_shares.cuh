// Rows shared out to GPUs that each hold all of them. A GPU folds the rows of its own vertices (``is_own``), and has their
// bounds and marks. Movers are sent to all GPUs, which move the same totals and labels; marks follow at the end of a round. So
// every GPU counts the same rows, and takes the same decisions. Kernels write into the peers' memory, and wait for each other.

// All GPUs meet: what they wrote into each other's mailboxes can be read behind it. Each sends ``word``, to which those of the others
// are added, if ``adds``; else it is the number of movers, and set to 0. False on timeout, or if these are too many. By all blocks.
DEVICE bool meet_peers(u64* word, bool adds, i64 number, u32& due) {
    const u32 place = 2 * (u32)(number & 1);
    grid_barrier(env.gate, due);
    if (blockIdx.x == 0) {
        const u64 mine = FRESH(word);
        __syncthreads();
        if (threadIdx.x == 0 && !adds) *word = 0;
        if ((i64)threadIdx.x < env.gpus - 1) {
            const Peer& peer = env.peers[threadIdx.x];
            const u64 *theirs = peer.signals + place, began = NOW();
            STORE_SYSTEM(peer.signal + place + 1, mine);
            RELEASE_SYSTEM(peer.signal + place, (u64)number);
            bool came = false;
            for (u32 looks = 1; !(came = ACQUIRE_SYSTEM(theirs) >= (u64)number); looks++) {
                WAIT_FOR_PEER();
                if (looks % 64 == 0 && NOW() - began > (u64)env.peer_timeout) break;
            }
            if (!came) atomicMax(env.results + STALLED, (u64)1);
            else if (adds) atomicAdd(word, ACQUIRE_SYSTEM(theirs + 1));
            else if (larger(mine, ACQUIRE_SYSTEM(theirs + 1)) > (u64)env.most_sent) atomicMax(env.results + STALLED, (u64)2);
        }
    }
    grid_barrier(env.gate, due);
    return !FRESH(env.results + STALLED);
}

DEVICE void end_own_lists() {
    for (u64 i = thread_rank(); i < COUNTS; i += threads()) env.owned[i] = 0;
}

// Send the own vertices of a sub-round whose proposal is not their label to all GPUs, and take those of the others; mark these in
// balanced rounds, which may take back their moves. By all blocks; ends with a grid barrier.
DEVICE bool exchange_movers(const Lists& lists, int group, const u32* labels, i64 number, u32& due) {
    const int side = (int)(number & 1);
    bool wrote = false;
    const u64* start = lists.start + group * CLASSES;
    u64 count[CLASSES], all = 0; // own rows of each list
    for (int k = 0; k < CLASSES; k++) all += count[k] = rows_end(lists, group * CLASSES + k) - start[k];
    for (u64 i = thread_rank(); i - lane_id() < all; i += threads()) {
        u64 place = i;
        int k = 0;
        for (; k < CLASSES - 1 && place >= count[k]; k++) place -= count[k];
        const u32 v = i < all ? FRESH(env.listed + start[k] + place) : 0;
        const u32 old = i < all ? FRESH(labels + v) : NONE, taken = i < all ? FRESH(env.proposed + v) : NONE;
        const u32 lanes = ballot(old != taken);
        if (!lanes) continue;
        place = lane_id() == 0 ? atomicAdd(env.sent, (u64)__popc(lanes)) : 0;
        place = shuffle(place, 0) + __popc(lanes & ((1u << lane_id()) - 1));
        if (old == taken || place >= (u64)env.most_sent) continue;
        const Mover mover = {v, taken, env.balanced ? FRESH(env.crossed + v) : 0};
        for (i64 p = 0; p < env.gpus - 1; p++) ((Mover*)env.peers[p].outbox[side])[place] = mover;
        wrote = true;
    }
    fence_block(wrote);
    if (!meet_peers(env.sent, false, number, due)) return false;
    for (i64 p = 0; p < env.gpus - 1; p++) {
        const Mover* movers = (const Mover*)env.peers[p].inbox[side];
        const u64 count = FRESH(env.peers[p].signals + 2 * side + 1);
        for (u64 i = thread_rank(); i < count; i += threads()) {
            const u32 v = FRESH(&movers[i].v);
            env.proposed[v] = FRESH(&movers[i].label);
            if (env.balanced) env.active[v] = MOVING, env.crossed[v] = FRESH(&movers[i].margin);
        }
    }
    grid_barrier(env.gate, due);
    return true;
}

// Words of bits, 32 a warp: ``f(first word, count)``.
template <class F> DEVICE void each_words(u64 words, const F& f) {
    for (u64 i = 32 * warp_rank(); i < words; i += 32 * warps()) f(i, (u32)smaller(words - i, (u64)32));
}

// Send the marks of own active vertices to all GPUs, take those of the others, and add up a word of ``results`` over all GPUs. Ends
// the lists of own rows. By all blocks; ends with a grid barrier.
DEVICE bool exchange_active(u32 word, i64 number, u32& due) {
    const int side = (int)(number & 1);
    const u64 words = ((u64)env.n + 31) / 32;
    each_words(words, [&](u64 first, u32 count) {
        u32 mine = 0;
        for (u32 k = 0; k < count; k += AT_ONCE) {
            bool marked[AT_ONCE];
            for (u32 i = 0; i < AT_ONCE; i++) {
                const u64 v = 32 * (first + k + i) + lane_id();
                marked[i] = v < (u64)env.n && is_own((u32)v) && (FRESH(env.active + v) & ACTIVE);
            }
            for (u32 i = 0; i < AT_ONCE; i++) {
                const u32 marks = ballot(marked[i]);
                if (lane_id() == k + i) mine = marks;
            }
        }
        for (i64 p = 0; p < env.gpus - 1; p++)
            if (lane_id() < count) ((u32*)env.peers[p].outbox[side])[first + lane_id()] = mine;
    });
    fence_block(true);
    if (!meet_peers(env.results + word, true, number, due)) return false;
    each_words(words, [&](u64 first, u32 count) {
        u32 theirs = 0;
        for (i64 p = 0; p < env.gpus - 1; p++)
            if (lane_id() < count) theirs |= FRESH((const u32*)env.peers[p].inbox[side] + first + lane_id());
        for (u32 k = 0; k < count; k++) {
            const u64 v = 32 * (first + k) + lane_id();
            const u32 marks = shuffle(theirs, k);
            if (v < (u64)env.n && !is_own((u32)v)) env.active[v] = marks >> lane_id() & 1 ? ACTIVE : 0;
        }
    });
    end_own_lists();
    grid_barrier(env.gate, due);
    return true;
}
