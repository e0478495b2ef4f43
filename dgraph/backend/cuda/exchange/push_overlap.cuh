// A push in two parts (push_overlap.py). In every row edges into mirrors come first; ``middles`` holds the index of the
// first edge into a master. Each part of the frontier's edges has prefix sums of its own and is processed like a
// frontier.

// Prefix sums of boundary degrees of the frontier; the interior's are what remains of the whole prefix sums.
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

// Sum the boundary degrees of each block's part of the frontier.
KERNEL part_degrees(i64) {
    SHARED(ScanRoom, room);
    if (is_over()) return;
    sum_parts(PartDegrees{part_sums_now()}, room);
}

// Turn the block sums of ``part_degrees`` into prefix sums; same grid as ``part_degrees``.
KERNEL part_sums(i64) {
    SHARED(ScanRoom, room);
    if (is_over()) return;
    const PartSums list = part_sums_now();
    fill_sums(list, room);
    if (thread_rank()) return;
    if (list.count == 0) list.boundary[0] = 0;
    env.post[POST_BEFORE] = exchanged();
}

// Note the time when interior edges are done. One block.
KERNEL count_visited(i64) {
    if (threadIdx.x == 0) env.post[POST_WALKED] = (i64)NOW();
}

// Count the time of the exchange that interior edges have hidden: all of it but what followed them. One block.
KERNEL count_hidden(i64) {
    if (threadIdx.x) return;
    const i64 bare = (i64)NOW() - FRESH(env.post + POST_WALKED), all = exchanged() - FRESH(env.post + POST_BEFORE);
    env.post[POST_HIDDEN] += larger(all - bare, 0ll);
}
