// Signals between kernels of several GPUs: a barrier of one GPU's blocks around work of the first block, short messages
// without a header, and an allreduce of round totals. All need peer access.

// Grid barrier in which the first block does ``work`` alone: it waits until all blocks have arrived, works, and lets
// them go on. A block that wrote into a peer's memory has fenced (``fence_block``) before.
struct Gate {
    u32 due, gone;
    u32 *arrived, *go;

    template <class F> __device__ void around(const F& work) {
        due += gridDim.x, gone++;
        __syncthreads();
        if (threadIdx.x == 0) ARRIVE(arrived);
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

// Message without a header, for lists too short to count first and for proposals sent one by one. It has offsets only,
// and the ready word has its count. Columns have space for ``most`` rows, limited to the number of positions, and for
// at least MAILED.
DEVICE Message few(const Asked& a, const Side& side, char* at, i64 many, i64 most) {
    const Span span = span_of(side, a.role);
    Message m;
    const i64 rows = larger(smaller(span.total(), most), (i64)MAILED);
    m.place(at, many ? OFFSETS : NOTHING, many, rows, span, a.fields, false);
    return m;
}

// Post short messages. By the first block. Local counters are written after the ready word, off the peers' critical
// path.
DEVICE void post_few(const Asked& a, i64 number) {
    for (i64 p = threadIdx.x; p < env.peer_count; p += BLOCK) {
        u64* word = peer_of(p).signal + signal_word(number);
        PeerState* post = post_of(p);
        const i64 many = FRESH(&post->counted);
        if (many == 0) {
            STORE_SYSTEM(word, signal_value(number, 0)); // relaxed: no data precede it
            continue;
        }
        RELEASE_SYSTEM(word, signal_value(number, many));
        post->counted = 0, post->sent_messages++;
        post->sent += padded(4 * many) + many * width_of(a.fields, false);
    }
}

// Wait for messages of all peers, by the last threads of the first block, while its first threads collect totals.
DEVICE void wait_for_messages(i64 number) {
    for (i64 p = BLOCK - 1 - threadIdx.x; p < env.peer_count; p += BLOCK) {
        const u64* word = peer_of(p).signals + signal_word(number);
        received(peer_of(p), [&]() { return ACQUIRE_SYSTEM(word) >> COUNT_BITS >= (u64)number; });
    }
}

// Message received from peer p, with a header or short.
DEVICE Message incoming_any(const Asked& a, i64 p, i64 number, i64 most) {
    const Peer& peer = peer_of(p);
    const i64 many = (i64)(FRESH(peer.signals + signal_word(number)) & COUNT_IN_HEAD);
    if (many == COUNT_IN_HEAD) return incoming(a, p, number);
    return few(a, a.arriving(peer), peer.inbox[number & 1], many, most);
}

// Append rows to short messages, K a lane, by whole warps. ``at[k]`` has the peer (below 0: no row) and the position;
// ``fill(k, columns, row)`` writes the values. A position outside the role is left out. Lanes that send to one peer
// reserve rows with one atomic. Returns true if this lane wrote any.
template <int K, class F> DEVICE bool send(const Asked& a, Place (&at)[K], i64 number, i64 most, const F& fill) {
    u32 same[K];
    u64 base[K];
    bool writes = false;
    for (int k = 0; k < K; k++) {
        if (at[k].p >= 0 && !span_of(a.leaving(peer_of(at[k].p)), a.role).holds(at[k].position)) at[k].p = -1;
        writes |= at[k].p >= 0;
    }
    if (!ballot(writes)) return false;
    for (int k = 0; k < K; k++) { // one atomic for each peer of the warp
        same[k] = alike((u64)at[k].p), base[k] = 0;
        const bool counts = at[k].p >= 0 && __ffs(same[k]) - 1 == (int)lane_id();
        if (counts) base[k] = atomicAdd((u64*)(&post_of(at[k].p)->counted), (u64)__popc(same[k]));
    }
    for (int k = 0; k < K; k++) {
        const i64 row = (i64)shuffle(base[k], __ffs(same[k]) - 1) + __popc(same[k] & ((1u << lane_id()) - 1));
        if (at[k].p < 0) continue;
        const Peer& peer = peer_of(at[k].p);
        const Message m = few(a, a.leaving(peer), peer.outbox[number & 1], 1, most);
        m.positions[row] = (u32)at[k].position;
        fill(k, m.values, row);
    }
    return writes;
}

// Append proposals of listed mirrors, and reset them.
DEVICE bool append_mirrors(const Asked& a, const ChangeLists& news, i64 number, i64 most) {
    bool wrote = false;
    for (u64 i = thread_rank(); i - lane_id() < news.count; i += ROWS_AT_ONCE * threads()) {
        Place at[ROWS_AT_ONCE];
        u32 v[ROWS_AT_ONCE];
        Row values[ROWS_AT_ONCE];
        for (int k = 0; k < ROWS_AT_ONCE; k++) {
            const u64 j = i + k * threads();
            at[k] = {-1, 0}, v[k] = j < news.count ? FRESH(news.list + j) : 0;
            if (j < news.count) at[k] = place_of_mirror(v[k]);
        }
        for (int k = 0; k < ROWS_AT_ONCE; k++)
            if (at[k].p >= 0) values[k] = row_of(a.fields, v[k]);
        wrote |= send(a, at, number, most, [&](int k, const Columns& columns, i64 row) {
            put_row(columns, a.fields, row, values[k]);
            reset(v[k]);
        });
    }
    return wrote;
}

// Append values of listed masters, for every peer that has a mirror of them.
DEVICE bool append_masters(const Asked& a, const ChangeLists& news, i64 number, i64 most) {
    bool wrote = false;
    for (u64 i = thread_rank(); i - lane_id() < news.count; i += threads()) {
        const bool mine = i < news.count;
        const u32 v = mine ? FRESH(news.list + i) : 0, last = mine ? env.mirror_slot_offsets[v + 1] : 0;
        for (u32 e = mine ? env.mirror_slot_offsets[v] : 0; ballot(e < last); e++) {
            Place at[1] = {{-1, 0}};
            if (e < last) at[0] = place_of_slot(env.mirror_slots[e]);
            wrote |= send(a, at, number, most, [&](int, const Columns& columns, i64 row) {
                put_row(columns, a.fields, row, row_of(a.fields, v));
            });
        }
    }
    return wrote;
}

APART void append(Asked a, ChangeLists news, i64 number, i64 most) {
    fence_block(a.reduces ? append_mirrors(a, news, number, most) : append_masters(a, news, number, most));
}

#if MULTI_GPU
template <int K>
DEVICE bool send_mirrors(const bool (&hit)[K], const u32 (&v)[K], const Proposal (&p)[K], i64 number) {
    bool any = false;
    for (int k = 0; k < K; k++) any |= hit[k];
    if (!ballot(any)) return false;
    Place at[K];
    for (int k = 0; k < K; k++) {
        at[k] = {-1, 0};
        if (hit[k]) at[k] = place_of_mirror(v[k]);
    }
    const Asked a = parsed(env.post->reduce);
    return send(a, at, number, env.post->offset_limit, [&](int k, const Columns& columns, i64 row) {
        put_proposal(columns, a.fields, row, p[k]);
    });
}
#endif

// Totals over all ranks. ``lowest`` is valid only where no vertex is active, ``lives`` where LIVE.
struct Totals {
    i64 active, edges, stops, waiting, lowest, lives;
    bool late;
};

DEVICE Totals totals_in(const i64* t, bool late) {
    return {FRESH(t + TOTAL_ACTIVES), FRESH(t + TOTAL_DEGREES), FRESH(t + TOTAL_STOPS), FRESH(t + TOTAL_WAITING),
            FRESH(t + TOTAL_LOWEST), FRESH(t + TOTAL_LIVES), late};
}
DEVICE Totals totals_now() { return totals_in(env.post->totals, FRESH(&env.post->stalled) != 0); }

// This rank's totals and those of all ranks. Sums of floats follow in ``mine`` as bits; each rank adds them in rank
// order.
struct Totalled {
    i64 mine[TOTAL_SUMS + SUMS + FLOAT_SUMS];
    i64 all[TOTAL_SUMS + SUMS];
};

// Allreduce of totals between GPUs, by the first block. Few words (of ``whole``: all) travel without ordering: each has
// the number of the agreement in its lowest bits. A whole set follows its number word by release and acquire.
struct Agreement {
    i64 stamp;

    __device__ u32 place() const { return SIGNAL_TOTALS + TOTALS_WORDS * (u32)(stamp & 1); }
    __device__ u64 low() const { return (u64)stamp & ((1 << STAMP_BITS) - 1); }
    __device__ u32 jobs(bool whole) const { return (u32)env.others * (whole ? 1 : TOTAL_LIGHT); }

    __device__ void post_light(const Peer& peer, int k, i64 x) const {
        STORE_SYSTEM(peer.signal + place() + k, (u64)x << STAMP_BITS | low());
    }

    // Receive one short word; false if it did not come in time.
    __device__ bool receive_short(const Peer& peer, int k, i64& x) const {
        const u64* word = peer.signals + place() + k;
        u64 got = 0;
        const bool came = received(peer, [&]() { return ((got = ACQUIRE_SYSTEM(word)) & ((1 << STAMP_BITS) - 1)) == low(); });
        x = (i64)got >> STAMP_BITS;
        return came;
    }

    // Send one 64-bit value to all other ranks, in two halves; ``receive_value`` returns the p-th rank's, or 0 on
    // timeout. By a warp.
    __device__ void post_value(i64 x) {
        stamp++;
        for (i64 p = lane_id(); p < env.others; p += 32)
            post_light(peer_of(p), 0, (u32)x), post_light(peer_of(p), 1, x >> 32);
    }

    __device__ i64 receive_value(i64 p) const {
        i64 lower, upper;
        const bool came = receive_short(peer_of(p), 0, lower) && receive_short(peer_of(p), 1, upper);
        return came ? (i64)((u64)upper << 32 | (u32)lower) : 0;
    }

    // Send this rank's totals to all others, by ``step`` threads, this one the ``at``-th.
    __device__ void post(const Totalled& t, bool whole, u32 at = threadIdx.x, u32 step = BLOCK) {
        stamp++;
        for (u32 i = at; i < jobs(whole); i += step) {
            if (!whole) {
                const int k = (int)(i % TOTAL_LIGHT);
                post_light(peer_of(i / TOTAL_LIGHT), k, t.mine[k]);
                continue;
            }
            u64* words = peer_of(i).signal + place();
            for (int j = 0; j < TOTAL_SUMS + SUMS + FLOAT_SUMS; j++) words[TOTAL_LIGHT + 1 + j] = (u64)t.mine[j];
            RELEASE_SYSTEM(words + TOTAL_LIGHT, (u64)stamp);
        }
    }

    __device__ void begin(Totalled& t) const {
        for (int k = threadIdx.x; k < TOTAL_SUMS + SUMS; k += BLOCK) t.all[k] = t.mine[k];
        __syncthreads();
    }

    __device__ void collect(Totalled& t, bool whole) const {
        for (u32 i = threadIdx.x; i < jobs(whole); i += BLOCK) {
            if (!whole) {
                const int k = (int)(i % TOTAL_LIGHT);
                i64 x;
                if (receive_short(peer_of(i / TOTAL_LIGHT), k, x)) count(t.all + k, x);
                continue;
            }
            const Peer& peer = peer_of(i);
            const u64* words = peer.signals + place();
            if (!received(peer, [&]() { return ACQUIRE_SYSTEM(words + TOTAL_LIGHT) >= (u64)stamp; })) continue;
            i64 x[TOTAL_SUMS + SUMS]; // loads in flight at once
            for (int j = 0; j < TOTAL_SUMS + SUMS; j++) x[j] = (i64)FRESH(words + TOTAL_LIGHT + 1 + j);
            for (int j = 0; j < TOTAL_SUMS + SUMS; j++) {
                if (j == TOTAL_LOWEST) atomicMin(t.all + j, x[j]);
                else if (MINIMA && j >= TOTAL_SUMS + ADDED) count_least(t.all + j, x[j]);
                else count(t.all + j, x[j]);
            }
        }
    }

    // Store the totals in ``env.post`` for all blocks of this GPU.
    __device__ void keep(const Totalled& t) const {
        __syncthreads();
        for (int k = threadIdx.x; k < TOTAL_SUMS + SUMS; k += BLOCK)
            env.post->totals[k < TOTAL_SUMS ? k : TOTAL_SUMS + 8 * (k - TOTAL_SUMS)] = t.all[k];
    }

    // Receive and combine the totals of all ranks; returns the nanoseconds that took.
    __device__ i64 receive_from(Totalled& t, bool whole) const {
        const u64 began = NOW();
        begin(t), collect(t, whole), keep(t);
        return (i64)(NOW() - began);
    }

    // Word k of the p-th other rank's whole set, once it was received.
    __device__ u64 word_of(i64 p, int k) const { return FRESH(peer_of(p).signals + place() + TOTAL_LIGHT + 1 + k); }

    // Sum of floats over ranks, in rank order, so that all ranks get the same bits; once all whole sets were received.
    __device__ double float_sum(const Totalled& t, int i) const {
        const int k = TOTAL_SUMS + SUMS + i;
        double all = 0;
        for (i64 rank = 0; rank <= env.others; rank++) {
            i64 p = 0;
            while (p < env.others && peer_of(p).rank != rank) p++;
            all += value_of(p < env.others ? word_of(p, k) : (u64)t.mine[k]);
        }
        return all;
    }
};
