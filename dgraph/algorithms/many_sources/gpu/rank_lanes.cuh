// Personalised PageRank of LANES walks at a time on a GPU: an iteration reads each in-edge once, and with it the LANES shares
// of its source, which are one line of 128 bytes.
//
// GROUP threads hold the lanes of a row, two each. A group sums a row of up to SHORT edges, a warp's groups share one of up
// to LONG, and ``sum_parts`` sums longer ones in parts of PART edges, a warp a part. The order of additions depends on
// the row's length alone, so ranks have the same bits in every run. Totals of all rows are added by thread, warp, block and
// then in the order of blocks, so they have the same bits on one grid. No kernel reads what another thread of it writes.

#define GROUP (LANES / 2)
#define GROUPS (32 / GROUP)

struct alignas(16) Two {
    double of[2];
};

struct Env {
    const offset_t* offsets; // of in-edges, by row
    const u32* sources; // places of their shares
    const weight_t* weights; // read where WEIGHTED
    const leaving_t* leaving; // sum of the weights of the row's out-edges; 0: it is dangling
    double* portions; // its inverse, or 0
    Two* shares; // LANES for each vertex
    Two* following; // those of the next iteration, by row
    Two* ranks; // by row
    const Two* homes; // of the rows at which walks restart, from 1 on: the shares of restarts
    const u32* restarts; // those rows
    u32* home; // by row its place in ``homes``; 0: no walk restarts there
    const Two* control; // by lane: the factor of ``homes``, whether ranks still change, and alpha
    const u32* part_rows; // by part, ascending
    const offset_t* part_firsts; // first edge of each
    Two* part_sums;
    double* totals; // by block: changes and dangling ranks of each lane
    double* sums; // of all blocks
    double* columns; // ranks by lane, then row
    i64 rows, parts, vertices;
};
CONSTANT Env env;

DEVICE u32 pair_id() { return lane_id() % GROUP; }
DEVICE u32 group_id() { return lane_id() / GROUP; }
DEVICE Two none() { return {{0.0, 0.0}}; }
DEVICE void increase(Two& sum, const Two& x) { sum.of[0] += x.of[0], sum.of[1] += x.of[1]; }

DEVICE void take_edges(Two& sum, u64 e, u64 step, u32 count) {
    u32 u[DEEP];
    Two x[DEEP];
#pragma unroll
    for (u32 k = 0; k < DEEP; k++) u[k] = k < count ? env.sources[e + k * step] : 0;
#pragma unroll
    for (u32 k = 0; k < DEEP; k++) x[k] = k < count ? env.shares[(u64)u[k] * GROUP + pair_id()] : none();
#pragma unroll
    for (u32 k = 0; k < DEEP; k++) {
        if (k >= count) continue;
#if WEIGHTED
        const double weight = (double)env.weights[e + k * step];
        x[k].of[0] *= weight, x[k].of[1] *= weight;
#endif
        increase(sum, x[k]);
    }
}

// The sum of the shares at edges ``e``, ``e + step`` … before ``end``, of the two lanes of this thread.
DEVICE Two gathered(u64 e, u64 end, u64 step) {
    Two sum = none();
    for (; e + (DEEP - 1) * step < end; e += DEEP * step) take_edges(sum, e, step, DEEP);
    if (e < end) take_edges(sum, e, step, (u32)((end - e + step - 1) / step));
    return sum;
}

// The sum over the groups of a warp; by whole warps.
DEVICE Two over_groups(Two sum) {
    for (u32 mask = GROUP; mask < 32; mask <<= 1) {
        sum.of[0] += shuffle_xor(sum.of[0], mask);
        sum.of[1] += shuffle_xor(sum.of[1], mask);
    }
    return sum;
}

// A warp takes a part of a long row.
KERNEL sum_parts(i64) {
    for (u64 p = warp_rank(); p < (u64)env.parts; p += warps()) {
        const u64 first = env.part_firsts[p], end = smaller(first + PART, (u64)env.offsets[env.part_rows[p] + 1]);
        const Two sum = over_groups(gathered(first + group_id(), end, GROUPS));
        if (group_id() == 0) env.part_sums[p * GROUP + pair_id()] = sum;
    }
}

// The sum of every n-th part of a long row, n being the groups of a warp.
DEVICE Two of_parts(u64 row, u64 length) {
    const u64 first = first_where(0ull, (u64)env.parts, [&](u64 p) { return env.part_rows[p] >= row; });
    const u64 end = first + (length + PART - 1) / PART;
    Two sum = none();
    for (u64 p = first + group_id(); p < end; p += GROUPS) increase(sum, env.part_sums[p * GROUP + pair_id()]);
    return sum;
}

struct WarpTotals {
    double of[BLOCK / 32][2 * LANES];
};

struct ThreadTotals {
    double of[BLOCK];
};

