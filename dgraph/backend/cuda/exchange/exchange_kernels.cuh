// One exchange: ``pack`` writes messages for all peers, ``unpack`` reads those from all peers. With peer access
// (a.direct) ``pack`` posts them and ``unpack`` waits for them without the host. Both use a grid barrier, so all blocks
// are resident.

// The lists of changed vertices that an exchange sends: touched mirrors for a reduce, changed masters for a broadcast.
DEVICE ChangeLists changes_now(const Asked& a) {
    const RoundState* c = env.control;
    const u32* queue = is(env.control->swapped) ? env.queue1 : env.queue0;
    const u64 active = (u64)KNOWN(&c->active);
    if (a.reduces) return {env.mirrors, (u64)FRESH(slot_now() + MIRROR_TAIL), queue, active};
    return {DIRTY ? env.dirty : queue, DIRTY ? (u64)KNOWN(&c->dirtied) : active, queue, active};
}

// Pack messages for all peers. The first block writes headers and posts after a grid barrier.
KERNEL pack(i64 asked) {
    SHARED(PackRoom, room);
    if (is_over()) return;
    const u64 began = NOW();
    const Asked a = parsed(asked);
    const ChangeLists news = changes_now(a);
    const i64 number = KNOWN(&env.post->number) + 1;
    u32 due = pack_all(a, news, number, (u32)KNOWN(&env.control->gate), room);
    grid_barrier(env.gate, due);
    if (!a.failed && a.marked) mark_active(news, true);
    if (blockIdx.x) return;
    post_all(a, number);
    __syncthreads();
    if (threadIdx.x) return;
    env.control->gate = due, env.post->number = number, env.post->packing += (i64)(NOW() - began);
}

// Wait for messages of all peers and apply them: combine proposals into masters, or store values in mirrors. Every
// thread acquires the ready words (system scope), so the peers' writes are visible to it.
KERNEL unpack(i64 asked) {
    SHARED(PhaseRoom, room);
    if (is_over()) return;
    const u64 began = NOW();
    const Asked a = parsed(asked);
    const i64 number = KNOWN(&env.post->number), tick = KNOWN(&env.control->tick);
    u32 due = (u32)KNOWN(&env.control->gate);
    const bool takes = (!a.direct || all_received(number)) && !a.failed;
    const u64 arrived = NOW();
    u32(*held)[STAGED_VERTICES] = room.staging.held[warp_in_block()];
    if (a.reduces) {
        Visit visit;
        visit.open(globals_now(), tick, KNOWN(&env.control->bucket), held);
        for (i64 p = 0; p < env.peer_count; p++) {
            if (takes) combine_from<ROWS_AT_ONCE>(peer_of(p), incoming(a, p, number), visit);
            if (ALL) grid_barrier(env.gate, due); // floats of different ranks are added in the order of ranks
        }
        visit.close();
    } else {
        Front front;
        front.open(held[0], is(env.control->swapped) ? env.queue1 : env.queue0, is(env.control->swapped) ? env.sums1 : env.sums0,
                   slot_of(tick - 1), TAIL);
        for (i64 p = 0; takes && p < env.peer_count; p++)
            take_from<ROWS_AT_ONCE>(a, peer_of(p), incoming(a, p, number), front);
        front.close();
    }
    if (thread_rank()) return;
    if (ALL && a.reduces) env.control->gate = due;
    env.post->waiting += (i64)(arrived - began), env.post->unpacking += (i64)(NOW() - arrived);
}

// Wake the links before the first exchange. After about 10 ms of rest NVLinks sleep, each by itself, and addresses are
// interleaved over the links. A first burst took 0.3 ms, the next one 0.01 ms; a single word woke only its own link. So
// threads read from many places of every peer's mailbox while hosts are still busy.
KERNEL wake(i64) {
    for (i64 p = 0; p < env.peer_count; p++) {
        const Peer& peer = peer_of(p);
        const u64 size = 2 * (u64)(peer.outbox[1] - peer.outbox[0]), at = thread_rank() * WAKE_STEP;
        if (peer.signal && at < size) FRESH((const u64*)(peer.outbox[0] + at));
    }
}
