// Local trees of components between ranks: members of the largest tree (``inside``), members known from other ranks,
// and all edges where ranks do not exchange members.

struct LeastRoom {
    i64 of_warp[BLOCK / 32];
};

// Keep the smallest original id of masters in the largest tree; each thread passes the smallest it has met. Reduced by
// warp and block, then one atomicMin a block after a read.
DEVICE void keep_least(LeastRoom& room, i64 id) {
    id = warp_least(id);
    if (lane_id() == 0) room.of_warp[warp_in_block()] = id;
    __syncthreads();
    if (threadIdx.x) return;
    for (u32 i = 1; i < BLOCK / 32; i++) id = smaller(id, room.of_warp[i]);
    if (id < FRESH(env.forest + FOREST_LEAST)) atomicMin(env.forest + FOREST_LEAST, id);
}

// Make every vertex a child of its root, and mark the members of the largest tree in a bitmap, which fits caches.
// ``hook_first`` does not hook mirrors.
KERNEL mark_largest(i64) {
    SHARED(LeastRoom, room);
    const u32 largest = largest_tree();
    const bool any = env.offsets[env.n] > 0;
    const u64 joined = (u64)(is_clear() ? env.sources : env.n);
    for (u64 i = (joined + 31) / 32 + thread_rank(); 32 * i < (u64)env.n; i += threads()) env.inside[i] = 0;
    i64 least = NO_LABEL;
    each_four(joined, [&](u64 v) {
        const Four<original_t> id = load_four(env.original, v, (u64)env.masters);
        const Four<u32> root = compress(joined, v, any ? largest : NO_HEAD); // members need no tree
        u32 bits = 0;
        for (u32 k = 0; k < 4; k++) {
            const bool inside = v + k < joined && root.of[k] == largest && any;
            bits |= (u32)inside << k;
            if (inside && v + k < (u64)env.masters) least = smaller(least, (i64)id.of[k]);
        }
        store_bits(env.inside, v, joined, bits);
    });
    keep_least(room, least);
}

DEVICE bool is_inside_now(u32 v) { return FRESH(env.inside + (v >> 5)) >> (v & 31) & 1; }
// Test the L1-cached bit, which may be stale but has the hubs, then the current one.
DEVICE bool is_inside(u32 v) { return (env.inside[v >> 5] >> (v & 31) & 1) || is_inside_now(v); }

// Buffer of a warp for edges to join: joined when there is one for each lane, since one joining lane would stall the
// others.
struct Pairs {
    u32 (*held)[2];
    u32 count;

    // Add an edge of each lane; calls ``join(v, u)`` on full warps. By whole warps.
    template <class F> __device__ void add(bool joins, u32 v, u32 u, const F& join) {
        const u32 found = ballot(joins), at = count + __popc(found & ((1u << lane_id()) - 1));
        if (joins) held[at][0] = v, held[at][1] = u;
        count += __popc(found);
        __syncwarp();
        if (count < 32) return;
        count -= 32;
        const u32* mine = held[count + lane_id()];
        const u32 a = mine[0], b = mine[1];
        __syncwarp(); // reads before the next writes
        join(a, b);
    }

    template <class F> __device__ void close(const F& join) const {
        if (lane_id() < count) join(held[lane_id()][0], held[lane_id()][1]);
    }
};

struct PairsRoom {
    u32 held[BLOCK / 32][64][2];
};

// Masters with edges that are not members. ``join_at_once(mine, v)`` handles AT_ONCE of them and clears those that are
// done.
template <class B> struct NonMembers {
    u32 masters;
    BitsRoom<AT_ONCE>& room;
    const B& join_at_once;

    __device__ u32 word(u64 i) const { return bits_before(i, masters) & ~(env.inside[i] | env.apart[i]); }
    __device__ bool has(u32 v) const { return word(v >> 5) >> (v & 31) & 1; }

    template <class F> __device__ void each(const F& f) const {
        each_of_bits(room, masters, [&](u64 i) { return word(i); }, [&](bool* mine, const u32* v) {
            join_at_once(mine, v);
            f(mine, v);
        });
    }
};

