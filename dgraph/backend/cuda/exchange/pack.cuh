// Packing: all blocks, for all peers.

#define FEW_PEERS 64

struct PackRoom {
    u32 counts[FEW_PEERS];
};

// What an exchange is about: mirrors that got proposals, or masters that mirrors must hear of; and who is active.
struct News {
    const u32* list;
    u64 count;
    const u32* active;
    u64 active_count;
};

// Peer p's position that a vertex is at, or a slot that ``told`` names.
struct Place {
    i64 p, position;
};

DEVICE Place place_of_mirror(u32 v) {
    i64 p = 0;
    while ((u64)v - (u64)peer_of(p).first >= (u64)peer_of(p).mine.count) p++;
    return {p, (i64)v - peer_of(p).first};
}

DEVICE Place place_of_slot(u32 slot) {
    i64 p = 0;
    while ((i64)slot - (peer_of(p).theirs.chunk << CHUNK_BITS) >= peer_of(p).theirs.count) p++;
    return {p, (i64)slot - (peer_of(p).theirs.chunk << CHUNK_BITS)};
}

DEVICE void mark(const Asked& a, const Place& at, PackRoom& room) {
    const Side& side = a.leaving(peer_of(at.p));
    if (!span_of(side, a.role).holds(at.position)) return;
    const i64 slot = (side.chunk << CHUNK_BITS) + at.position;
    const u32 bit = 1u << (slot & 31);
    if (atomicOr(env.marks + (slot >> 5), bit) & bit) return;
    if (at.p < FEW_PEERS) atomicAdd(room.counts + at.p, 1u);
    else count(post_of(at.p) + COUNTED, 1);
}

// A bit for every position that the list means, and how many a peer.
DEVICE void mark_listed(const Asked& a, const News& news, PackRoom& room) {
    for (u32 p = threadIdx.x; p < FEW_PEERS; p += BLOCK) room.counts[p] = 0;
    __syncthreads();
    for (u64 i = thread_rank(); i < news.count; i += threads()) {
        const u32 v = FRESH(news.list + i);
        if (a.reduces) mark(a, place_of_mirror(v), room);
        else
            for (u32 e = env.told_offsets[v]; e < env.told_offsets[v + 1]; e++) mark(a, place_of_slot(env.told[e]), room);
    }
    __syncthreads();
    for (u32 p = threadIdx.x; p < FEW_PEERS; p += BLOCK)
        if (room.counts[p]) count(post_of(p) + COUNTED, room.counts[p]);
}

// A bit for every active master; or all gone again.
DEVICE void mark_active(const News& news, bool gone) {
    if (env.peer_count == 0) return;
    for (u64 i = thread_rank(); i < news.active_count; i += threads()) {
        const u32 v = FRESH(news.active + i);
        if (gone) env.awake[v >> 5] = 0;
        else atomicOr(env.awake + (v >> 5), 1u << (v & 31));
    }
}

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
        if (lane_id() == 31) base = atomicAdd((u64*)(post_of(p) + RESERVED), (u64)through);
        base = shuffle(base, 31);
        if (m.kind == BITSET && lane_id() == 0) m.bases[k] = (u32)base;
        Message::each_set<ROWS_AT_ONCE>(chunk, word, through, (i64)base, rows);
    }
}

// Everything but what the first block does when all have met: messages that lie ready but for their heads. What ``due``
// has become.
APART u32 pack_all(Asked a, News news, i64 number, u32 due, PackRoom& room) {
    if (!a.failed && !a.dense) mark_listed(a, news, room);
    if (!a.failed && a.marked) mark_active(news, false);
    grid_barrier(env.gate, due);
    for (i64 i = 0; i < env.peer_count; i++) write(a, in_turn(i), number);
    fence_block(true);
    return due;
}

// By the first block, when all have written: heads, and words that say so.
APART void post_all(Asked a, i64 number) {
    for (i64 p = threadIdx.x; p < env.peer_count; p += BLOCK) {
        const Peer& peer = peer_of(p);
        const Message m = outgoing(a, p, number);
        finish(p, m, m.count, number);
        if (a.direct) RELEASE_SYSTEM(peer.signal + signal_word(number), signal_value(number, COUNT_IN_HEAD));
    }
}
