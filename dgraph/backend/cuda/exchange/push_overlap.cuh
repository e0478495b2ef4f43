// A push in two parts. Of every row edges into mirrors come first, from ``middles`` on those into masters: so either part
// of a frontier's edges is walked like a frontier, by prefix sums of its own.

// Boundary degrees of the frontier, and then their prefix sums; what those before it leave is the interior's.
struct PartSums {
    const u32* items;
    prefix_t *sums, *boundary;
    u64 count;

    __device__ i64 measure(u64 i) const { return i < count ? (i64)boundary[i] : 0; }
    __device__ void put(u64 i, i64 here) const {
        if (i + 1 == count) boundary[count] = (prefix_t)here + boundary[i];
        boundary[i] = (prefix_t)here;
        sums[i] -= (prefix_t)here;
    }
};

struct PartDegrees : PartSums {
    __device__ i64 measure(u64 i) const {
        if (i >= count) return 0;
        const u32 u = items[i];
        return (i64)(boundary[i] = (prefix_t)(env.middles[u] - env.out_offsets[u]));
    }
};

DEVICE PartSums part_sums_now() {
    return {is(SWAPPED) ? env.queue1 : env.queue0, is(SWAPPED) ? env.sums1 : env.sums0, env.boundary_sums,
            (u64)KNOWN(env.control + QUEUED)};
}

// Nanoseconds of exchanges so far.
DEVICE i64 exchanged() {
    return FRESH(env.post + POST_PACKING) + FRESH(env.post + POST_WAITING) + FRESH(env.post + POST_UNPACKING);
}

KERNEL part_degrees(i64) {
    SHARED(ScanRoom, room);
    if (is_over()) return;
    sum_parts(PartDegrees{part_sums_now()}, room);
}

// On the same grid.
KERNEL part_sums(i64) {
    SHARED(ScanRoom, room);
    if (is_over()) return;
    const PartSums list = part_sums_now();
    fill_sums(list, room);
    if (thread_rank()) return;
    if (list.count == 0) list.boundary[0] = 0;
    env.post[POST_BEFORE] = exchanged();
}

// The interior has been walked. One block.
KERNEL count_visited(i64) {
    if (threadIdx.x == 0) env.post[POST_WALKED] = (i64)NOW();
}

// The exchange is over as well: what it took beyond the interior was hidden behind nothing. One block.
KERNEL rejoin(i64) {
    if (threadIdx.x) return;
    const i64 bare = (i64)NOW() - FRESH(env.post + POST_WALKED), all = exchanged() - FRESH(env.post + POST_BEFORE);
    env.post[POST_HIDDEN] += larger(all - bare, 0ll);
}