// Join edges of masters that are not members, where the ranks' largest trees are one (cc_multi_round.cuh). Each rank
// holds an edge from both ends, so members' edges are not read. Any grid.
KERNEL_OF(5) hook_to_members(i64) {
    struct Room {
        BitsRoom<AT_ONCE> bits;
        WaitingRoom waiting;
        PairsRoom pairs;
        LeastRoom least;
    };
    SHARED(Room, room);
    if (!is_united()) return;
    const u32 masters = (u32)env.masters;
    i64 least = NO_LABEL;
    const auto is_member = [](u32 u) { return (env.inside[u >> 5] >> (u & 31) & 1) != 0; };
    const auto add_member = [&](u32 v) {
        atomicOr(env.inside + (v >> 5), 1u << (v & 31));
        least = smaller(least, (i64)env.original[v]);
    };
    // A vertex with one edge that leads to a member needs no tree: no path runs through it.
    const auto join_at_once = [&](bool* mine, const u32* v) {
        u32 head[AT_ONCE];
        bool joins[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) {
            joins[k] = mine[k] && v[k] >= (u64)env.ones;
            head[k] = joins[k] ? env.heads[v[k]] : 0;
        }
        for (int k = 0; k < AT_ONCE; k++) joins[k] = joins[k] && is_member(head[k]);
        for (int k = 0; k < AT_ONCE; k++) {
            mine[k] = mine[k] && !joins[k];
            if (joins[k]) add_member(v[k]);
        }
    };
    Pairs pairs = {room.pairs.held[warp_in_block()], 0};
    const NonMembers<decltype(join_at_once)> outside = {masters, room.bits, join_at_once};
    hook_outside(room.waiting, outside, is_member, add_member, [&](bool mine, u32 v, u32 u) {
        if (mine) note_joined(u);
        pairs.add(mine, v, u, join_trees);
    });
    pairs.close(join_trees);
    keep_least(room.least, least);
}

struct SettleRoom : BitsRoom<1>, LeastRoom {};

// Mark the vertices that need no further visit: members of the largest tree, vertices without edges, and mirrors that
// were joined to no vertex (the other ends of their edges are members, as their owner knows). List the others in
// ``remaining``.
DEVICE void settle_inside(SettleRoom& room) {
    const u32 largest = largest_tree(), giant = root_of(largest), masters = (u32)env.masters;
    i64 least = NO_LABEL;
    const auto look = [&](const bool* one, const u32* of) {
        const bool mine = *one;
        const u32 v = *of, root = mine ? root_of(v) : v;
        const bool inside = v < masters && root == giant; // a member mirror must still be sent to its owner
        if (mine && inside) {
            least = smaller(least, (i64)env.original[v]);
            atomicOr(env.inside + (v >> 5), 1u << (v & 31));
        }
        if (mine && root != giant) env.lowest[root] = NO_LABEL;
        list_in(env.remaining, FOREST_REMAINING, mine && !inside, v);
    };
    const auto unsettled = [&](u64 i) {
        const u32 inside = env.inside[i], apart = env.apart[i];
        const u32 all = bits_before(i, (u64)env.n), own = bits_before(i, masters);
        const u32 settled = (own & apart) | (all & ~own & ~apart);
        if (settled & ~inside) atomicOr(env.inside + i, settled);
        return all & ~inside & ~settled;
    };
    each_of_bits(room, (u64)env.n, unsettled, look);
    keep_least(room, least);
}

DEVICE void join_and_mark(u32 v, u32 u) {
    join_trees(v, u);
    if (is_inside_now(v)) atomicOr(env.inside + (u >> 5), 1u << (u & 31));
    else if (is_inside_now(u)) atomicOr(env.inside + (v >> 5), 1u << (v & 31));
}

// Join edges first … last of v; by a warp.
DEVICE void hook_row(Pairs& pairs, u32 v, offset_t first, offset_t last) {
    bool skips = false;
    for (offset_t at = first; at < last; at += 32) {
        skips = skips || is_inside(v);
        const offset_t e = at + lane_id();
        const u32 u = e < last ? streamed(env.neighbours + e) : v;
        pairs.add(e < last && !(skips && is_inside(u)), v, u, join_and_mark);
    }
}

// Join all edges of all vertices, with work divided by row length, since hubs are neighbours and would keep one warp
// busy.
DEVICE void hook_all(PairsRoom& room) {
    Pairs pairs = {room.held[warp_in_block()], 0};
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.lowest[v] = NO_LABEL;
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
            pairs.add(e < last && !(skips && is_inside(u)), (u32)v, u, join_and_mark);
        }
    }
    pairs.close(join_and_mark);
}

// Remaining work: settle where the ranks' largest trees are one, else join all edges. Any grid.
KERNEL hook_remaining(i64) {
    union Room {
        SettleRoom settle;
        PairsRoom pairs;
    };
    SHARED(Room, room);
    if (is_united()) settle_inside(room.settle);
    else hook_all(room.pairs);
}
