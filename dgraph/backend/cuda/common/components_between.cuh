// Components between ranks: who is in the largest tree, whom others said to be there, and all edges where nobody says so.

// Everybody hangs under the root of a tree, and bits say who is in the largest: few enough to lie in caches. A mirror leans
// on nobody.
KERNEL mark_largest(i64) {
    const u32 largest = largest_tree();
    const bool any = env.offsets[env.n] > 0;
    const u64 joined = (u64)(is_clear() ? env.sources : env.n);
    for (u64 i = (joined + 31) / 32 + thread_rank(); 32 * i < (u64)env.n; i += threads()) env.inside[i] = 0;
    hang(joined, [&](u64 v, u32 root) {
        const u32 word = ballot(v < joined && root == largest && any);
        if (lane_id() == 0 && v < joined) env.inside[v >> 5] = word;
    });
}

DEVICE bool is_inside_now(u32 v) { return FRESH(env.inside + (v >> 5)) >> (v & 31) & 1; }
// A multiprocessor's own cache has hubs' bits, but does not hear who has joined since.
DEVICE bool is_inside(u32 v) { return (env.inside[v >> 5] >> (v & 31) & 1) || is_inside_now(v); }

// Between ranks whose largest trees are one (trees.cuh): edges of masters that were not said to be inside, at both ends of
// an edge, whoever holds it. Who was said to be inside needs no tree.
KERNEL hook_told(i64) {
    SHARED(WaitingRoom, room);
    if (!is_united()) return;
    hook_outside(
        room, [](u32 v) { return env.inside[v >> 5] | env.apart[v >> 5]; },
        [](u32 v, u32 word) { return !(word >> (v & 31) & 1); },
        [](u32 u) { return env.inside[u >> 5] >> (u & 31) & 1; },
        [](u32 v) { atomicOr(env.inside + (v >> 5), 1u << (v & 31)); });
}

// Then bits say at whom nobody has to look again: who is in the largest tree, whose smallest original id is found, or has
// no edge. A mirror that has a tree of its own is an edge's end whose other end is inside: its owner knows. Others are listed.
KERNEL settle_inside(i64) {
    SHARED(WaitingRoom, room);
    if (!is_united()) return;
    const u32 largest = largest_tree(), giant = root_of(largest), masters = (u32)env.masters;
    i64 id = NOBODY;
    const auto look = [&](bool mine, u32 v) {
        const u32 above = mine ? env.parent[v] : v;
        const bool alone = above == v && v >= masters;
        const u32 root = !mine || alone || above == giant ? above : root_of(v);
        const bool inside = v < masters && root == giant; // of other mirrors that are inside the owner may not know
        if (mine && inside) id = smaller(id, (i64)env.original[v]);
        const bool settled = inside || alone;
        if (mine && settled) atomicOr(env.inside + (v >> 5), 1u << (v & 31));
        if (mine && !settled && root != giant) env.lowest[root] = NOBODY;
        list_in(env.left, FOREST_LEFT, mine && !settled, v);
    };
    Waiting waiting = {room.held[warp_in_block()], 0};
    const u64 words = ((u64)env.n + 31) / 32;
    for (u64 i = 32 * warp_rank(); i < words; i += 32 * warps()) {
        const u64 at = i + lane_id();
        const u32 inside = at < words ? env.inside[at] : ~0u, apart = 32 * at < masters ? env.apart[at] : 0;
        if (apart) atomicOr(env.inside + at, apart);
        for (u32 from = 0; from < 32; from += AT_ONCE) {
            bool asks[AT_ONCE];
            original_t own[AT_ONCE];
            for (u32 k = 0; k < AT_ONCE; k++) {
                const u64 v = 32 * (i + from + k) + lane_id();
                const bool joined = shuffle(inside, from + k) >> lane_id() & 1;
                const bool alone = shuffle(apart, from + k) >> lane_id() & 1;
                asks[k] = v < (u64)env.n && !joined && !alone;
                own[k] = joined && v < masters ? env.original[v] : (original_t)~0ull;
            }
            for (u32 k = 0; k < AT_ONCE; k++) {
                const u64 v = 32 * (i + from + k) + lane_id();
                if (own[k] != (original_t)~0ull) id = smaller(id, (i64)own[k]);
                waiting.add(asks[k], (u32)v, look);
            }
        }
    }
    waiting.close(look);
    for (u32 mask = 16; mask; mask >>= 1) id = smaller(id, shuffle_xor(id, mask));
    if (lane_id() == 0 && id < FRESH(env.forest + FOREST_LEAST)) atomicMin(env.forest + FOREST_LEAST, id);
}

// Edges that are still to join something, of a warp: joined when there are enough for all its lanes, since one lane that
// joins keeps the others waiting.
struct Pairs {
    u32 (*held)[2];
    u32 count;

    // By whole warps.
    __device__ void add(bool joins, u32 v, u32 u) {
        const u32 found = ballot(joins), at = count + __popc(found & ((1u << lane_id()) - 1));
        if (joins) held[at][0] = v, held[at][1] = u;
        count += __popc(found);
        __syncwarp();
        if (count < 32) return;
        count -= 32;
        const u32* mine = held[count + lane_id()];
        const u32 a = mine[0], b = mine[1];
        __syncwarp(); // all have read before one writes again
        join(a, b);
    }

    __device__ void close() const {
        if (lane_id() < count) join(held[lane_id()][0], held[lane_id()][1]);
    }

    __device__ void join(u32 v, u32 u) const {
        join_trees(v, u);
        if (is_inside_now(v)) atomicOr(env.inside + (u >> 5), 1u << (u & 31));
        else if (is_inside_now(u)) atomicOr(env.inside + (v >> 5), 1u << (v & 31));
    }
};

// Edges first … last of v, by a warp.
DEVICE void hook_row(Pairs& pairs, u32 v, offset_t first, offset_t last) {
    bool skips = false;
    for (offset_t at = first; at < last; at += 32) {
        skips = skips || is_inside(v);
        const offset_t e = at + lane_id();
        const u32 u = e < last ? streamed(env.neighbours + e) : v;
        pairs.add(e < last && !(skips && is_inside(u)), v, u);
    }
}

// All edges of all vertices, rows by their length: hubs lie side by side, and would keep one warp.
KERNEL hook_all(i64) {
    if (is_united()) return;
    struct Room {
        u32 held[BLOCK / 32][64][2];
    };
    SHARED(Room, room);
    Pairs pairs = {room.held[warp_in_block()], 0};
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.lowest[v] = NOBODY;
    for (u64 i = warp_rank(); i < (u64)env.chunk_count; i += warps()) {
        const u32 v = env.chunk_rows[i];
        const offset_t first = env.chunk_first[i];
        hook_row(pairs, v, first, smaller(first + CHUNK, env.offsets[v + 1]));
    }
    for (u64 i = warp_rank(); i < (u64)env.long_count; i += warps()) {
        const u32 v = env.long_rows[i];
        hook_row(pairs, v, env.offsets[v], env.offsets[v + 1]);
    }
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.n; v += threads()) {
        const bool mine = v < (u64)env.n;
        bool skips = false;
        offset_t e = mine ? env.offsets[v] : 0;
        offset_t last = mine ? env.offsets[v + 1] : 0;
        if (last - e > SHORT_ROW) last = e;
        for (; ballot(e < last); e++) {
            skips = skips || (e < last && is_inside((u32)v));
            const u32 u = e < last ? streamed(env.neighbours + e) : 0;
            pairs.add(e < last && !(skips && is_inside(u)), (u32)v, u);
        }
    }
    pairs.close();
}
