// Connected components of an undirected graph by union-find.   [Sutton et al., IPDPS 2018: Afforest]
//
// ``parent`` is a forest in which a parent is smaller than its child. Hooking links the root of one tree under
// another's, by compare-and-swap; jumping shortens paths to the root. Afforest joins a few edges of every vertex first,
// which mostly makes the largest component, elects that tree from a sample, and then reads only the edges of vertices
// outside of it. We hook each vertex to its smallest first neighbour without an atomic, and on several ranks exchange
// the members of the largest tree (components_multi.cuh). Graphs of short rows go another way (components_windows.cuh).

struct Env {
    const offset_t* offsets;
    const u32 *neighbours, *heads; // heads: the first neighbour of each row, or null
    const original_t* original;
    u32* parent;
    i64 *lowest, *forest;
    // Several ranks; bitmaps: members of the largest tree (``inside``); masters without edges, and mirrors joined to a
    // vertex that is not a known member (``apart``). List: vertices still to be labelled (``remaining``).
    u32 *inside, *apart, *remaining;
    const u32 *long_rows, *chunk_rows;
    const offset_t* chunk_first;
    // Vertices from ``sources`` on have no edges, those from ``ones`` to ``sources`` one each.
    i64 n, masters, sources, ones, long_count, chunk_count;
    i64 window; // vertices that a block joins in shared memory
};
CONSTANT Env env;

// Vertices of the sample, and most votes of one; largest fraction (1/OUTSIDE) of votes outside; neighbours considered
// by ``hook_first`` (with ``heads`` only the first, the smallest); steps up that are read through the L1 cache.
#define VOTES 256
#define MOST_WEIGHT 256
#define OUTSIDE 32
#define FIRST_NEIGHBOURS 8
#define NEAR_BY 8
#define NO_LABEL 0x7fffffffffffffffll

// Vertices that a thread handles together, so that their loads are in flight at once.
#define AT_ONCE 4

template <class T> DEVICE bool are_together(const T* at, u64 first, u64 end) {
    return first + 4 <= end && (u64)(at + first) % sizeof(Four<T>) == 0;
}

// Load four elements; those from ``end`` on are 0.
template <class T> DEVICE Four<T> load_four(const T* at, u64 first, u64 end) {
    if (are_together(at, first, end)) return *(const Four<T>*)(at + first);
    Four<T> x;
    for (int k = 0; k < 4; k++) x.of[k] = first + k < end ? at[first + k] : 0;
    return x;
}

template <class T> DEVICE void store_four(T* at, u64 first, u64 end, const Four<T>& x) {
    if (are_together(at, first, end)) {
        *(Four<T>*)(at + first) = x;
        return;
    }
    for (int k = 0; k < 4; k++)
        if (first + k < end) at[first + k] = x.of[k];
}

// Call ``f(v)`` with the first of four vertices, for all before ``rows``, rounded up to a whole warp.
template <class F> DEVICE void each_four(u64 rows, const F& f) {
    for (u64 v = 4 * thread_rank(); v - 4 * lane_id() < rows; v += 4 * threads()) f(v);
}

// Store the bits of a warp's fours from v on, in words before ``rows``. By whole warps.
DEVICE void store_bits(u32* bits, u64 v, u64 rows, u32 four) {
    u32 word = four << (4 * (lane_id() & 7));
    for (u32 mask = 1; mask < 8; mask <<= 1) word |= shuffle_xor(word, mask);
    if (lane_id() % 8 == 0 && v < rows) bits[v >> 5] = word;
}

// Append v to a list, counted in word ``counter`` of ``forest``. By whole warps.
DEVICE void list_in(u32* list, int counter, bool mine, u32 v) {
    const u32 found = ballot(mine);
    if (!found) return;
    u64 at = 0;
    if (lane_id() == 0) at = atomicAdd((u64*)env.forest + counter, (u64)__popc(found));
    at = shuffle(at, 0);
    if (mine) list[at + __popc(found & ((1u << lane_id()) - 1))] = v;
}

DEVICE u32 root_of(u32 v) { return root_in(env.parent, v); }
DEVICE u32 root_now(u32 v) { return root_now_in(env.parent, v); }
DEVICE void join_trees(u32 u, u32 v) { join_in(env.parent, u, v); }

