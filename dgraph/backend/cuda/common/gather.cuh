// The vertex phase of a round over all vertices, where mirrors' proposals are still in the messages: each master takes
// those that were made to it, peer by peer, so that floats are added in the order of ranks. Messages are dense.

struct GatherRoom {
    FloatRoom floats;
    Message came[MOST_GATHERED];
    u32 first[MOST_GATHERED]; // of each peer's positions, counted over all peers
};

// All messages have come, or some peer is late.
KERNEL hear(i64) {
    if (is_over()) return;
    const u64 began = NOW();
    all_heard(FRESH(env.post + POST_NUMBER));
    if (threadIdx.x == 0) env.post[POST_WAITING] += (i64)(NOW() - began);
}

DEVICE void take_proposals(const GatherRoom& room, u32 v) {
    for (u32 e = env.told_offsets[v]; e < env.told_offsets[v + 1]; e++) {
        const u32 at = env.told[e];
        u32 p = (u32)env.peer_count - 1;
        while (room.first[p] > at) p--;
        const Message& m = room.came[p];
        const i64 position = (i64)(at - room.first[p]);
        if (m.span.holds(position)) commit(v, proposal_in(m.values, position - m.span.low));
    }
}

KERNEL_OF(VERTEX_BLOCKS) gather(i64 asked) {
    SHARED(GatherRoom, room);
    if (is_over()) return;
    const Asked a = parsed(asked);
    const i64 number = FRESH(env.post + POST_NUMBER);
    for (u32 p = threadIdx.x; p < (u32)env.peer_count; p += BLOCK) {
        room.came[p] = incoming(a, p, number);
        room.first[p] = (u32)(peer_of(p).theirs.chunk << CHUNK_BITS);
    }
    __syncthreads();
    const bool takes = !a.failed && !FRESH(env.post + POST_LATE);
    apply_all(globals_now(), slot_now(), room.floats, [&](u32 v) {
        if (takes) take_proposals(room, v);
    });
}
