// Lists that a warp appends to: hits are staged in shared memory, and SPILL of them cost one atomic: all that are on one
// word are done one after the other, a nanosecond each.

#define PULLING (WALK == WALK_IN_ROWS)
#define STAGED_VERTICES (WALK == NO_WALK ? 128 : 64) // kernels that only make lists stage more
#define STAGED (2 + (PRIORITY && !FUSED))
#define SPILL (STAGED_VERTICES - 32)
struct Staging {
    u32 held[BLOCK / 32][STAGED][STAGED_VERTICES];
};

// What of it far vertices are staged in, where mirrors may be listed as well.
#define FAR_STAGING (STAGED - 1)

// Kernels that were started ahead of the end of the rounds do nothing.
DEVICE bool is_over() { return (KNOWN(&env.control->done) | KNOWN(&env.control->return_state)) != 0; }

DEVICE i64* slot_of(i64 tick) { return env.counters + (tick & 3) * SLOT; }
// Where a vertex takes one proposal and no more, and all of them are here or its kernel keeps account of them, a bit a
// vertex says whether it has: the bits of a graph of 2**27 vertices stay in a large GPU's cache, its fields do not.
#define SEEN (ONCE && (FUSED || PERSISTENT_BFS))
DEVICE bool is_seen(u32 v) { return LOAD(env.seen + (v >> 5)) >> (v & 31) & 1; }

// A slot's counters, and how many vertices wait in the far bucket, in a block's own memory: read by one warp, since words
// that all warps of a GPU ask for are handed to them one after the other.
struct Counted {
    i64 word[SLOT], waiting;
};

DEVICE const i64* look_up(Counted& counted, const i64* slot) {
    __syncthreads(); // no thread reads the old contents any more
    const u32 at = 8 * lane_id();
    if (warp_in_block() == 0) counted.word[at] = FRESH(slot + at);
    if (WIDE && warp_in_block() == 0) counted.word[at + 1] = FRESH(slot + at + 1);
    if (PRIORITY && threadIdx.x == 32) counted.waiting = FRESH(&env.control->far);
    __syncthreads();
    return counted.word;
}

// By one block.
DEVICE void clear(i64* slot) {
    for (u32 i = threadIdx.x; i < SLOT; i += BLOCK) slot[i] = 0;
}
DEVICE void count(i64* p, i64 x) { atomicAdd((u64*)p, (u64)x); }

// Whether every vertex has all its edges in its master's row, so that a row is as long as its vertex has edges.
DEVICE bool rows_are_whole() { return FUSED || env.whole_rows; }

// n staged vertices of a warp to their places in a list; lane 0 knows where.
DEVICE void put_staged(const u32* held, u32 n, u32* out, u64 at) {
    at = shuffle(at, 0);
    for (u32 k = 0; k < SPILL / 32; k++)
        if (32 * k + lane_id() < n) out[at + 32 * k + lane_id()] = held[32 * k + lane_id()];
    __syncwarp();
}

// The same where staging is full: seldom in small rounds, whose text has it behind every edge.
APART void spill_staged(const u32* held, u32* out, u64 at) { put_staged(held, SPILL, out, at); }

// Vertices in any order.
struct List {
    u32* held;
    u32 staged;
    u32* out;
    i64* tail;

    __device__ void open(u32* staging, u32* list, i64* counter) { held = staging, staged = 0, out = list, tail = counter; }

    __device__ void add(bool hit, u32 v) {
        const u32 hits = ballot(hit);
        if (!hits) return;
        if (hit) held[staged + __popc(hits & ((1u << lane_id()) - 1))] = v;
        staged += __popc(hits);
        __syncwarp();
        if (staged < SPILL) return;
        staged -= SPILL;
        spill_staged(held + staged, out, reserve(SPILL));
    }

    // Room for the last n that are staged, and what fills it: in between, other lists may ask for theirs.
    __device__ u64 reserve(u32 n) const {
        u64 at = 0;
        if (n && lane_id() == 0) at = atomicAdd((u64*)tail, (u64)n);
        return at;
    }

    __device__ void put(u32 n, u64 at) {
        if (n == 0) return;
        staged -= n;
        put_staged(held + staged, n, out, at);
    }

    __device__ void close() { put(staged, reserve(staged)); }
};

// Degrees of vertices that a lane put on a list: on this rank, of masters in the whole graph; the most of one.
struct Degrees {
    i64 local, global;
    u32 most;
};

