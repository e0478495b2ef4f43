// Passes over vertices: init, apply, and the far bucket.

struct FloatRoom {
    double part[BLOCK / 32][FLOAT_SUMS ? FLOAT_SUMS : 1];
};

// The sum over a block's threads, always in the same order; known to thread 0.
DEVICE Floats block_sum(Floats a, FloatRoom& room) {
    for (int i = 0; i < FLOAT_SUMS; i++) {
        for (u32 mask = 16; mask; mask >>= 1) a.s[i] += shuffle_xor(a.s[i], mask);
        if (lane_id() == 0) room.part[warp_in_block()][i] = a.s[i];
    }
    __syncthreads();
    for (int i = 0; i < FLOAT_SUMS; i++) {
        a.s[i] = 0;
        for (u32 w = 0; w < BLOCK / 32; w++) a.s[i] += room.part[w][i];
    }
    __syncthreads();
    return a;
}

DEVICE Floats no_floats() {
    Floats r;
    for (int i = 0; i < (FLOAT_SUMS ? FLOAT_SUMS : 1); i++) r.s[i] = 0;
    return r;
}

DEVICE void add_floats(Floats& a, const Floats& b) {
    for (int i = 0; i < FLOAT_SUMS; i++) a.s[i] += b.s[i];
}

// Vertices whose float sums are added up first: every ``parts()``-th run of BLOCK, whatever the grid. Blocks side by
// side work on runs side by side; on pages far apart they would wait for address translation.
DEVICE u64 parts() { return smaller(((u64)env.masters + BLOCK - 1) / BLOCK, (u64)PARTS); }

// Float sums of all parts, in an order that no grid changes; every thread of a block gets them.
DEVICE Floats fold_parts(FloatRoom& room) {
    Floats a = no_floats();
    if (!FLOAT_SUMS) return a;
    for (u64 b = threadIdx.x; b < parts(); b += BLOCK)
        for (int i = 0; i < FLOAT_SUMS; i++) a.s[i] += FRESH(env.parts + b * FLOAT_SUMS + i);
    return block_sum(a, room);
}

// Counts passes that wrote a new list of those that live; where vertices are peeled nothing pulls.
#define NEW_LIST AWAKE

// The list of vertices that live: which of two it is, its length here and on all ranks.
struct LiveList {
    bool swapped;
    i64 count, all;

    __device__ i64 everywhere() const { return FUSED ? count : all; }
    __device__ const u32* list() const { return swapped ? env.live1 : env.live0; }
    __device__ u32* next() const { return swapped ? env.live0 : env.live1; }

    // Whether a pass over all wrote a new list; the length of the one that there is now.
    __device__ bool is_new(const i64* slot) const { return !KCORE_PEEL || FRESH(slot + NEW_LIST) != 0; }
    __device__ i64 after(const i64* slot) const { return is_new(slot) ? FRESH(slot + LIVE_TAIL) : count; }
    __device__ void turn(const i64* slot) { count = after(slot), swapped = swapped != is_new(slot); }
};

struct VertexPass {
    Front front;
    List dirty, live, far;

    __device__ void open(i64* slot, bool swapped, bool far_swapped, const LiveList& living, u32 (*staging)[STAGED_VERTICES],
                         u32 (*more)[STAGED_VERTICES]) {
        front.open(staging[0], swapped ? env.queue0 : env.queue1, swapped ? env.sums0 : env.sums1, slot, TAIL);
        if (DIRTY && !FUSED) dirty.open(staging[1], env.dirty, slot + DIRTY_TAIL);
        if (LIVE) live.open(more[0], living.next(), slot + LIVE_TAIL);
        if (PRIORITY) far.open(staging[FAR_STAGING], far_swapped ? env.far1 : env.far0, &env.control->far);
    }

    // v joins the frontier, or waits where its bucket is not open yet.
    __device__ void add(const Globals& G, bool awake, u32 v) {
        const bool waits = PRIORITY && awake && bucket(v) > G.bucket;
        front.add(awake && !waits, v);
        if (PRIORITY) far.add(waits && marked_far(v), v);
    }

    __device__ void close() {
        if (!ALL) front.close();
        if (DIRTY && !FUSED) dirty.close();
        if (LIVE) live.close();
        if (PRIORITY) far.close();
    }
};

