// Core numbers as estimates that fall. Every vertex begins with its degree, and falls to the largest h such that h of
// its neighbours have estimates of h or more, until none falls.   [Montresor et al., TPDS 2013; Lü et al., 2016]
//
// A round reads ``before`` and writes ``f_core``. ``f_lost`` holds a vertex's support: how many neighbours have
// estimates as high as its own. A vertex that falls takes itself off the support of those neighbours that it falls
// below, and one whose support becomes less than its estimate is looked at in the next round. Where an estimate is only
// a bound yet, support is UNKNOWN: the vertex is looked at again, and what is taken off cannot list it twice.
//
// What a phase reads was written before a barrier of the grid, which is an acquire: so plain loads see it.

typedef decltype(+*env.f_core) core_value;
#define UNKNOWN (-(1ll << 60))

struct EstimatesRoom {
    Staging staging, more;
    u32 bins[BLOCK / 32][BINS];
    u32 last;
};

// Counters of a round: three slots in turn; the first one is that of the messages.
DEVICE i64* slot_in_turn(i64 round) { return slot_of(1 + (round + 3) % 3); }
DEVICE u32* looked_at(i64 round) { return round & 1 ? env.live1 : env.live0; }

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

// An estimate, and its support; UNKNOWN where the estimate is a bound that was found among several.
struct Found {
    i64 estimate, support;
};

// The first bin down to which as many neighbours were counted as its lowest estimate says. By a whole warp.
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

// Estimates of the neighbours e, e + step … before ``last``; returns how many are in the first bin.
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

