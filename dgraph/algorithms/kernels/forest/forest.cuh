// Minimum spanning forest of a graph on one GPU or on several.   [Boruvka 1926; Fallin, Gonzalez, Seo & Burtscher, SC 2023: ECL-MST]
//
// All trees choose their first edge at once and join along it, round by round, so that roots are those of the CPU. Edges
// are ordered by weight and by the places of their ends in the order of ids. ``PACKED``: that is one 64-bit word, so one
// atomicMin at a root chooses; else the least weight is chosen first, then among its edges the least pair of ends. As a
// word names an edge, a root finds the other tree without a pass over the edges. Lists hold edges by the roots of their
// ends, and shrink. forest_rows.cuh lists them.
//
// PART: this GPU has the rows of a part of the graph, and the trees of the whole graph (forest_parts.cuh). The vertex of a row
// is its place in the order of all ids.
//
// Between kernels all memory is ordered; within one, only ``best``, ``second``, ``next`` and counters are read while others
// write, and an older value of these is only less good.

struct Env {
    const offset_t* offsets;
    const u32* neighbours;
    const weight_t* weights; // null: all edges weigh 1
    const original_t* original; // id of each vertex; null: its number
    const u32 *place, *vertex; // place of each row in the order of ids; row of each place; null: rows are in order (PART: places only)
    const u32* chunk_rows; // pieces of the longest rows
    const offset_t* chunk_first;
    u32* tree; // of each row
    u32* in_giant; // bit of each row: its tree is ``giant``; null: not known
    u32 *parent, *next; // root of a tree that a root joined; the same while trees join
    u64 *best, *second; // first edge of each root: its word (weight if not PACKED), and its pair of ends
    u64 *chosen, *chosen_pair; // edge along which the tree of a root joined another
    u32 *roots, *roots_left;
    u32 *from_a, *from_b;
    u64 *from_key, *from_pair;
    u32 *to_a, *to_b;
    u64 *to_key, *to_pair;
    u64* counts; // edges in ``to``, or words found or sent; roots left, edges of the forest, sum of the low and of the high halves of weights
    i64* bins; // the same sums of the mantissas of floats, by exponent
    value_t* weight;
    i64 *source, *target;
    u64* sent; // roots, and first words among this GPU's edges, in turn
    const u64* received;
    i64 n, rows, masters, chunks, all_roots, root_count, edge_count, capacity, arrived, bits, least, giant;
    u64 above, upto; // range of words' weights that is listed: above < x <= upto, or from 0 if ``above`` is NONE
};
CONSTANT Env env;

#define NONE 0xffffffffffffffffull
#define EDGES_LISTED 0
#define ROOTS_LEFT 1
#define EDGES_FOUND 2
#define LOW_SUM 3
#define HIGH_SUM 4
#define EXPONENTS 2048

struct Edge {
    u64 key, pair;
};

DEVICE u64 in_order(i64 weight) { return (u64)weight - (u64)env.least; }
DEVICE u64 in_order(double weight) { // -0.0 equals 0.0
    const u64 bits = bits_of(weight + 0.0);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}
DEVICE void weight_of(u64 order, i64& weight) { weight = (i64)(order + (u64)env.least); }
DEVICE void weight_of(u64 order, double& weight) { weight = value_of((u64)(order >> 63 ? order & ~(1ull << 63) : ~order)); }

DEVICE u32 vertex_of(u32 row) { return PART ? env.place[row] : row; }
DEVICE u32 place_of(u32 v) { return !PART && env.place ? env.place[v] : v; }
DEVICE u32 vertex_at(u64 place) { return !PART && env.vertex ? env.vertex[place] : (u32)place; }
DEVICE i64 id_of(u64 v) { return env.original ? (i64)env.original[v] : (i64)v; }
DEVICE u64 order_of(u64 e) { return in_order((value_t)(env.weights ? env.weights[e] : (weight_t)1)); }

// True if this one of both arcs of an edge stands for it, of which the other may be on another rank. All ranks choose
// alike, and about half of the arcs of each.
DEVICE bool stands_for_edge(u32 a, u32 b) { return (a ^ b) & 1 ? a < b : a > b; }

DEVICE Edge edge_of(u32 u, u32 v, u64 order) {
    const u64 a = place_of(u), b = place_of(v), pair = smaller(a, b) << env.bits | larger(a, b);
    return PACKED ? Edge{order << 2 * env.bits | pair, 0} : Edge{order, pair};
}
DEVICE u64 order_in(const Edge& x) { return PACKED ? x.key >> 2 * env.bits : x.key; }
DEVICE u64 pair_in(const Edge& x) { return PACKED ? x.key : x.pair; }
DEVICE u64 low_place(const Edge& x) { return pair_in(x) >> env.bits & ((1ull << env.bits) - 1); }
DEVICE u64 high_place(const Edge& x) { return pair_in(x) & ((1ull << env.bits) - 1); }
DEVICE bool is_before(const Edge& x, const Edge& y) { return x.key < y.key || (!PACKED && x.key == y.key && x.pair < y.pair); }
DEVICE bool is_edge(const Edge& x) { return pair_in(x) != NONE; } // a pair is two places, never NONE
DEVICE Edge load_edge(const u64* keys, const u64* pairs, u64 at) { return {keys[at], PACKED ? 0 : pairs[at]}; }
DEVICE void store_edge(u64* keys, u64* pairs, u64 at, const Edge& x) {
    keys[at] = x.key;
    if (!PACKED) pairs[at] = x.pair;
}