// Write the totals of a block's threads; by whole blocks.
DEVICE void put_totals(Two change, Two sink) {
    SHARED(WarpTotals, totals);
    change = over_groups(change), sink = over_groups(sink);
    if (group_id() == 0)
        for (u32 k = 0; k < 2; k++) {
            totals.of[warp_in_block()][2 * pair_id() + k] = change.of[k];
            totals.of[warp_in_block()][LANES + 2 * pair_id() + k] = sink.of[k];
        }
    __syncthreads();
    if (threadIdx.x < 2 * LANES) {
        double all = 0.0;
        for (u32 warp = 0; warp < BLOCK / 32; warp++) all += totals.of[warp][threadIdx.x];
        env.totals[(u64)blockIdx.x * 2 * LANES + threadIdx.x] = all;
    }
}

// One block adds the totals of all blocks of the kernel before it.
KERNEL add_totals(i64 blocks) {
    SHARED(ThreadTotals, totals);
    if (blockIdx.x) return;
    double all = 0.0;
    for (u64 at = threadIdx.x; at < (u64)blocks * 2 * LANES; at += BLOCK) all += env.totals[at];
    totals.of[threadIdx.x] = all;
    __syncthreads();
    if (threadIdx.x >= 2 * LANES) return;
    for (u32 at = threadIdx.x + 2 * LANES; at < BLOCK; at += 2 * LANES) all += totals.of[at];
    env.sums[threadIdx.x] = all;
}

// Equal ranks; the totals count dangling vertices. A group takes a row.
KERNEL begin(i64) {
    const double even = 1.0 / (double)env.vertices;
    Two sink = none();
    for (u64 base = warp_rank() * GROUPS; base < (u64)env.rows; base += warps() * GROUPS) {
        const u64 v = base + group_id();
        if (v >= (u64)env.rows) continue;
        const double leaving = (double)env.leaving[v], portion = leaving == 0 ? 0.0 : 1.0 / leaving;
        if (pair_id() == 0) env.portions[v] = portion, env.home[v] = 0;
        env.ranks[v * GROUP + pair_id()] = {{even, even}};
        env.following[v * GROUP + pair_id()] = {{even * portion, even * portion}};
        if (leaving == 0) increase(sink, {{1.0, 1.0}});
    }
    put_totals(none(), sink);
}

// A thread takes a row at which walks restart.
KERNEL place_homes(i64 count) {
    for (u64 k = thread_rank(); k < (u64)count; k += threads()) env.home[env.restarts[k]] = (u32)k + 1;
}

// An iteration. A group takes a row; where ``settled``, rows without in-edges and restarts keep the rank and the shares 0.
KERNEL rank_rows(i64 settled) {
    const Two factor = env.control[pair_id()], going = env.control[GROUP + pair_id()];
    const double alpha = env.control[2 * GROUP].of[0];
    Two change = none(), sink = none();
    for (u64 base = warp_rank() * GROUPS; base < (u64)env.rows; base += warps() * GROUPS) {
        const u64 v = base + group_id();
        const bool mine = v < (u64)env.rows;
        const u64 first = mine ? env.offsets[v] : 0, end = mine ? env.offsets[v + 1] : 0, length = end - first;
        Two sum = none();
        if (length <= SHORT) sum = gathered(first, end, 1);
        for (u32 left = ballot(length > SHORT && pair_id() == 0); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1;
            const u64 from = shuffle(first, lane), to = shuffle(end, lane);
            const Two all =
                over_groups(to - from > LONG ? of_parts(base + lane / GROUP, to - from) : gathered(from + group_id(), to, GROUPS));
            if (group_id() == lane / GROUP) sum = all;
        }
        const u32 home = mine ? env.home[v] : 0;
        if (!mine || settled && !length && !home) continue;
        const u64 at = v * GROUP + pair_id();
        const double portion = env.portions[v];
        const Two old = env.ranks[at], jump = home ? env.homes[(u64)home * GROUP + pair_id()] : none();
        Two rank, share;
        for (u32 k = 0; k < 2; k++) {
            rank.of[k] = going.of[k] != 0 ? alpha * sum.of[k] + jump.of[k] * factor.of[k] : old.of[k];
            share.of[k] = rank.of[k] * portion;
            change.of[k] += absolute(rank.of[k] - old.of[k]);
            if (portion == 0) sink.of[k] += rank.of[k];
        }
        env.ranks[at] = rank;
        env.following[at] = share;
    }
    put_totals(change, sink);
}

KERNEL take_columns(i64) {
    const double* ranks = (const double*)env.ranks;
    for (u64 i = thread_rank(); i < (u64)env.rows * LANES; i += threads())
        env.columns[i] = ranks[i % (u64)env.rows * LANES + i / (u64)env.rows];
}