#if KCORE_PEEL
// Vertices that a thread looks up together.
#define PEELED_AT_ONCE 8

// A list that costs nothing to write is_new.
#define SHORT_LIST 4096

// The first round at a k: who has no more neighbours left than its level is dropped. A long list of those that are left is
// written is_new when a quarter of it has been dropped: until then there are some with fewer, which were dropped.
DEVICE void peel_pass(const Globals& G, i64* slot, VertexPass& pass, const LiveList& living) {
    Sums sums = no_sums();
    const u64 many = (u64)living.count;
    const bool first = env.p_single && G.round == 0;
    const bool is_new = many <= SHORT_LIST || 4 * (G.n - G.g_dropped) <= 3 * living.everywhere();
    if (is_new && thread_rank() == 0) count(slot + NEW_LIST, 1);
    for (u64 i = thread_rank(); i - lane_id() < many; i += PEELED_AT_ONCE * threads()) {
        u32 v[PEELED_AT_ONCE];
        i64 rest[PEELED_AT_ONCE], zero[PEELED_AT_ONCE];
        for (int k = 0; k < PEELED_AT_ONCE; k++) {
            const u64 j = i + k * threads();
            v[k] = j < many ? FRESH(living.list() + j) : 0, rest[k] = j < many;
        }
        for (int k = 0; k < PEELED_AT_ONCE; k++) zero[k] = rest[k] ? zero_of(v[k]) : 0;
        for (int k = 0; k < PEELED_AT_ONCE; k++) rest[k] = rest[k] ? (i64)LOAD(env.f_core + v[k]) : -1;
        for (int k = 0; k < PEELED_AT_ONCE; k++) {
            const i64 level = zero[k] + G.g_k;
            const bool stays = rest[k] > level;
            const bool drops = !stays && rest[k] >= (first ? 0 : lowest_of(G, zero[k]));
            if (drops || stays) count_peeled(sums, G, {drops, rest[k] - zero[k]});
#if KCORE_PEEL & PEEL_LEVELS
            if (drops || stays) env.f_start[v[k]] = rest[k];
            if (drops) env.f_core[v[k]] = level;
#endif
            pass.front.add(drops, v[k]);
            if (is_new) pass.live.add(stays, v[k]);
        }
    }
    pass.close();
    flush_sums(slot, sums);
}
#else
DEVICE void peel_pass(const Globals&, i64*, VertexPass&, const LiveList&) {}
#endif

// ``apply`` on the vertices that changed, or on all (that live).
DEVICE void apply_pass(const Globals& G, i64* slot, bool whole, bool swapped, bool far_swapped, const LiveList& living,
                       Staging& staging, Staging& more) {
    VertexPass pass;
    pass.open(slot, swapped, far_swapped, living, staging.held[warp_in_block()], more.held[warp_in_block()]);
    if (KCORE_PEEL) return peel_pass(G, slot, pass, living);
    Sums sums = no_sums();
    const u32* list = !whole ? env.touched : LIVE ? living.list() : (const u32*)0;
    const u64 count = !whole ? (u64)FRESH(slot + TOUCHED_TAIL) : LIVE ? (u64)living.count : (u64)env.masters;
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const bool mine = i < count;
        const u32 v = !mine ? 0 : list ? FRESH(list + i) : (u32)i;
        bool awake = false, dirty = false, stays = false;
        if (mine) {
            const Applied r = apply(G, v);
            reset(v);
            add_sums(sums, r.sums);
            awake = r.awake, dirty = r.awake || r.changed;
            stays = LIVE && whole && lives(G, v);
        }
        pass.add(G, awake, v);
        if (DIRTY && !FUSED) pass.dirty.add(dirty, v);
        if (LIVE && whole) pass.live.add(stays, v);
    }
    pass.close();
    flush_sums(slot, sums);
}

// ``apply`` on every master, with float sums part by part.
DEVICE void apply_all(const Globals& G, i64* slot, FloatRoom& room) {
    const u64 masters = (u64)env.masters;
    Sums sums = no_sums();
    for (u64 b = blockIdx.x; b < parts(); b += gridDim.x) {
        Floats floats = no_floats();
        for (u64 run = b * BLOCK; run < masters; run += parts() * BLOCK) {
            const u64 v = run + threadIdx.x;
            if (v < masters) {
                const Applied r = apply(G, (u32)v);
                reset((u32)v);
                add_sums(sums, r.sums);
                add_floats(floats, r.floats);
            }
            __syncwarp();
        }
        const Floats all = block_sum(floats, room);
        if (threadIdx.x == 0)
            for (int i = 0; i < FLOAT_SUMS; i++) env.parts[b * FLOAT_SUMS + i] = all.s[i];
    }
    flush_sums(slot, sums);
}