// The first look may read an old, larger value from L1: it only spares atomics.
DEVICE void lower(u64* at, u64 key) {
    if (key < *at) atomicMin(at, key);
}

// Edges that a warp has found, until there are STORED to be stored side by side.
#define STORED 64
struct Found {
    u32 a[STORED + 32], b[STORED + 32];
    u64 key[STORED + 32], pair[PACKED ? 1 : STORED + 32];
};
struct FoundRoom {
    Found of[BLOCK / 32];
};

struct Lister {
    Found& found;
    u32 count;

    __device__ void add(bool mine, u32 a, u32 b, const Edge& edge, bool lowers = true) { // by whole warps
        const u32 all = ballot(mine), at = count + __popc(all & ((1u << lane_id()) - 1));
        if (mine) {
            found.a[at] = a, found.b[at] = b;
            store_edge(found.key, found.pair, at, edge);
            if (lowers) lower(env.best + a, edge.key), lower(env.best + b, edge.key);
        }
        count += __popc(all);
        __syncwarp();
        if (count >= STORED) store(STORED);
    }

    __device__ void store(u32 many) {
        u64 to = lane_id() == 0 ? atomicAdd(env.counts + EDGES_LISTED, (u64)many) : 0;
        to = shuffle(to, 0);
        for (u32 i = lane_id(); i < many && to + i < (u64)env.capacity; i += 32) {
            env.to_a[to + i] = found.a[i], env.to_b[to + i] = found.b[i];
            store_edge(env.to_key, env.to_pair, to + i, load_edge(found.key, found.pair, i));
        }
        count -= many;
        __syncwarp();
        if (lane_id() < count) { // at most 32 more
            found.a[lane_id()] = found.a[many + lane_id()], found.b[lane_id()] = found.b[many + lane_id()];
            store_edge(found.key, found.pair, lane_id(), load_edge(found.key, found.pair, many + lane_id()));
        }
        __syncwarp();
    }

    __device__ void close() {
        if (count) store(count);
    }
};

// Every vertex is a tree without an edge.
KERNEL begin(i64 clears_chosen) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        env.parent[v] = (u32)v, env.next[v] = (u32)v;
        store_edge(env.best, env.second, v, {NONE, NONE});
        if (clears_chosen) store_edge(env.chosen, env.chosen_pair, v, {NONE, NONE});
    }
}

// List the edges that were chosen, for all vertices to begin again with these.
KERNEL list_chosen(i64) {
    SHARED(FoundRoom, room);
    Lister lister = {room.of[warp_in_block()], 0};
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.n; v += threads()) {
        const Edge edge = v < (u64)env.n ? load_edge(env.chosen, env.chosen_pair, v) : Edge{NONE, NONE};
        const bool mine = v < (u64)env.n && is_edge(edge);
        if (mine) store_edge(env.chosen, env.chosen_pair, v, {NONE, NONE});
        lister.add(mine, mine ? vertex_at(low_place(edge)) : 0, mine ? vertex_at(high_place(edge)) : 0, edge);
    }
    lister.close();
}

// Keep the listed edges that still join two trees.
KERNEL shrink(i64) {
    SHARED(FoundRoom, room);
    Lister lister = {room.of[warp_in_block()], 0};
    for (u64 i = thread_rank(); i - lane_id() < (u64)env.edge_count; i += threads()) {
        const bool mine = i < (u64)env.edge_count;
        const u32 a = mine ? env.parent[env.from_a[i]] : 0, b = mine ? env.parent[env.from_b[i]] : 0;
        if (!ballot(a != b)) continue;
        lister.add(a != b, a, b, a != b ? load_edge(env.from_key, env.from_pair, i) : Edge{NONE, NONE});
    }
    lister.close();
}

// Where a word is the weight alone: of the lightest edges of each tree, the pair of ends that comes first.
KERNEL choose_pairs(i64) {
    for (u64 i = thread_rank(); i < (u64)env.edge_count; i += threads()) {
        const Edge edge = load_edge(env.from_key, env.from_pair, i);
        const u32 a = env.from_a[i], b = env.from_b[i];
        if (env.best[a] == edge.key) lower(env.second + a, edge.pair);
        if (env.best[b] == edge.key) lower(env.second + b, edge.pair);
    }
}

#define ROOTS_AT_ONCE 4
DEVICE u32 root_at(u64 i) { return env.all_roots ? (u32)i : env.roots[i]; }
DEVICE u32 root_of(u32 v) {
    for (u32 up; (up = env.parent[v]) != v;) v = up;
    return v;
}

