// K-core by H-index estimates. Every vertex starts with its degree and falls to the largest h such that h of its
// neighbours have estimates of at least h, until none falls; the limits are the core numbers.   [Montresor et al., TPDS
// 2013; Lü et al., 2016]
//
// A round reads ``before`` and writes ``f_core``. We keep a vertex's support in ``f_lost``: the number of neighbours
// with estimates at least as high as its own. A vertex that falls decrements the support of neighbours that it falls
// below. A vertex whose support drops below its estimate is evaluated in the next round; so only affected vertices are.
// Where an estimate is still an upper bound, support is UNKNOWN: the vertex is evaluated again, and decrements cannot
// list it twice.
//
// Phases are separated by grid barriers (release and acquire), so plain loads see the values of the phase before.

typedef decltype(+*env.f_core) core_value;
#define UNKNOWN (-(1ll << 60))

struct HindexRoom {
    Staging staging, more;
    u32 bins[BLOCK / 32][BINS];
    u32 last;
};

// Counters of a round: three slots in rotation; slot 0 belongs to the messages.
DEVICE i64* slot_in_turn(i64 round) { return slot_of(1 + (round + 3) % 3); }
DEVICE u32* evaluation_list(i64 round) { return round & 1 ? env.live1 : env.live0; }

// Bins of neighbours' estimates, from ``top`` down: EXACT of one estimate each, then BINS - EXACT of ``width`` each.
struct Scale {
    i64 top, width;

    __device__ static Scale of(i64 top) {
        const i64 shared = BINS - EXACT;
        return {top, larger((top - EXACT + shared) / shared, 1ll)};
    }
    __device__ u32 bin(i64 estimate) const {
        const i64 below = top - estimate;
        return (u32)(below < EXACT ? below : EXACT + (below - EXACT) / width);
    }
    __device__ i64 high(i64 bin) const { return bin < EXACT ? top - bin : top - EXACT - (bin - EXACT) * width; }
    __device__ i64 low(i64 bin) const { return bin < EXACT ? top - bin : larger(high(bin) - width + 1, 0ll); }
};

// An estimate and its support; UNKNOWN if the estimate is an upper bound.
struct Found {
    i64 estimate, support;
};

// Highest bin at which the count from above reaches the bin's lowest estimate. By a whole warp.
DEVICE Found found_in(const u32* bins, const Scale& scale) {
    const u32 each = BINS / 32, first = lane_id() * each;
    u32 mine = 0;
    for (u32 j = 0; j < each; j++) mine += bins[first + j];
    u32 count = sum_up_to_lane(mine) - mine, at = BINS;
    for (u32 j = 0; j < each && at == BINS; j++) {
        count += bins[first + j];
        if ((i64)count >= scale.low(first + j)) at = first + j;
    }
    const u32 lane = __ffs(ballot(at < BINS)) - 1;
    at = shuffle(at, lane), count = shuffle(count, lane);
    return {larger(scale.high(at), 0ll), scale.low(at) == scale.high(at) ? (i64)count : UNKNOWN};
}

// Count the estimates of neighbours e, e + step … before ``last`` in bins; returns those in the top bin.
DEVICE u32 fill_bins(u32* bins, const Scale& scale, offset_t e, offset_t last, u32 step) {
    u32 high = 0;
    for (; e < last; e += 4 * step) {
        u32 v[4];
        i64 x[4];
        for (u32 k = 0; k < 4; k++) v[k] = e + k * step < last ? env.out_neighbours[e + k * step] : 0;
        for (u32 k = 0; k < 4; k++) x[k] = e + k * step < last ? (i64)env.before[v[k]] : -1;
        for (u32 k = 0; k < 4; k++) {
            if (x[k] >= scale.top) high++;
            else if (x[k] >= 0) atomicAdd(bins + scale.bin(x[k]), 1u);
        }
    }
    return high;
}

// H-index of up to TINY_ROW neighbours by one thread: hexadecimal digit i - 1 counts estimates of at least i.
DEVICE Found found_locally(i64 estimate, offset_t e, offset_t last) {
    const u64 degree = (u64)(last - e);
    u64 counts = 0;
    for (; e < last; e++) {
        const i64 x = smaller((i64)env.before[env.out_neighbours[e]], (i64)TINY_ROW);
        counts += x ? 0x1111111111111111ull >> (64 - 4 * x) : 0;
    }
    for (i64 h = smaller(estimate, (i64)TINY_ROW); h > 0; h--) {
        const i64 count = (i64)(counts >> (4 * h - 4) & 15);
        if (count >= h) return {h, count};
    }
    return {0, (i64)degree};
}

// Evaluation of vertices in one round, and the lists that they go to.
struct RowEvaluator {
    Front lowered;
    List again, to_send;
    u32 stamp;
    u32* bins;

    __device__ void open(i64 round, u32 number, HindexRoom& room) {
        u32(*held)[STAGED_VERTICES] = room.staging.held[warp_in_block()], (*more)[STAGED_VERTICES] = room.more.held[warp_in_block()];
        lowered.open(held[0], env.queue1, env.sums1, slot_in_turn(round), TAIL);
        again.open(held[1], evaluation_list(round + 1), slot_in_turn(round + 1) + TOUCHED_TAIL);
        if (!FUSED) to_send.open(more[0], env.queue0, slot_of(0) + TAIL);
        stamp = number, bins = room.bins[warp_in_block()];
    }

    __device__ void close() {
        lowered.close();
        again.close();
        if (!FUSED) to_send.close();
    }

