// Connected components of an undirected graph by hooking and jumping: first a few edges of every vertex, then the rest
// of those vertices that are not in the largest component yet.   [Sutton et al., IPDPS 2018: Afforest]

struct Env {
    const offset_t* offsets;
    const u32* neighbours;
    const original_t* original;
    u32* parent;
    i64 *lowest, *forest;
    u32* inside; // bits: who is in the largest tree
    const u32 *long_rows, *chunk_rows;
    const offset_t* chunk_first;
    i64 n, masters, long_count, chunk_count;
};
CONSTANT Env env;

// Vertices of the sample, and edges that one of them may stand for; which part of these may be outside; neighbours that a
// vertex may lean on; steps up that a multiprocessor's cache is asked for.
#define VOTES 512
#define MOST_WEIGHT 256
#define OUTSIDE 32
#define LEANS 8
#define NEAR_BY 8
#define NOBODY 0x7fffffffffffffffll

// The root of v's tree, as far as this multiprocessor's cache knows; those on the way are brought nearer to it. What stood
// there before is still above them, so nothing is lost if it is written again.   [Jaiganesh & Burtscher, HPDC 2018: ECL-CC]
DEVICE u32 root_of(u32 v) {
    u32 up = env.parent[v], above;
    for (u32 below = v; up != (above = env.parent[up]); below = up, up = above) env.parent[below] = above;
    return up;
}

// Join the trees of u and v: the root of higher number hangs itself under the lower one.
DEVICE void join_trees(u32 u, u32 v) {
    u32 a = root_of(u), b = root_of(v);
    while (a != b) {
        const u32 high = larger(a, b), low = smaller(a, b), above = atomicCAS(env.parent + high, high, low);
        if (above == high) return;
        a = above, b = low;
        for (u32 up; (up = FRESH(env.parent + a)) != a;) a = up;
    }
}

// Every vertex hangs itself under the lowest of its first few neighbours, if that is lower.
KERNEL lean(i64) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        u32 low = (u32)v;
        const offset_t first = env.offsets[v], last = smaller(env.offsets[v + 1], first + LEANS);
        for (offset_t e = first; e < last; e++) low = smaller(low, env.neighbours[e]);
        env.parent[v] = low;
    }
}

// Those that have no lower neighbour join a tree of their lowest ones: a hub may be among them.
KERNEL hook_roots(i64) {
    for (u64 v = thread_rank(); v < (u64)env.masters; v += threads()) {
        if (FRESH(env.parent + v) != (u32)v) continue;
        const offset_t first = env.offsets[v], last = smaller(env.offsets[v + 1], first + LEANS);
        for (offset_t e = first; e < last; e++)
            if (env.neighbours[e] < (u32)env.masters) join_trees((u32)v, env.neighbours[e]);
    }
}

DEVICE u32 largest_tree() { return (u32)env.forest[FOREST_LARGEST]; }
DEVICE bool is_clear() { return env.forest[FOREST_CLEAR] != 0; }
DEVICE bool is_united() { return env.forest[FOREST_UNITED] != 0; }

// Any edge of every vertex, where leaning has not joined most of them: rows begin with hubs, and on several ranks with
// masters, which are not to stay among themselves.
KERNEL hook_one(i64) {
    if (is_clear()) return;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const offset_t first = env.offsets[v], degree = env.offsets[v + 1] - first;
        if (degree) join_trees((u32)v, env.neighbours[first + ((u32)v * 2654435761u >> 8) % degree]);
    }
}

// What is near by, hubs above all, this multiprocessor's cache knows. A long way is shortened by others meanwhile, which
// only fresh loads see. ``after``: what has joined trees since.
KERNEL jump(i64 after) {
    if (after == HOOKING_ONE && is_clear()) return;
    const u64 rows = (u64)(after == LEANING ? env.masters : env.n); // a mirror leans on nobody
    for (u64 v = thread_rank(); v < rows; v += threads()) {
        u32 up = env.parent[v], above;
        for (u32 i = 0; (above = i < NEAR_BY ? env.parent[up] : FRESH(env.parent + up)) != up; i++) up = above;
        env.parent[v] = up;
    }
}