// Note that mirror u is in a tree; only between ranks.
DEVICE void note_joined(u32 u) {
    if (env.apart && u >= (u32)env.masters) atomicOr(env.apart + (u >> 5), 1u << (u & 31));
}

// Make every vertex a child of the smallest of its first few neighbours, if that is smaller. Local minima among these,
// few but possibly hubs, are listed for ``hook_roots``. ``how``: NONEMPTY_ONLY: vertices without edges here get no tree yet.
// Any grid; a thread owns four vertices.
KERNEL hook_first(i64 how) {
    if (thread_rank() == 0) env.forest[FOREST_LEAST] = NO_LABEL;
    const u64 n = (u64)env.n, masters = (u64)env.masters, sources = (u64)env.sources;
    const u64 rows = smaller((sources / 128 + 1) * 128, n); // whole warps of fours, and at least one
    each_four(rows, [&](u64 v) {
        const Four<u32> heads = env.heads ? load_four(env.heads, v, sources) : Four<u32>{};
        Four<u32> low;
        u32 roots = 0, apart = 0;
        for (u32 k = 0; k < 4; k++) {
            const u32 own = (u32)v + k;
            u32 first = NO_HEAD; // the smallest of the first neighbours
            if (env.heads) {
                first = v + k < sources ? heads.of[k] : NO_HEAD;
            } else if (v + k < sources) {
                const offset_t e = env.offsets[own], end = smaller(env.offsets[own + 1], e + FIRST_NEIGHBOURS);
                for (offset_t i = e; i < end; i++) first = smaller(first, env.neighbours[i]);
            }
            low.of[k] = smaller(own, first);
            roots |= (u32)(first >= own && first < masters) << k, apart |= (u32)(v + k < masters && first == NO_HEAD) << k;
        }
        store_four(env.parent, v, n, low);
        if (env.apart) store_bits(env.apart, v, n, apart);
        for (u32 k = 0; k < 4; k++) list_in((u32*)env.lowest, FOREST_ROOTS, roots >> k & 1, (u32)v + k);
    });
    for (u64 v = rows + 4 * thread_rank(); how != NONEMPTY_ONLY && v < n; v += 4 * threads())
        store_four(env.parent, v, n, {{(u32)v, (u32)v + 1, (u32)v + 2, (u32)v + 3}});
    if (!env.apart) return;
    for (u64 i = (rows + 31) / 32 + thread_rank(); 32 * i < n; i += threads()) env.apart[i] = bits_before(i, masters);
}

// Elect the tree with most edges in a sample of vertices, and decide whether few are outside (FOREST_CLEAR). A vertex
// whose row ends with a mirror counts as inside, since it may learn so from the mirror's owner. By the last block of
// the launch to arrive here: atomicAdd counts them, __threadfence orders their joins before it.
struct ElectRoom {
    u32 votes[VOTES], weights[VOTES], all, outside;
    u64 best;
    bool last;
};

DEVICE void elect(ElectRoom& room, i64 after) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        room.last = atomicAdd((u64*)env.forest + FOREST_ARRIVED, 1ull) + 1 == gridDim.x;
        room.all = room.outside = 0, room.best = ~root_now(0);
    }
    __syncthreads();
    if (!room.last) return;
    const u64 sources = (u64)smaller(env.sources, env.masters), all = sources ? sources : after == NONEMPTY_ONLY ? 1 : (u64)env.n;
    const u64 stride = (all + VOTES - 1) / VOTES;
    for (u32 i = threadIdx.x; i < VOTES; i += BLOCK) {
        const u64 v = i * stride % all;
        const u64 degree = (u64)(env.offsets[v + 1] - env.offsets[v]);
        room.votes[i] = root_now((u32)v), room.weights[i] = (u32)smaller(degree, (u64)MOST_WEIGHT);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < VOTES; i += BLOCK) {
        u64 same = 0;
        for (u32 j = 0; j < VOTES; j++) same += room.votes[j] == room.votes[i] ? room.weights[j] : 0;
        if (same) atomicMax(&room.best, same << 32 | (u32)~room.votes[i]);
    }
    __syncthreads();
    const u32 best = ~(u32)room.best;
    for (u32 i = threadIdx.x; i < VOTES; i += BLOCK) {
        if (!room.weights[i]) continue;
        const bool has_mirror = env.neighbours[env.offsets[i * stride % all + 1] - 1] >= (u32)env.masters;
        atomicAdd(&room.all, room.weights[i]);
        if (room.votes[i] != best && !has_mirror) atomicAdd(&room.outside, room.weights[i]);
    }
    __syncthreads();
    if (threadIdx.x) return;
    env.forest[FOREST_LARGEST] = best, env.forest[FOREST_ARRIVED] = 0;
    if (after == HOOKING_FIRST) env.forest[FOREST_CLEAR] = OUTSIDE * room.outside < room.all;
    if (after == NONEMPTY_ONLY) env.forest[FOREST_CLEAR] = NONEMPTY_ONLY;
}

