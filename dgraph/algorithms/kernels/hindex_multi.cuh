// Rounds of H-index estimates on all GPUs together, without the host. Each rank runs its own rounds until none falls,
// joins an allreduce, and broadcasts lowered masters in short messages. All ranks return together, behind rounds of
// their own; the host then takes over at the allreduce. For waiting and the reuse of mailboxes see multi_gpu_rounds.cuh
// and messages.cuh.

struct HindexMultiRoom {
    HindexRoom estimates;
    Totalled totals;
};

struct HindexMultiRank {
    HindexMultiRoom& room;
    HindexRank rank;
    Asked broadcast;
    Gate gate;
    Agreement agreement;
    i64 number;
    u64 began;

    __device__ void open() {
        const i64* post = env.post;
        rank.open();
        broadcast = parsed(KNOWN(post + POST_BROADCAST));
        gate = {0, (u32)KNOWN(post + POST_RELEASES), env.gate, (u32*)(env.post + POST_RELEASES)};
        number = KNOWN(post + POST_NUMBER), agreement.stamp = KNOWN(post + POST_STAMP), began = NOW();
    }

    __device__ void close() const {
        rank.close();
        if (thread_rank() == 0) env.post[POST_NUMBER] = number, env.post[POST_STAMP] = agreement.stamp;
    }

    // Grid barrier with ``work`` done by the first block alone.
    template <class F> __device__ void around(const F& work) {
        gate.due = rank.due;
        gate.around(work);
        rank.due = gate.due;
    }

    __device__ i64 total_here(int k) const {
        if (k == TOTAL_ACTIVES) return (i64)(rank.to_send + rank.fell + rank.again);
        if (k == TOTAL_DEGREES) return rank.edges();
        return k == TOTAL_STOPS && (rank.to_send > (u64)rank.few || NOW() - began > HOST_CHECK_TIME);
    }

    __device__ Totals agree() {
        around([&]() {
            for (int k = threadIdx.x; k < TOTAL_SUMS + SUMS; k += BLOCK) room.totals.mine[k] = total_here(k);
            __syncthreads();
            agreement.post(room.totals, false);
            agreement.receive_from(room.totals, false);
        });
        if (blockIdx.x) agreement.stamp++;
        return totals_now();
    }

    // Broadcast lowered masters to their mirrors; received mirrors are queued behind the masters.
    __device__ void exchange() {
        const u64 start = NOW(), to_send = rank.to_send;
        number++;
        if (to_send) append(broadcast, {env.queue0, to_send, env.queue0, 0}, number, rank.few);
        around([&]() {
            post_few(broadcast, number);
            const u64 posted = NOW();
            all_received(number);
            if (threadIdx.x) return;
            env.post[POST_PACKING] += (i64)(posted - start), env.post[POST_WAITING] += (i64)(NOW() - posted);
        });
        rank.stamp = (u32)number + 1, rank.has_received = true;
        if (FRESH(env.post + POST_STALLED)) return;
        const u64 arrived = NOW();
        Front front;
        front.open(rank.room.staging.held[warp_in_block()][0], env.queue0, env.sums0, slot_of(0), TAIL);
        for (i64 p = 0; p < env.peer_count; p++)
            take_from<1>(broadcast, peer_of(p), incoming_any(broadcast, p, number, rank.few), front);
        front.close();
        rank.barrier_all_gpus();
        if (thread_rank() == 0) env.post[POST_UNPACKING] += (i64)(NOW() - arrived);
    }
};

// ``asked``: the next round; from bit MOST_TURNS on, the most rounds. All blocks are resident, since there are grid
// barriers.
KERNEL estimate_across(i64 asked) {
    SHARED(HindexMultiRoom, room);
    HindexMultiRank across = {room, {room.estimates}};
    across.open();
    i64 turn = asked & ((1ll << MOST_TURNS) - 1);
    const i64 end = turn + (asked >> MOST_TURNS);
    while (true) {
        across.rank.run(RING);
        const Totals t = across.agree();
        if (t.late || t.stops || t.active == 0 || turn + 1 >= end) break;
        HindexRank::figure(turn++, t.active, t.edges);
        across.exchange();
    }
    across.close();
    if (thread_rank() == 0) env.control[TURN] = turn;
}
