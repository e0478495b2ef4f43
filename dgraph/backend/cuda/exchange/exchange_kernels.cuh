// One exchange: ``pack`` writes messages for all peers; ``combine_messages`` reads those of a reduce from all peers, and
// ``take_messages`` those of a broadcast: as one kernel they took twice as long to compile. With peer access (a.direct)
// ``pack`` posts them and the others wait for them without the host. All blocks of a grid barrier are resident.

// The lists of changed vertices that an exchange sends: touched mirrors for a reduce, changed masters for a broadcast.
DEVICE ChangeLists changes_now(const Asked& a) {
    const RoundState* c = env.control;
    const u32* queue = is(env.control->swapped) ? env.queue1 : env.queue0;
    const u64 active = (u64)KNOWN(&c->active);
    if (a.reduces) return {env.mirrors, (u64)FRESH(slot_now() + MIRROR_TAIL), queue, active};
    return {DIRTY ? env.dirty : queue, DIRTY ? (u64)KNOWN(&c->dirtied) : active, queue, active};
}

// Pack messages for all peers. The first block writes headers and posts after a grid barrier.
LONG_KERNEL pack(i64 asked) {
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

// Wait for messages of all peers, and count the time; true if there are messages to apply. Every thread acquires the
// ready words (system scope), so the peers' writes are visible to it.
DEVICE bool messages_came(const Asked& a, i64 number, u64& arrived) {
    const u64 began = NOW();
    const bool came = (!a.direct || all_received(number)) && !a.failed;
    arrived = NOW();
    if (thread_rank() == 0) env.post->waiting += (i64)(arrived - began);
    return came;
}

// Combine the proposals of all peers into masters.
LONG_KERNEL combine_messages(i64 asked) {
    SHARED(PhaseRoom, room);
    if (is_over()) return;
    const Asked a = parsed(asked, true);
    const i64 number = KNOWN(&env.post->number);
    u32 due = (u32)KNOWN(&env.control->gate);
    u64 arrived;
    const bool takes = messages_came(a, number, arrived);
    Visit visit;
    visit.open(globals_now(), KNOWN(&env.control->tick), KNOWN(&env.control->bucket), room.staging.held[warp_in_block()]);
    for (i64 p = 0; p < env.peer_count; p++) {
        if (takes) combine_from<ROWS_AT_ONCE>(peer_of(p), incoming(a, p, number), visit);
        if (ALL) grid_barrier(env.gate, due); // floats of different ranks are added in the order of ranks
    }
    visit.close();
    if (thread_rank()) return;
    if (ALL) env.control->gate = due;
    env.post->unpacking += (i64)(NOW() - arrived);
}

// Store the values of all peers in mirrors.
LONG_KERNEL take_messages(i64 asked) {
    SHARED(PhaseRoom, room);
    if (is_over()) return;
    const Asked a = parsed(asked, false);
    const i64 number = KNOWN(&env.post->number);
    u64 arrived;
    const bool takes = messages_came(a, number, arrived), swapped = is(env.control->swapped);
    Front front;
    front.open(room.staging.held[warp_in_block()][0], swapped ? env.queue1 : env.queue0, swapped ? env.sums1 : env.sums0,
               slot_of(KNOWN(&env.control->tick) - 1), TAIL);
    for (i64 p = 0; takes && p < env.peer_count; p++)
        take_from<ROWS_AT_ONCE>(a, peer_of(p), incoming(a, p, number), front);
    front.close();
    if (thread_rank() == 0) env.post->unpacking += (i64)(NOW() - arrived);
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