// Join the local minima of ``hook_first`` with their first neighbours' trees, a thread an edge.
KERNEL hook_roots(i64 how) {
    SHARED(ElectRoom, room);
    const u32* list = (const u32*)env.lowest;
    for (u64 i = thread_rank(); i < FIRST_NEIGHBOURS * (u64)env.forest[FOREST_ROOTS]; i += threads()) {
        const u32 v = list[i / FIRST_NEIGHBOURS];
        const offset_t e = env.offsets[v] + i % FIRST_NEIGHBOURS;
        const u32 u = e < env.offsets[v + 1] ? env.neighbours[e] : v;
        if (u < (u32)env.masters) join_trees(v, u);
    }
    if (how & ELECTS) elect(room, how & ~ELECTS);
}

DEVICE u32 largest_tree() { return (u32)env.forest[FOREST_LARGEST]; }
DEVICE bool is_clear() { return env.forest[FOREST_CLEAR] != 0; }
DEVICE bool is_united() { return env.forest[FOREST_UNITED] != 0; }

// Join every vertex along one random edge, unless the first neighbours have joined most vertices. Random, because rows
// begin with hubs and, on several ranks, with masters.
KERNEL hook_one(i64 how) {
    SHARED(ElectRoom, room);
    if (is_clear()) return;
    for (u64 v = thread_rank(); v < (u64)env.sources; v += threads()) {
        const offset_t first = env.offsets[v], degree = env.offsets[v + 1] - first;
        if (!degree) continue;
        const u32 u = env.neighbours[first + ((u32)v * 2654435761u >> 8) % degree];
        join_trees((u32)v, u), note_joined(u);
    }
    if (how & ELECTS) elect(room, HOOKING_ONE);
}

// Make four vertices from v on (before ``rows``) children of the roots of their trees, which are returned. The first
// NEAR_BY steps read through L1, which has the hubs. On longer paths each step is stored before the next one, which reads
// past L1: what others have stored doubles the length of a step. Vertices whose root is ``spared`` need not be written.
DEVICE Four<u32> compress(u64 rows, u64 v, u32 spared) {
    Four<u32> up = load_four(env.parent, v, rows);
    bool moves = true, unsaved = false;
    for (u32 i = 0; moves; i++) {
        if (i >= NEAR_BY) store_four(env.parent, v, rows, up), unsaved = false;
        u32 above[4];
        for (int k = 0; k < 4; k++) {
            above[k] = up.of[k];
            if (above[k] != spared) above[k] = i < NEAR_BY ? env.parent[above[k]] : FRESH(env.parent + above[k]);
        }
        moves = false;
        for (int k = 0; k < 4; k++) moves |= above[k] != up.of[k], up.of[k] = above[k];
        unsaved |= moves;
    }
    bool stays = true;
    for (int k = 0; k < 4; k++) stays &= up.of[k] == spared;
    if (unsaved && !stays) store_four(env.parent, v, rows, up);
    return up;
}

// Shorten all paths to one step. ``how`` is the phase that joined trees before; after HOOKING_ALL also store the roots'
// original ids.
KERNEL jump(i64 how) {
    SHARED(ElectRoom, room);
    const i64 after = how & ~ELECTS; // the phase before
    if (after == HOOKING_ONE && is_clear()) return;
    const bool mirrors = after != HOOKING_FIRST && env.n > env.masters; // hook_first does not hook mirrors
    const u64 rows = (u64)(mirrors ? env.n : smaller(env.sources, env.masters));
    each_four(rows, [&](u64 v) {
        const Four<u32> root = compress(rows, v, NO_HEAD);
        for (int k = 0; k < 4 && after == HOOKING_ALL; k++)
            if (v + k < rows && root.of[k] == (u32)v + k) env.lowest[v + k] = (i64)env.original[v + k];
    });
    if (how & ELECTS) elect(room, after);
}