// Let every root with an edge join the tree at the other end. Of two that chose the same edge the smaller id stays.
KERNEL hook(i64) {
    const u64 count = env.all_roots ? env.n : env.root_count;
    for (u64 i = thread_rank(); i < count; i += threads()) {
        const u32 root = root_at(i);
        const Edge edge = load_edge(env.best, env.second, root);
        if (!is_edge(edge)) continue;
        const u32 low = root_of(vertex_at(low_place(edge)));
        const u32 other = low == root ? root_of(vertex_at(high_place(edge))) : low;
        const Edge theirs = load_edge(env.best, env.second, other);
        const bool stays = theirs.key == edge.key && theirs.pair == edge.pair && place_of(root) < place_of(other);
        env.next[root] = stays ? root : other;
        if (!stays) store_edge(env.chosen, env.chosen_pair, root, edge);
    }
}

// Make every root that joined another a child of the last one, and list those that stay. Paths are halved on the way. A
// thread takes ROOTS_AT_ONCE of them for each count of a warp.
KERNEL settle(i64) {
    const u64 count = env.all_roots ? env.n : env.root_count;
    for (u64 from = thread_rank(); from - lane_id() < count; from += ROOTS_AT_ONCE * threads()) {
        u32 roots[ROOTS_AT_ONCE], all[ROOTS_AT_ONCE], total = 0;
        for (int k = 0; k < ROOTS_AT_ONCE; k++) {
            const u64 i = from + k * threads();
            const u32 root = roots[k] = i < count ? root_at(i) : 0;
            const bool mine = i < count && is_edge(load_edge(env.best, env.second, root));
            u32 up = mine ? env.next[root] : root, above;
            for (u32 below = root; mine && up != (above = env.next[up]); below = up, up = above) env.next[below] = above;
            if (mine) {
                env.parent[root] = up;
                store_edge(env.best, env.second, root, {NONE, NONE});
            }
            all[k] = ballot(mine && up == root), total += __popc(all[k]);
        }
        u64 at = lane_id() == 0 && total ? atomicAdd(env.counts + ROOTS_LEFT, (u64)total) : 0;
        at = shuffle(at, 0);
        for (int k = 0; k < ROOTS_AT_ONCE; k++) {
            if (all[k] >> lane_id() & 1) env.roots_left[at + __popc(all[k] & ((1u << lane_id()) - 1))] = roots[k];
            at += __popc(all[k]);
        }
    }
}

// Make every vertex a child of the root of its tree.
KERNEL flatten(i64) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const u32 root = root_of((u32)v);
        if (env.parent[v] != root) env.parent[v] = root;
    }
}

// Sums of a thread: of integers until the end, of floats until a warp adds them up by exponent.
struct Sums {
    u64 edges, low, high;
};
DEVICE void sum_up(Sums& sums, i64 weight, bool mine) {
    if (mine) sums.low += (u64)weight & 0xffffffffull, sums.high += (u64)(weight >> 32);
}
DEVICE void sum_up(Sums&, double weight, bool mine) {
    const u64 bits = mine ? bits_of(weight) : 0;
    u32 exponent = (u32)(bits >> 52) & (EXPONENTS - 1);
    i64 whole = (i64)(bits & ((1ull << 52) - 1)) | (exponent ? 1ll << 52 : 0);
    exponent = larger(exponent, 1u); // subnormal numbers have that of the smallest normal ones
    if (bits >> 63) whole = -whole;
    for (u32 left = ballot(mine && whole); left;) {
        const u32 common = shuffle(exponent, __ffs(left) - 1);
        const bool same = mine && exponent == common;
        const i64 low = warp_sum(same ? whole & 0xffffffffll : 0), high = warp_sum(same ? whole >> 32 : 0);
        if (lane_id() == 0) add(env.bins + common, low), add(env.bins + EXPONENTS + common, high);
        left &= ~ballot(same);
    }
}

// Write the columns of the masters, and sum up their weights exactly.
KERNEL fill(i64) {
    Sums sums = {0, 0, 0};
    for (u64 u = thread_rank(); u - lane_id() < (u64)env.masters; u += threads()) {
        const bool here = u < (u64)env.masters;
        const Edge edge = here ? load_edge(env.chosen, env.chosen_pair, vertex_of((u32)u)) : Edge{NONE, NONE};
        const bool mine = here && is_edge(edge);
        value_t weight = NO_WEIGHT;
        if (mine) weight_of(order_in(edge), weight);
        if (here) {
            env.weight[u] = weight;
            env.source[u] = mine ? id_of(vertex_at(low_place(edge))) : -1;
            env.target[u] = mine ? id_of(vertex_at(high_place(edge))) : -1;
        }
        sum_up(sums, weight, mine);
        sums.edges += mine;
    }
    const u64 edges = warp_sum(sums.edges), low = warp_sum(sums.low), high = warp_sum(sums.high);
    if (lane_id() || !edges) return;
    atomicAdd(env.counts + EDGES_FOUND, edges), atomicAdd(env.counts + LOW_SUM, low), atomicAdd(env.counts + HIGH_SUM, high);
}
