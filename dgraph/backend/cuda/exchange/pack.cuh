// Packing of messages, by all blocks for all peers at once. Changed vertices are marked in a bitmap over positions
// (``env.marks``, one bit a position) and counted by peer. After a grid barrier each warp takes a chunk of 1,024
// positions and writes the values of those marked.

#define FEW_PEERS 64

struct PackRoom {
    u32 counts[FEW_PEERS];
};

// Lists of an exchange: mirrors with proposals or changed masters; and active vertices.
struct ChangeLists {
    const u32* list;
    u64 count;
    const u32* active;
    u64 active_count;
};

// A peer and the position of a vertex in the pair's list; from a lid, or from a slot of ``mirror_slots``.
struct Place {
    i64 p, position;
};

DEVICE Place place_of_mirror(u32 v) {
    i64 p = 0;
    while ((u64)v - (u64)peer_of(p).first >= (u64)peer_of(p).own_mirrors.count) p++;
    return {p, (i64)v - peer_of(p).first};
}

DEVICE Place place_of_slot(u32 slot) {
    i64 p = 0;
    while ((i64)slot - (peer_of(p).peer_mirrors.chunk << CHUNK_BITS) >= peer_of(p).peer_mirrors.count) p++;
    return {p, (i64)slot - (peer_of(p).peer_mirrors.chunk << CHUNK_BITS)};
}

DEVICE void mark(const Asked& a, const Place& at, PackRoom& room) {
    const Side& side = a.leaving(peer_of(at.p));
    if (!span_of(side, a.role).holds(at.position)) return;
    const i64 slot = (side.chunk << CHUNK_BITS) + at.position;
    const u32 bit = 1u << (slot & 31);
    if (atomicOr(env.marks + (slot >> 5), bit) & bit) return;
    if (at.p < FEW_PEERS) atomicAdd(room.counts + at.p, 1u);
    else count(&post_of(at.p)->counted, 1);
}

// Mark the position of every listed vertex, and count them by peer: in shared memory for the first FEW_PEERS peers.
DEVICE void mark_listed(const Asked& a, const ChangeLists& news, PackRoom& room) {
    for (u32 p = threadIdx.x; p < FEW_PEERS; p += BLOCK) room.counts[p] = 0;
    __syncthreads();
    for (u64 i = thread_rank(); i < news.count; i += threads()) {
        const u32 v = FRESH(news.list + i);
        if (a.reduces) mark(a, place_of_mirror(v), room);
        else
            for (u32 e = env.mirror_slot_offsets[v]; e < env.mirror_slot_offsets[v + 1]; e++) mark(a, place_of_slot(env.mirror_slots[e]), room);
    }
    __syncthreads();
    for (u32 p = threadIdx.x; p < FEW_PEERS; p += BLOCK)
        if (room.counts[p]) count(&post_of(p)->counted, room.counts[p]);
}

// Set the bit of every active master in ``env.awake``, or clear them again.
DEVICE void mark_active(const ChangeLists& news, bool clears) {
    if (env.peer_count == 0) return;
    for (u64 i = thread_rank(); i < news.active_count; i += threads()) {
        const u32 v = FRESH(news.active + i);
        if (clears) env.awake[v >> 5] = 0;
        else atomicOr(env.awake + (v >> 5), 1u << (v & 31));
    }
}

// Write the values of one peer's message: all rows if dense, else those marked. A warp takes a chunk; marks are
// cleared.
DEVICE void write(const Asked& a, i64 p, i64 number) {
    const Peer& peer = peer_of(p);
    const Side& side = a.leaving(peer);
    const Message m = outgoing(a, p, number);
    if (m.kind == NOTHING) return;
    const auto rows = [&](const bool* mine, const i64* position, const i64* row) {
        put<ROWS_AT_ONCE>(a, peer, m, mine, position, row);
    };
    if (m.kind == EVERYTHING)
        m.each<ROWS_AT_ONCE>(rows);
    if (a.dense) return;
    for (i64 k = (i64)warp_rank(); k < m.span.chunks(); k += (i64)warps()) {
        const i64 chunk = m.span.chunk() + k;
        u32* marks = env.marks + 32 * (side.chunk + chunk) + lane_id();
        const u32 word = FRESH(marks);
        if (word) *marks = 0;
        if (m.kind == EVERYTHING) continue;
        if (m.kind == BITSET) m.bits[32 * k + lane_id()] = word;
        if (!ballot(word != 0)) continue;
        const u32 through = sum_up_to_lane((u32)__popc(word));
        u64 base = 0;
        if (lane_id() == 31) base = atomicAdd((u64*)(&post_of(p)->reserved), (u64)through);
        base = shuffle(base, 31);
        if (m.kind == BITSET && lane_id() == 0) m.bases[k] = (u32)base;
        Message::each_set<ROWS_AT_ONCE>(chunk, word, through, (i64)base, rows);
    }
}

// Write all messages but their headers. Returns the new barrier count. ``fence_block`` makes each block's writes
// visible to the system, so that the first block may post them after the next grid barrier.
APART u32 pack_all(Asked a, ChangeLists news, i64 number, u32 due, PackRoom& room) {
    if (!a.failed && !a.dense) mark_listed(a, news, room);
    if (!a.failed && a.marked) mark_active(news, false);
    grid_barrier(env.gate, due);
    for (i64 i = 0; i < env.peer_count; i++) write(a, in_turn(i), number);
    fence_block(true);
    return due;
}

// Write the headers and post: the first block, after the barrier. Each ready word is a system-scope release.
APART void post_all(Asked a, i64 number) {
    for (i64 p = threadIdx.x; p < env.peer_count; p += BLOCK) {
        const Peer& peer = peer_of(p);
        const Message m = outgoing(a, p, number);
        finish(p, m, m.count, number);
        if (a.direct) RELEASE_SYSTEM(peer.signal + signal_word(number), signal_value(number, COUNT_IN_HEAD));
    }
}