// n staged vertices of a warp to a list, and their prefix sums; ``found`` and theirs.
DEVICE Degrees put_summed(const u32* held, u32 n, u32* out, prefix_t* sums, const offset_t* offsets, i64* tail, Degrees found) {
    const u32 rows = SPILL / 32;
    u32 v[rows], degree[rows], through[rows], all = 0;
    for (u32 k = 0; k < rows; k++) {
        const u32 i = 32 * k + lane_id();
        const bool mine = i < n;
        v[k] = mine ? held[i] : 0;
        const offset_t first = mine ? offsets[v[k]] : 0, last = mine ? offsets[v[k] + 1] : 0;
        degree[k] = (u32)smaller((u64)(last - first), 0xffffffffull);
        if (mine && degree[k]) {
            PREFETCH(env.out_neighbours + first);
            if (WEIGHTED) PREFETCH(env.out_weights + first);
        }
        found.local += (i64)(last - first);
        if (!rows_are_whole() && mine && v[k] < env.masters) found.global += (i64)env.degree[v[k]];
        found.most = larger(found.most, degree[k]);
    }
    for (u32 k = 0; k < rows; k++) {
        through[k] = WIDE ? 0 : all + sum_up_to_lane(degree[k]);
        if (k + 1 < rows) all = shuffle(through[k], 31);
    }
    u64 at = 0;
    if (lane_id() == 31) at = atomicAdd((u64*)tail, ((u64)through[rows - 1] << 32) | n);
    at = shuffle(at, 31);
    for (u32 k = 0; k < rows; k++) {
        const u32 i = 32 * k + lane_id();
        if (i >= n) continue;
        out[(u32)at + i] = v[k];
        if (!WIDE) sums[(u32)at + i] = (prefix_t)((u32)(at >> 32) + through[k] - degree[k]);
    }
    __syncwarp();
    return found;
}

APART Degrees spill_summed(const u32* held, u32* out, prefix_t* sums, const offset_t* offsets, i64* tail, Degrees found) {
    return put_summed(held, SPILL, out, sums, offsets, tail, found);
}

// A frontier: vertices, and before each the sum of the degrees that stand in front of it. Place and sum come from one
// atomic on (sum of degrees, count), so a list arrives with its prefix sums and need not be scanned. The sums fit 32
// bits; where the edges of a graph do not, WIDE is set and the list is scanned afterwards (scan.cuh).
struct Front {
    u32* held;
    u32 staged;
    u32* out;
    prefix_t* sums;
    const offset_t* offsets;
    i64* slot;
    u32 word;
    Degrees found;

    // ``word``: TAIL, or HUGE_TAIL for a list that is none of the next round.
    __device__ void open(u32* staging, u32* list, prefix_t* prefix, i64* counters, u32 counter) {
        held = staging, staged = 0, out = list, sums = prefix, slot = counters, word = counter;
        offsets = PULLING && counter == HUGE_TAIL ? env.in_offsets : env.out_offsets;
        found = {0, 0, 0};
    }

    __device__ void add(bool hit, u32 v) {
        const u32 hits = ballot(hit);
        if (!hits) return;
        if (hit) held[staged + __popc(hits & ((1u << lane_id()) - 1))] = v;
        staged += __popc(hits);
        __syncwarp();
        if (staged < SPILL) return;
        staged -= SPILL;
        found = spill_summed(held + staged, out, sums, offsets, slot + word, found);
    }

    __device__ void close() {
        if (staged) found = put_summed(held, staged, out, sums, offsets, slot + word, found);
        staged = 0;
        if (WIDE) {
            const i64 all = warp_sum(found.local);
            if (all && lane_id() == 0) count(slot + word + 1, all);
        }
        if (word != TAIL) return;
        if (!rows_are_whole()) {
            const i64 all = warp_sum(found.global);
            if (all && lane_id() == 0) count(slot + EDGE_SUM, all);
        }
        if (ballot(found.most > LOW_DEGREE)) {
            const u32 largest = warp_most(found.most);
            if (lane_id() == 0) atomicMax(slot + MOST_DEGREE, (i64)largest);
        }
    }
};

// Of a list at TAIL or HUGE_TAIL: vertices, and their edges on this rank.
DEVICE u32 listed(const i64* slot, u32 word) { return (u32)FRESH(slot + word); }
DEVICE i64 listed_edges(const i64* slot, u32 word) {
    return WIDE ? FRESH(slot + word + 1) : (i64)((u64)FRESH(slot + word) >> 32);
}
// Edges of the next frontier's masters in the whole graph.
DEVICE i64 front_edges(const i64* slot) { return rows_are_whole() ? listed_edges(slot, TAIL) : FRESH(slot + EDGE_SUM); }