// Buffer of a warp that collects vertices until every lane has one.
struct Waiting {
    u32* held;
    u32 count;

    // Add AT_ONCE vertices of each lane; calls ``f(mine, v)`` when 32 are held. By whole warps.
    template <class F> __device__ void add(const bool* mine, const u32* v, const F& f) {
        for (int k = 0; k < AT_ONCE; k++) {
            const u32 found = ballot(mine[k]);
            if (mine[k]) held[count + __popc(found & ((1u << lane_id()) - 1))] = v[k];
            count += __popc(found);
        }
        __syncwarp();
        while (count >= 32) {
            count -= 32;
            const u32 next = held[count + lane_id()];
            __syncwarp(); // reads before the next writes
            f(true, next);
        }
    }

    template <class F> __device__ void close(const F& f) const {
        const bool mine = lane_id() < count;
        if (count) f(mine, mine ? held[lane_id()] : 0);
    }
};

struct WaitingRoom {
    u32 held[BLOCK / 32][32 + 32 * AT_ONCE];
};

// Join the edges of vertices outside of the largest tree: a thread a vertex, long rows by a warp, the longest in chunks
// if there is a list of these. ``outside.each(f)`` calls ``f(mine, v)`` for AT_ONCE vertices a lane, by whole warps;
// ``outside.has(v)`` tests one. ``is_member(u)``: u is a known member, hence v too, whatever tree u is in;
// ``add_member(v)`` marks v. ``join(mine, v, u)`` joins their trees, by whole warps.
template <class S, class Q, class T, class J>
DEVICE void hook_outside(WaitingRoom& room, const S& outside, const Q& is_member, const T& add_member, const J& join) {
    const u32 largest = largest_tree();
    const auto hook_row = [&](u32 v, offset_t first, offset_t last, u32 step, bool marks) {
        const offset_t count = first < last ? last - first : 0;
        bool joins = false;
        for (offset_t i = 0; ballot(i < count); i += AT_ONCE * step) {
            u32 u[AT_ONCE];
            bool inside[AT_ONCE];
            for (int k = 0; k < AT_ONCE; k++) u[k] = i + k * step < count ? env.neighbours[first + i + k * step] : v;
            for (int k = 0; k < AT_ONCE; k++) inside[k] = u[k] != v && is_member(u[k]);
            for (int k = 0; k < AT_ONCE; k++) joins |= inside[k], join(!inside[k] && u[k] != v, v, u[k]);
        }
        if (joins && marks) add_member(v);
        join(joins, v, largest);
    };
    for (u64 from = warp_rank(); from < (u64)env.chunk_count; from += threads()) {
        const u64 i = from + lane_id() * warps(); // chunks of one row go to different warps
        const u32 v = i < (u64)env.chunk_count ? env.chunk_rows[i] : 0;
        const bool mine = i < (u64)env.chunk_count && outside.has(v);
        for (u32 left = ballot(mine); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1, row = shuffle(v, lane);
            const offset_t first = env.chunk_first[from + lane * warps()];
            const offset_t last = smaller(first + CHUNK, env.offsets[row + 1]);
            hook_row(row, first + lane_id(), last, 32, false); // no mark: other warps would then skip the rest of the row
        }
    }
    const auto hook = [&](bool mine, u32 v) {
        const offset_t first = mine ? env.offsets[v] : 0, end = mine ? env.offsets[v + 1] : 0, degree = end - first;
        const offset_t last = env.chunk_count && degree > LONG_ROW ? first : end, alone = smaller(last, first + 32);
        hook_row(v, first, alone, 1, true);
        for (u32 left = ballot(alone < last); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1;
            hook_row(shuffle(v, lane), shuffle(alone, lane) + lane_id(), shuffle(last, lane), 32, true);
        }
    };
    Waiting waiting = {room.held[warp_in_block()], 0};
    outside.each([&](const bool* mine, const u32* v) { waiting.add(mine, v, hook); });
    waiting.close(hook);
}