// Up to TINY_ROW neighbours by one thread: hexadecimal digit i - 1 counts those of i or more.
DEVICE Found found_alone(i64 estimate, offset_t e, offset_t last) {
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

// Vertices that are looked at in one round, and where they go from there.
struct Looking {
    Front fallen;
    List again, told;
    u32 stamp;
    u32* bins;

    __device__ void open(i64 round, u32 number, EstimatesRoom& room) {
        u32(*held)[64] = room.staging.held[warp_in_block()], (*more)[64] = room.more.held[warp_in_block()];
        fallen.open(held[0], env.queue1, env.sums1, slot_in_turn(round), TAIL);
        again.open(held[1], looked_at(round + 1), slot_in_turn(round + 1) + TOUCHED_TAIL);
        if (!FUSED) told.open(more[0], env.queue0, slot_of(0) + TAIL);
        stamp = number, bins = room.bins[warp_in_block()];
    }

    __device__ void close() {
        fallen.close();
        again.close();
        if (!FUSED) told.close();
    }

    // A vertex of each lane that has one.
    __device__ void settle(bool mine, u32 v, i64 before, const Found& f) {
        if (mine) env.f_core[v] = (core_value)f.estimate, env.f_lost[v] = f.support;
        const bool fell = mine && f.estimate < before;
        fallen.add(fell, v);
        again.add(mine && f.support == UNKNOWN, v);
        if (FUSED) return;
        const bool shared = fell && env.told_offsets[v] < env.told_offsets[v + 1];
        told.add(shared && atomicExch(env.stamps + v, stamp) != stamp, v);
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

    // A vertex with a long row waits for whole blocks, a piece each.
    __device__ void cut(i64* slot, u32 v, u64 degree) const {
        const u64 count = (degree + PIECE - 1) / PIECE, at = atomicAdd((u64*)(slot + PIECES_TAIL), count);
        const u64 hub = count > 1 ? atomicAdd((u64*)(slot + HUBS_TAIL), (u64)1) : 0;
        for (u64 i = at; i < at + count; i++)
            env.pieces[i] = v, env.piece_hubs[i] = (u32)hub, env.piece_at[i] = (u32)(i - at);
    }

    // A vertex of each lane that has one: alone, by the warp, or later.
    __device__ void look_at(i64* slot, bool mine, u32 v) {
        const offset_t e = mine ? env.out_offsets[v] : 0, last = mine ? env.out_offsets[v + 1] : 0;
        const u64 degree = (u64)(last - e);
        const i64 before = mine ? (i64)env.before[v] : 0;
        Found f = {0, 0};
        if (mine && degree <= TINY_ROW) f = found_alone(before, e, last);
        for (u32 left = ballot(degree > TINY_ROW && degree <= WARP_ROW); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1;
            const Found its = by_warp(shuffle(before, lane), shuffle(e, lane), shuffle(last, lane));
            if (lane_id() == lane) f = its;
        }
        if (degree > WARP_ROW) cut(slot, v, degree);
        settle(mine && degree <= WARP_ROW, v, before, f);
    }

    // ``list``: null for every master. Warps take some at a time, fewer where there are few.
    __device__ void look(i64* slot, const u32* list, u64 count) {
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
                look_at(slot, mine, !mine ? 0 : list ? FRESH(list + i) : (u32)i);
            }
        }
    }

    // By whole blocks. Of a row of several pieces the block that counts last finds what all have counted.
    __device__ void look_at_pieces(i64* slot, EstimatesRoom& room) {
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

    // Add a block's bins to those of a hub; the last of its blocks takes all of them, and leaves none.
    __device__ bool gathers(EstimatesRoom& room, u32 hub, u32 pieces) const {
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

// Take the vertices of a list that fell off their neighbours' support; those that lack it now are looked at next.
DEVICE void take_support(const Work& work, const u32* neighbours, List& next) {
    for (u64 edge = warp_rank() * WARP_PIECE; edge < work.edges; edge += warps() * WARP_PIECE) {
        const u64 end = smaller(edge + WARP_PIECE, work.edges);
        u64 window = search_by_warp(work, edge), at = edge;
        while (at < end) {
            const u64 i = window + lane_id();
            const bool mine = i < work.count;
            const u32 u = mine ? work.item(i) : 0;
            const u64 start = mine ? work.start(i) : work.edges;
            const offset_t base = mine ? work.first(u) - (offset_t)start : 0;
            const core_value was = mine ? env.before[u] : 0, now = mine ? env.f_core[u] : 0;
            const u64 stop = smaller(end, shuffle(start, 31));
            for (; at < stop; at += 32 * AT_ONCE) {
                u32 v[AT_ONCE];
                core_value x[AT_ONCE], high[AT_ONCE], low[AT_ONCE];
                bool has[AT_ONCE];
                for (int k = 0; k < AT_ONCE; k++) {
                    const u64 here = at + 32 * k + lane_id();
                    u32 owner = 0;
                    for (u32 step = 16; step; step >>= 1)
                        if (shuffle(start, owner + step) <= here) owner += step;
                    high[k] = shuffle(was, owner), low[k] = shuffle(now, owner);
                    const offset_t e = shuffle(base, owner) + (offset_t)here;
                    has[k] = here < stop;
                    v[k] = has[k] ? neighbours[e] : 0;
                    has[k] = has[k] && v[k] < (u64)env.masters;
                }
                for (int k = 0; k < AT_ONCE; k++) x[k] = has[k] ? env.f_core[v[k]] : 0;
                for (int k = 0; k < AT_ONCE; k++) has[k] = has[k] && low[k] < x[k] && x[k] <= high[k];
                for (int k = 0; k < AT_ONCE; k++) {
                    if (has[k]) has[k] = (i64)atomicAdd((u64*)(env.f_lost + v[k]), ~0ull) == (i64)x[k];
                    next.add(has[k], v[k]);
                }
            }
            at = stop;
            window += 31;
        }
    }
}

DEVICE Work fallen_masters(i64 round) {
    const i64* slot = slot_in_turn(round);
    return {env.queue1, env.sums1, env.out_offsets, (u64)listed(slot, TAIL), (u64)listed_edges(slot, TAIL), 0};
}

DEVICE Work fallen_mirrors(i64 round) {
    const i64* slot = slot_in_turn(round);
    return {env.mirrors, env.sums0, env.back_offsets - env.masters, (u64)listed(slot, HUGE_TAIL),
            (u64)listed_edges(slot, HUGE_TAIL), 0};
}

// Mirrors that were heard of stand in the queue behind the masters that were told of.
DEVICE void list_mirrors(i64 round, u64 told, EstimatesRoom& room) {
    Front front;
    front.open(room.staging.held[warp_in_block()][0], env.mirrors, env.sums0, slot_in_turn(round), HUGE_TAIL);
    front.offsets = env.back_offsets - env.masters;
    const u64 count = listed(slot_of(0), TAIL) - told;
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const bool mine = i < count;
        front.add(mine, mine ? FRESH(env.queue0 + told + i) : 0);
    }
    front.close();
}

DEVICE void keep_estimates(const Work& work) {
    for (u64 i = thread_rank(); i < work.count; i += threads()) {
        const u32 v = FRESH(work.items + i);
        env.before[v] = env.f_core[v];
    }
}

// Rounds until nothing falls; between ranks, until there is much to do again: up to ``limit`` of them.
KERNEL estimate(i64 limit) {
    SHARED(EstimatesRoom, room);
    i64* c = env.control;
    u32 due = (u32)FRESH(c + GATE);
    i64 round = FRESH(c + ROUND);
    const i64 end = round + limit, few = FUSED ? 0 : FRESH(env.post + POST_FEW);
    const u32 stamp = FUSED ? 0 : (u32)FRESH(env.post + POST_NUMBER) + 1;
    bool hears = !FUSED && round > 0;
    if (hears) {
        list_mirrors(round - 1, (u64)FRESH(c + ACTIVE), room);
        meet(env.gate, due);
    }
    u64 fell, again;
    while (true) {
        i64 *slot = slot_in_turn(round), *next = slot_in_turn(round + 1);
        if (round > 0) {
            List list;
            list.open(room.staging.held[warp_in_block()][0], looked_at(round), slot + TOUCHED_TAIL);
            take_support(fallen_masters(round - 1), env.out_neighbours, list);
            if (hears) take_support(fallen_mirrors(round - 1), env.back_neighbours, list);
            list.close();
            meet(env.gate, due);
            keep_estimates(fallen_masters(round - 1));
            if (hears) keep_estimates(fallen_mirrors(round - 1));
            if (blockIdx.x == 0) clear(next);
            if (blockIdx.x == 0 && hears) clear(slot_of(0));
            meet(env.gate, due);
        }
        hears = false;
        const u64 looked = round ? (u64)FRESH(slot + TOUCHED_TAIL) : (u64)env.masters;
        Looking looking;
        looking.open(round, stamp, room);
        looking.look(slot, round ? looked_at(round) : (const u32*)0, looked);
        looking.close();
        meet(env.gate, due);
        if (FRESH(slot + PIECES_TAIL)) {
            looking.look_at_pieces(slot, room);
            looking.close();
            meet(env.gate, due);
        }
        fell = listed(slot, TAIL), again = (u64)FRESH(next + TOUCHED_TAIL);
        if (thread_rank() == 0) {
            i64* figure = env.ring + (round % RING) * FIGURES;
            figure[0] = (i64)looked, figure[1] = listed_edges(slot, TAIL), figure[2] = PUSH, figure[3] = 0;
        }
        round++;
        // Blocks that go on may add to what is looked at next, but only where some fell: so all blocks decide alike.
        if (fell + again == 0 || round >= end) break;
        if (!FUSED && (fell > (u64)few || listed_edges(slot, TAIL) > few)) break;
    }
    if (thread_rank()) return;
    c[GATE] = due, c[ROUND] = round;
    c[ACTIVE] = FUSED ? 0 : listed(slot_of(0), TAIL), c[QUEUED] = (i64)(fell + again);
    c[EDGES] = listed_edges(slot_in_turn(round - 1), TAIL);
}

// Every vertex's degree, but no more than ``most``.
KERNEL begin_estimates(i64 most) {
    for (u64 v = thread_rank(); v < (u64)env.rows; v += threads())
        env.f_core[v] = env.before[v] = (core_value)smaller((i64)env.degree[v], most);
}

// Edges into mirrors, by mirror: how many, in ``back_offsets`` one place ahead; then, where these begin, whose.
KERNEL turn_edges(i64 fills) {
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.masters; v += threads()) {
        const bool mine = v < (u64)env.masters;
        const offset_t e = mine ? env.out_offsets[v] : 0, last = mine ? env.out_offsets[v + 1] : 0;
        for (u32 left = ballot(e < last); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1, from = shuffle((u32)v, lane);
            const offset_t stop = shuffle(last, lane);
            for (offset_t at = shuffle(e, lane) + lane_id(); at < stop; at += 32) {
                const u32 to = env.out_neighbours[at];
                if (to < (u64)env.masters) continue;
                const offset_t place = atomicAdd(env.back_offsets + (to - env.masters) + !fills, (offset_t)1);
                if (fills) env.back_neighbours[place] = from;
            }
        }
    }
}
