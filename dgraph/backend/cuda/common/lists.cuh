// Lists that a warp appends to: hits are staged in shared memory, and 32 of them cost one atomic.

struct Staging {
    u32 held[BLOCK / 32][2][64];
};

// Kernels that were started ahead of the end of the rounds do nothing.
DEVICE bool is_over() { return (FRESH(env.control + DONE) | FRESH(env.control + LEFT)) != 0; }

DEVICE i64* slot_of(i64 tick) { return env.counters + (tick & 3) * SLOT; }
// Where a vertex takes one proposal and no more, and all of them are here or its kernel keeps account of them, a bit a
// vertex says whether it has: the bits of a graph of 2**27 vertices stay in a large GPU's cache, its fields do not.
#define SEEN (ONCE && (FUSED || REACH))
DEVICE bool is_seen(u32 v) { return LOAD(env.seen + (v >> 5)) >> (v & 31) & 1; }

// By one block.
DEVICE void clear(i64* slot) {
    for (u32 i = threadIdx.x; i < SLOT; i += BLOCK) slot[i] = 0;
}
DEVICE void count(i64* p, i64 x) { atomicAdd((u64*)p, (u64)x); }

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
        if (staged >= 32) spill(32);
    }

    __device__ void spill(u32 n) {
        staged -= n;
        const u32 v = lane_id() < n ? held[staged + lane_id()] : 0;
        u64 at = 0;
        if (lane_id() == 0) at = atomicAdd((u64*)tail, (u64)n);
        at = shuffle(at, 0);
        if (lane_id() < n) out[at + lane_id()] = v;
        __syncwarp();
    }

    __device__ void close() {
        if (staged) spill(staged);
    }
};

// A frontier: vertices, and before each the sum of the degrees that stand in front of it. Place and sum come from one
// atomic on (sum of degrees, count), so a list arrives with its prefix sums and nobody has to scan it. The sums fit 32
// bits; where the edges of a graph do not, WIDE is set and the list is scanned afterwards (scan.cuh).
struct Front {
    u32* held;
    u32 staged;
    u32* out;
    prefix_t* sums;
    const offset_t* offsets;
    i64* slot;
    u32 word;
    i64 local, global;
    u32 most;

    // ``word``: TAIL, or HUGE_TAIL for a list that is none of the next round.
    __device__ void open(u32* staging, u32* list, prefix_t* prefix, i64* counters, u32 counter) {
        held = staging, staged = 0, out = list, sums = prefix, slot = counters, word = counter;
        offsets = PULLING && counter == HUGE_TAIL ? env.in_offsets : env.out_offsets;
        local = global = 0, most = 0;
    }

    __device__ void add(bool hit, u32 v) {
        const u32 hits = ballot(hit);
        if (!hits) return;
        if (hit) held[staged + __popc(hits & ((1u << lane_id()) - 1))] = v;
        staged += __popc(hits);
        __syncwarp();
        if (staged >= 32) spill(32);
    }

    __device__ void spill(u32 n) {
        staged -= n;
        const bool mine = lane_id() < n;
        const u32 v = mine ? held[staged + lane_id()] : 0;
        const offset_t first = mine ? offsets[v] : 0, last = mine ? offsets[v + 1] : 0;
        const u32 degree = (u32)smaller((u64)(last - first), 0xffffffffull);
        if (mine && degree) PREFETCH(env.out_neighbours + first);
        local += (i64)(last - first);
        if (!FUSED && mine && v < env.masters) global += (i64)env.degree[v];
        most = larger(most, degree);
        const u32 through = WIDE ? 0 : sum_up_to_lane(degree);
        u64 at = 0;
        if (lane_id() == 31) at = atomicAdd((u64*)(slot + word), ((u64)through << 32) | n);
        at = shuffle(at, 31);
        if (mine) {
            out[(u32)at + lane_id()] = v;
            if (!WIDE) sums[(u32)at + lane_id()] = (prefix_t)((u32)(at >> 32) + through - degree);
        }
        __syncwarp();
    }

    __device__ void close() {
        if (staged) spill(staged);
        if (WIDE) {
            const i64 all = warp_sum(local);
            if (all && lane_id() == 0) count(slot + word + 1, all);
        }
        if (word != TAIL) return;
        if (!FUSED) {
            const i64 all = warp_sum(global);
            if (all && lane_id() == 0) count(slot + EDGE_SUM, all);
        }
        if (ballot(most > LOW_DEGREE)) {
            const u32 largest = warp_most(most);
            if (lane_id() == 0) atomicMax(slot + MOST, (i64)largest);
        }
    }
};

// Of a list at TAIL or HUGE_TAIL: vertices, and their edges on this rank.
DEVICE u32 listed(const i64* slot, u32 word) { return (u32)FRESH(slot + word); }
DEVICE i64 listed_edges(const i64* slot, u32 word) {
    return WIDE ? FRESH(slot + word + 1) : (i64)((u64)FRESH(slot + word) >> 32);
}
// Edges of the next frontier's masters in the whole graph.
DEVICE i64 front_edges(const i64* slot) { return FUSED ? listed_edges(slot, TAIL) : FRESH(slot + EDGE_SUM); }
