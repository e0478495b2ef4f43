// Components between ranks: who is in the largest tree, whom others said to be there, and all edges where nobody says so.

struct LeastRoom {
    i64 of_warp[BLOCK / 32];
};

// The smallest original id of masters in the largest tree, as far as it is known; of each thread those it has met. One thread
// a block asks for what all others write.
DEVICE void keep_least(LeastRoom& room, i64 id) {
    id = warp_least(id);
    if (lane_id() == 0) room.of_warp[warp_in_block()] = id;
    __syncthreads();
    if (threadIdx.x) return;
    for (u32 i = 1; i < BLOCK / 32; i++) id = smaller(id, room.of_warp[i]);
    if (id < FRESH(env.forest + FOREST_LEAST)) atomicMin(env.forest + FOREST_LEAST, id);
}

// Everybody hangs under the root of a tree, and bits say who is in the largest: few enough to lie in caches. A mirror leans
// on nobody.
KERNEL mark_largest(i64) {
    SHARED(LeastRoom, room);
    const u32 largest = largest_tree();
    const bool any = env.offsets[env.n] > 0;
    const u64 joined = (u64)(is_clear() ? env.sources : env.n);
    for (u64 i = (joined + 31) / 32 + thread_rank(); 32 * i < (u64)env.n; i += threads()) env.inside[i] = 0;
    i64 least = NOBODY;
    each_four(joined, [&](u64 v) {
        const Four<original_t> id = load_four(env.original, v, (u64)env.masters);
        const Four<u32> root = hang(joined, v, any ? largest : NO_HEAD); // who is inside needs no tree
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
// A multiprocessor's own cache has hubs' bits, but does not hear who has joined since.
DEVICE bool is_inside(u32 v) { return (env.inside[v >> 5] >> (v & 31) & 1) || is_inside_now(v); }

// Edges that are still to join something, of a warp: joined when there are enough for all its lanes, since one lane that
// joins keeps the others waiting.
struct Pairs {
    u32 (*held)[2];
    u32 count;

    // By whole warps; ``join(v, u)`` by each lane.
    template <class F> __device__ void add(bool joins, u32 v, u32 u, const F& join) {
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

    template <class F> __device__ void close(const F& join) const {
        if (lane_id() < count) join(held[lane_id()][0], held[lane_id()][1]);
    }
};

struct PairsRoom {
    u32 held[BLOCK / 32][64][2];
};

// Masters with edges who were not said to be inside. ``join_at_once(mine, v)``: AT_ONCE of them, some of which need no more.
template <class B> struct Untold {
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

// Between ranks whose largest trees are one (cc_multi.cuh): edges of masters that were not said to be inside, at both ends of
// an edge, whoever holds it. Who was said to be inside needs no tree.
KERNEL_OF(5) hook_told(i64) {
    struct Room {
        BitsRoom<AT_ONCE> bits;
        WaitingRoom waiting;
        PairsRoom pairs;
        LeastRoom least;
    };
    SHARED(Room, room);
    if (!is_united()) return;
    const u32 masters = (u32)env.masters;
    i64 least = NOBODY;
    const auto told = [](u32 u) { return (env.inside[u >> 5] >> (u & 31) & 1) != 0; };
    const auto signal_peers = [&](u32 v) {
        atomicOr(env.inside + (v >> 5), 1u << (v & 31));
        least = smaller(least, (i64)env.original[v]);
    };
    // Who has one edge, whose end is told of, is nobody else's way to it.
    const auto join_at_once = [&](bool* mine, const u32* v) {
        u32 head[AT_ONCE];
        bool joins[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) {
            joins[k] = mine[k] && v[k] >= (u64)env.ones;
            head[k] = joins[k] ? env.heads[v[k]] : 0;
        }
        for (int k = 0; k < AT_ONCE; k++) joins[k] = joins[k] && told(head[k]);
        for (int k = 0; k < AT_ONCE; k++) {
            mine[k] = mine[k] && !joins[k];
            if (joins[k]) signal_peers(v[k]);
        }
    };
    Pairs pairs = {room.pairs.held[warp_in_block()], 0};
    const Untold<decltype(join_at_once)> outside = {masters, room.bits, join_at_once};
    hook_outside(room.waiting, outside, told, signal_peers, [&](bool mine, u32 v, u32 u) {
        if (mine) note_joined(u);
        pairs.add(mine, v, u, join_trees);
    });
    pairs.close(join_trees);
    keep_least(room.least, least);
}

struct SettleRoom : BitsRoom<1>, LeastRoom {};

// Then bits say at whom nobody has to look again: who is in the largest tree, whose smallest original id is found, or has
// no edge. A mirror that was joined to nobody is an edge's end whose other end is inside: its owner knows. Others are listed.
DEVICE void settle_inside(SettleRoom& room) {
    const u32 largest = largest_tree(), giant = root_of(largest), masters = (u32)env.masters;
    i64 least = NOBODY;
    const auto look = [&](const bool* one, const u32* of) {
        const bool mine = *one;
        const u32 v = *of, root = mine ? root_of(v) : v;
        const bool inside = v < masters && root == giant; // of mirrors that are inside the owner may not know
        if (mine && inside) {
            least = smaller(least, (i64)env.original[v]);
            atomicOr(env.inside + (v >> 5), 1u << (v & 31));
        }
        if (mine && root != giant) env.lowest[root] = NOBODY;
        list_in(env.left, FOREST_LEFT, mine && !inside, v);
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

// Edges first … last of v, by a warp.
DEVICE void hook_row(Pairs& pairs, u32 v, offset_t first, offset_t last) {
    bool skips = false;
    for (offset_t at = first; at < last; at += 32) {
        skips = skips || is_inside(v);
        const offset_t e = at + lane_id();
        const u32 u = e < last ? streamed(env.neighbours + e) : v;
        pairs.add(e < last && !(skips && is_inside(u)), v, u, join_and_mark);
    }
}

// All edges of all vertices, rows by their length: hubs lie side by side, and would keep one warp.
DEVICE void hook_all(PairsRoom& room) {
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
            pairs.add(e < last && !(skips && is_inside(u)), (u32)v, u, join_and_mark);
        }
    }
    pairs.close(join_and_mark);
}

// What is left to do, where ranks' largest trees are one and where they are not.
KERNEL hook_left(i64) {
    union Room {
        SettleRoom settle;
        PairsRoom pairs;
    };
    SHARED(Room, room);
    if (is_united()) settle_inside(room.settle);
    else hook_all(room.pairs);
}