// Vertices whose buckets a thread looks up together: they lie far apart, and are under way at once.
#define BUCKETS_AT_ONCE 8

// Vertices ``i``, ``i + threads()`` … of a list, and their buckets; one past the end is in NO_BUCKET.
#define NO_BUCKET (-FAR_BASE)
struct Bucketed {
    u32 v[BUCKETS_AT_ONCE];
    i64 at[BUCKETS_AT_ONCE];

    __device__ Bucketed(const u32* list, u64 i, u64 count) {
        for (int k = 0; k < BUCKETS_AT_ONCE; k++) {
            const u64 j = i + k * threads();
            v[k] = j < count ? FRESH(list + j) : 0, at[k] = j < count;
        }
        for (int k = 0; k < BUCKETS_AT_ONCE; k++) at[k] = at[k] ? bucket(v[k]) : NO_BUCKET;
    }
};

// Changed vertices into the near bucket, which is the next frontier, and the far one.
DEVICE void sort_pass(i64* slot, bool swapped, bool far_swapped, i64 nearest, Staging& staging) {
    Front front;
    List far;
    u32(*held)[STAGED_VERTICES] = staging.held[warp_in_block()];
    front.open(held[0], swapped ? env.queue0 : env.queue1, swapped ? env.sums0 : env.sums1, slot, TAIL);
    far.open(held[1], far_swapped ? env.far1 : env.far0, &env.control->far);
    const u64 count = (u64)FRESH(slot + TOUCHED_TAIL);
    for (u64 i = thread_rank(); i - lane_id() < count; i += BUCKETS_AT_ONCE * threads()) {
        const Bucketed some(env.touched, i, count);
        for (int k = 0; k < BUCKETS_AT_ONCE; k++) {
            const bool mine = some.at[k] > NO_BUCKET, near = mine && some.at[k] <= nearest;
            front.add(near, some.v[k]);
            far.add(mine && !near && marked_far(some.v[k]), some.v[k]);
        }
    }
    front.close();
    far.close();
}

// The lowest bucket above the current one that a waiting vertex is in.
APART void lowest_pass(i64* slot, bool far_swapped, u64 count, i64 current) {
    const u32* far = far_swapped ? env.far1 : env.far0;
    i64 low = 0;
    for (u64 i = thread_rank(); i < count; i += BUCKETS_AT_ONCE * threads()) {
        const Bucketed some(far, i, count);
        for (int k = 0; k < BUCKETS_AT_ONCE; k++)
            if (some.at[k] > current) low = smaller(low, some.at[k] - FAR_BASE);
    }
    low = warp_least(low);
    if (low && lane_id() == 0) atomicMin(slot + FAR_MIN, low);
}

// Vertices of bucket ``opened`` join the frontier; those below it have been through since they began to wait.
APART void open_pass(i64* slot, bool swapped, bool far_swapped, u64 count, i64 current, i64 opened, Staging& staging) {
    Front front;
    List rest;
    u32(*held)[STAGED_VERTICES] = staging.held[warp_in_block()];
    front.open(held[0], swapped ? env.queue0 : env.queue1, swapped ? env.sums0 : env.sums1, slot, TAIL);
    rest.open(held[1], far_swapped ? env.far0 : env.far1, slot + FAR_TAIL);
    const u32* far = far_swapped ? env.far1 : env.far0;
    for (u64 i = thread_rank(); i - lane_id() < count; i += BUCKETS_AT_ONCE * threads()) {
        const Bucketed some(far, i, count);
        for (int k = 0; k < BUCKETS_AT_ONCE; k++) {
            const u32 v = some.v[k];
            const i64 at = some.at[k];
            if (at > NO_BUCKET && at <= opened) atomicAnd(env.waiting + (v >> 5), ~(1u << (v & 31)));
            front.add(at > current && at <= opened, v);
            rest.add(at > opened, v);
        }
    }
    front.close();
    rest.close();
}