    // Store the results of a vertex of each lane and list it.
    __device__ void settle(bool mine, u32 v, i64 before, const Found& f) {
        if (mine) env.f_core[v] = (core_value)f.estimate, env.f_lost[v] = f.support;
        const bool fell = mine && f.estimate < before;
        lowered.add(fell, v);
        again.add(mine && f.support == UNKNOWN, v);
        if (FUSED) return;
        const bool shared = fell && env.mirror_slot_offsets[v] < env.mirror_slot_offsets[v + 1];
        to_send.add(shared && atomicExch(env.stamps + v, stamp) != stamp, v);
    }

    __device__ Found by_warp(i64 estimate, offset_t first, offset_t last) {
        const Scale scale = Scale::of(estimate);
        for (u32 b = lane_id(); b < BINS; b += 32) bins[b] = 0;
        __syncwarp();
        const u32 high = warp_sum(fill_bins(bins, scale, first + lane_id(), last, 32));
        if (lane_id() == 0) bins[0] = high;
        __syncwarp();
        return found_in(bins, scale);
    }

    // List the pieces of a long row, which whole blocks evaluate.
    __device__ void cut(i64* slot, u32 v, u64 degree) const {
        const u64 count = (degree + PIECE - 1) / PIECE, at = atomicAdd((u64*)(slot + PIECES_TAIL), count);
        const u64 hub = count > 1 ? atomicAdd((u64*)(slot + HUBS_TAIL), (u64)1) : 0;
        for (u64 i = at; i < at + count; i++)
            env.pieces[i] = v, env.piece_hubs[i] = (u32)hub, env.piece_at[i] = (u32)(i - at);
    }

    // Evaluate a vertex of each lane: alone, by the warp, or later in pieces.
    __device__ void evaluate(i64* slot, bool mine, u32 v) {
        const offset_t e = mine ? env.out_offsets[v] : 0, last = mine ? env.out_offsets[v + 1] : 0;
        const u64 degree = (u64)(last - e);
        const i64 before = mine ? (i64)env.before[v] : 0;
        Found f = {0, 0};
        if (mine && degree <= TINY_ROW) f = found_locally(before, e, last);
        for (u32 left = ballot(degree > TINY_ROW && degree <= WARP_ROW); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1;
            const Found its = by_warp(shuffle(before, lane), shuffle(e, lane), shuffle(last, lane));
            if (lane_id() == lane) f = its;
        }
        if (degree > WARP_ROW) cut(slot, v, degree);
        settle(mine && degree <= WARP_ROW, v, before, f);
    }

    // Evaluate the vertices of a list (null: every master). Warps claim chunks dynamically, smaller ones if there are
    // few vertices.
    __device__ void evaluate_list(i64* slot, const u32* list, u64 count) {
        const u64 some = smaller(larger(count / (TURNS * warps()), (u64)1), (u64)MOST_CLAIMED);
        while (true) {
            u64 first = 0;
            if (lane_id() == 0) first = atomicAdd((u64*)(slot + CLAIMED), some);
            first = shuffle(first, 0);
            if (first >= count) return;
            const u64 last = smaller(first + some, count);
            for (u64 at = first; at < last; at += 32) {
                const u64 i = at + lane_id();
                const bool mine = i < last;
                evaluate(slot, mine, !mine ? 0 : list ? FRESH(list + i) : (u32)i);
            }
        }
    }

    // Evaluate pieces of long rows, a block each; for a row of several pieces the last block to finish evaluates the
    // sum.
    __device__ void evaluate_pieces(i64* slot, HindexRoom& room) {
        u32* all = room.bins[0];
        const u64 count = (u64)FRESH(slot + PIECES_TAIL);
        for (u64 i = blockIdx.x; i < count; i += gridDim.x) {
            const u32 v = FRESH(env.pieces + i);
            const offset_t start = env.out_offsets[v], end = env.out_offsets[v + 1];
            const offset_t first = start + (offset_t)FRESH(env.piece_at + i) * PIECE;
            const u32 pieces = (u32)((end - start + PIECE - 1) / PIECE);
            const i64 before = (i64)env.before[v];
            const Scale scale = Scale::of(before);
            for (u32 b = threadIdx.x; b < BINS; b += BLOCK) all[b] = 0;
            __syncthreads();
            const offset_t last = (offset_t)smaller((u64)end, (u64)first + PIECE);
            const u32 high = warp_sum(fill_bins(all, scale, first + threadIdx.x, last, BLOCK));
            if (lane_id() == 0) atomicAdd(all, high);
            __syncthreads();
            if (pieces > 1 && !gathers(room, FRESH(env.piece_hubs + i), pieces)) continue;
            if (warp_in_block() == 0) {
                const Found f = found_in(all, scale);
                settle(lane_id() == 0, v, before, f);
            }
            __syncthreads();
        }
    }

    // Add a block's bins to those of its row. The last block of the row takes the sums and clears them; fences around
    // the counter order the bins.
    __device__ bool gathers(HindexRoom& room, u32 hub, u32 pieces) const {
        u32 *all = room.bins[0], *sums = env.hub_bins + (u64)hub * (BINS + 1);
        for (u32 b = threadIdx.x; b < BINS; b += BLOCK)
            if (all[b]) atomicAdd(sums + b, all[b]);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) room.last = atomicAdd(sums + BINS, 1u) + 1 == pieces;
        __syncthreads();
        const bool last = room.last;
        __syncthreads();
        if (!last) return false;
        __threadfence();
        for (u32 b = threadIdx.x; b < BINS; b += BLOCK) all[b] = FRESH(sums + b), sums[b] = 0;
        if (threadIdx.x == 0) sums[BINS] = 0;
        __syncthreads();
        return true;
    }
};