// The tree that most of a sample of vertices is in, of those that have an edge if any has; and whether few edges are left
// outside of it. One block.
KERNEL elect(i64 after) {
    struct Room {
        u32 votes[VOTES], weights[VOTES], all, outside;
        i64 best;
    };
    SHARED(Room, room);
    if (after == HOOKING_ONE && is_clear()) return;
    const u64 all = (u64)(env.masters ? env.masters : env.n), stride = (all + VOTES - 1) / VOTES;
    if (threadIdx.x == 0) room.all = room.outside = 0, room.best = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < VOTES; i += BLOCK) {
        const u64 v = i * stride % all;
        const u64 degree = (u64)(env.offsets[v + 1] - env.offsets[v]);
        room.votes[i] = degree ? env.parent[v] : ~0u, room.weights[i] = (u32)smaller(degree, (u64)MOST_WEIGHT);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < VOTES; i += BLOCK) {
        i64 same = 0;
        for (u32 j = 0; j < VOTES; j++) same += room.votes[j] == room.votes[i];
        if (room.votes[i] != ~0u) atomicMax(&room.best, same << 32 | room.votes[i]);
    }
    __syncthreads();
    const u32 best = (u32)room.best;
    for (u32 i = threadIdx.x; i < VOTES; i += BLOCK) {
        atomicAdd(&room.all, room.weights[i]);
        if (room.votes[i] != best) atomicAdd(&room.outside, room.weights[i]);
    }
    __syncthreads();
    if (threadIdx.x) return;
    env.forest[FOREST_LARGEST] = best;
    if (after == LEANING) env.forest[FOREST_CLEAR] = OUTSIDE * room.outside < room.all;
}

// The edges of vertices outside of the largest tree: a thread a vertex, long rows by the whole warp.
template <class F> DEVICE void hook_outside(const F& is_outside) {
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.masters; v += threads()) {
        const bool outside = v < (u64)env.masters && is_outside((u32)v);
        offset_t e = outside ? env.offsets[v] : 0;
        const offset_t last = outside ? env.offsets[v + 1] : 0;
        for (u32 step = 0; step < 32 && e < last; step++, e++) join_trees((u32)v, env.neighbours[e]);
        for (u32 left = ballot(e < last); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1, u = shuffle((u32)v, lane);
            const offset_t end = shuffle(last, lane);
            for (offset_t at = shuffle(e, lane) + lane_id(); at < end; at += 32) join_trees(u, env.neighbours[at]);
        }
    }
}

// Of a graph that is all here.
KERNEL hook_rest(i64) {
    const u32 largest = largest_tree();
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.lowest[v] = NOBODY;
    hook_outside([&](u32 v) { return FRESH(env.parent + v) != largest; });
}

// Who is in the largest tree, as bits: few enough to lie in caches.
KERNEL mark_largest(i64) {
    const u32 largest = largest_tree();
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.n; v += threads()) {
        const u32 word = ballot(v < (u64)env.n && env.parent[v] == largest);
        if (lane_id() == 0) env.inside[v >> 5] = word;
        if (v < (u64)env.n) env.lowest[v] = NOBODY;
    }
}

DEVICE bool is_inside_now(u32 v) { return FRESH(env.inside + (v >> 5)) >> (v & 31) & 1; }
// A multiprocessor's own cache has hubs' bits, but does not hear who has joined since.
DEVICE bool is_inside(u32 v) { return (env.inside[v >> 5] >> (v & 31) & 1) || is_inside_now(v); }

// Between ranks whose largest trees are one (trees.cuh): whom others said to be inside joins, so that the smallest label is
// found at once.
KERNEL hook_inside(i64) {
    if (!is_united()) return;
    const u32 largest = largest_tree();
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads())
        if (is_inside((u32)v) && FRESH(env.parent + v) != largest) join_trees((u32)v, largest);
}

// Then edges of vertices that nobody said to be inside; at both ends of an edge, whoever holds it.
KERNEL hook_untold(i64) {
    if (is_united()) hook_outside([](u32 v) { return !is_inside(v); });
}

// The smallest original id in the largest tree.
KERNEL least_inside(i64) {
    if (!is_united()) return;
    const u32 root = env.parent[largest_tree()];
    i64 id = NOBODY;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads())
        if (env.parent[v] == root) id = smaller(id, (i64)env.original[v]);
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

// The smallest original id of every tree; of the largest, one atomic a warp.
KERNEL name_trees(i64) {
    const u32 giant = env.parent[largest_tree()];
    i64 least = NOBODY;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const u32 root = env.parent[v];
        const i64 id = (i64)env.original[v];
        if (root == giant) least = smaller(least, id);
        else if (id < FRESH(env.lowest + root)) atomicMin(env.lowest + root, id);
    }
    for (u32 mask = 16; mask; mask >>= 1) least = smaller(least, shuffle_xor(least, mask));
    if (lane_id() == 0 && least < FRESH(env.lowest + giant)) atomicMin(env.lowest + giant, least);
}
