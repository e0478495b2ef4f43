// Rounds of estimates on all GPUs together, without the host: each runs its own until nothing falls there, agrees with the
// others, and tells them in short messages who fell. Ranks leave alike, behind rounds of their own: the host goes on with
// the agreement. See multi_gpu_rounds.cuh for what is waited for, and why mailboxes are not overwritten.

struct FallingRoom {
    EstimatesRoom estimates;
    Totalled totals;
};

struct FallingAcross {
    FallingRoom& room;
    Falling falling;
    Asked signal_peers;
    Gate gate;
    Agreement agreement;
    i64 number;
    u64 began;

    __device__ void open() {
        const i64* post = env.post;
        falling.open();
        signal_peers = parsed(KNOWN(post + POST_TELL));
        gate = {0, (u32)KNOWN(post + POST_GO), env.gate, (u32*)(env.post + POST_GO)};
        number = KNOWN(post + POST_NUMBER), agreement.stamp = KNOWN(post + POST_STAMP), began = NOW();
    }

    __device__ void close() const {
        falling.close();
        if (thread_rank() == 0) env.post[POST_NUMBER] = number, env.post[POST_STAMP] = agreement.stamp;
    }

    // All blocks, and in between the first alone.
    template <class F> __device__ void around(const F& work) {
        gate.due = falling.due;
        gate.around(work);
        falling.due = gate.due;
    }

    __device__ i64 total_here(int k) const {
        if (k == TOTAL_ACTIVES) return (i64)(falling.told + falling.fell + falling.again);
        if (k == TOTAL_DEGREES) return falling.edges();
        return k == TOTAL_STOPS && (falling.told > (u64)falling.few || NOW() - began > LOOK_AROUND);
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

    // Masters that fell to their mirrors; those that others told of wait behind the masters.
    __device__ void exchange() {
        const u64 start = NOW(), told = falling.told;
        number++;
        if (told) append(signal_peers, {env.queue0, told, env.queue0, 0}, number, falling.few);
        around([&]() {
            post_few(signal_peers, number);
            const u64 posted = NOW();
            all_received(number);
            if (threadIdx.x) return;
            env.post[POST_PACKING] += (i64)(posted - start), env.post[POST_WAITING] += (i64)(NOW() - posted);
        });
        falling.stamp = (u32)number + 1, falling.hears = true;
        if (FRESH(env.post + POST_LATE)) return;
        const u64 arrived = NOW();
        Front front;
        front.open(falling.room.staging.held[warp_in_block()][0], env.queue0, env.sums0, slot_of(0), TAIL);
        for (i64 p = 0; p < env.peer_count; p++)
            take_from<1>(signal_peers, peer_of(p), incoming_any(signal_peers, p, number, falling.few), front);
        front.close();
        falling.barrier_all_gpus();
        if (thread_rank() == 0) env.post[POST_UNPACKING] += (i64)(NOW() - arrived);
    }
};

// ``asked``: the round that is next; from bit MOST_TURNS on, how many there may be.
KERNEL estimate_across(i64 asked) {
    SHARED(FallingRoom, room);
    FallingAcross across = {room, {room.estimates}};
    across.open();
    i64 turn = asked & ((1ll << MOST_TURNS) - 1);
    const i64 end = turn + (asked >> MOST_TURNS);
    while (true) {
        across.falling.run(RING);
        const Totals t = across.agree();
        if (t.late || t.stops || t.active == 0 || turn + 1 >= end) break;
        Falling::figure(turn++, t.active, t.edges);
        across.exchange();
    }
    across.close();
    if (thread_rank() == 0) env.control[TURN] = turn;
}
