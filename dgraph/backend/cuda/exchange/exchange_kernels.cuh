// One exchange: ``pack`` for all peers, ``unpack`` from all. Between kernels of GPUs that reach each other no host is
// needed: ``pack`` posts, ``unpack`` waits. All blocks of either run at once.

DEVICE News changes_now(const Asked& a) {
    const i64* c = env.control;
    const u32* queue = is(SWAPPED) ? env.queue1 : env.queue0;
    const u64 active = (u64)KNOWN(c + ACTIVE);
    if (a.reduces) return {env.mirrors, (u64)FRESH(slot_now() + MIRROR_TAIL), queue, active};
    return {DIRTY ? env.dirty : queue, DIRTY ? (u64)KNOWN(c + DIRTIED) : active, queue, active};
}

KERNEL pack(i64 asked) {
    SHARED(PackRoom, room);
    if (is_over()) return;
    const u64 began = NOW();
    const Asked a = parsed(asked);
    const News news = changes_now(a);
    const i64 number = KNOWN(env.post + POST_NUMBER) + 1;
    u32 due = pack_all(a, news, number, (u32)KNOWN(env.control + GATE), room);
    grid_barrier(env.gate, due);
    if (!a.failed && a.marked) mark_active(news, true);
    if (blockIdx.x) return;
    post_all(a, number);
    __syncthreads();
    if (threadIdx.x) return;
    env.control[GATE] = due, env.post[POST_NUMBER] = number, env.post[POST_PACKING] += (i64)(NOW() - began);
}

KERNEL unpack(i64 asked) {
    SHARED(PhaseRoom, room);
    if (is_over()) return;
    const u64 began = NOW();
    const Asked a = parsed(asked);
    const i64 number = KNOWN(env.post + POST_NUMBER), tick = KNOWN(env.control + TICK);
    u32 due = (u32)KNOWN(env.control + GATE);
    const bool takes = (!a.direct || all_received(number)) && !a.failed;
    const u64 arrived = NOW();
    u32(*held)[STAGED_VERTICES] = room.staging.held[warp_in_block()];
    if (a.reduces) {
        Visit visit;
        visit.open(globals_now(), tick, KNOWN(env.control + BUCKET), held);
        for (i64 p = 0; p < env.peer_count; p++) {
            if (takes) combine_from<ROWS_AT_ONCE>(peer_of(p), incoming(a, p, number), visit);
            if (ALL) grid_barrier(env.gate, due); // floats of different ranks are added in the order of ranks
        }
        visit.close();
    } else {
        Front front;
        front.open(held[0], is(SWAPPED) ? env.queue1 : env.queue0, is(SWAPPED) ? env.sums1 : env.sums0,
                   slot_of(tick - 1), TAIL);
        for (i64 p = 0; takes && p < env.peer_count; p++)
            take_from<ROWS_AT_ONCE>(a, peer_of(p), incoming(a, p, number), front);
        front.close();
    }
    if (thread_rank()) return;
    if (ALL && a.reduces) env.control[GATE] = due;
    env.post[POST_WAITING] += (i64)(arrived - began), env.post[POST_UNPACKING] += (i64)(NOW() - arrived);
}

// After a rest of some 10 ms links sleep, each by itself, and addresses are dealt out to them: a first burst took 0.3 ms,
// the next one 0.01, and a single word woke no more than its own link. So threads read from many places, while hosts are
// still busy.
KERNEL wake(i64) {
    for (i64 p = 0; p < env.peer_count; p++) {
        const Peer& peer = peer_of(p);
        const u64 size = 2 * (u64)(peer.outbox[1] - peer.outbox[0]), at = thread_rank() * WAKE_STEP;
        if (peer.signal && at < size) FRESH((const u64*)(peer.outbox[0] + at));
    }
}
