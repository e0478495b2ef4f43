// Prefix sums of a list's degrees, for graphs whose edges do not fit 32 bits: parts, then their sums, then all.

struct ScanRoom {
    i64 part[BLOCK / 32];
};

// Of every thread's value: the sum of those before it in the block, and of all.
DEVICE i64 before_in_block(i64 x, i64& all, ScanRoom& room) {
    const i64 through = sum_up_to_lane(x);
    if (lane_id() == 31) room.part[warp_in_block()] = through;
    __syncthreads();
    i64 before = 0;
    all = 0;
    for (u32 w = 0; w < BLOCK / 32; w++) {
        if (w < warp_in_block()) before += room.part[w];
        all += room.part[w];
    }
    __syncthreads();
    return before + through - x;
}

// Each block sums its piece of a list: ``count`` entries, each ``measure(i)``, whose prefix sums go to ``sums``.
template <class L> DEVICE void sum_parts(const L& list, ScanRoom& room) {
    const u64 piece = (list.count + gridDim.x - 1) / gridDim.x, first = piece * blockIdx.x;
    i64 mine = 0, all;
    for (u64 i = threadIdx.x; i < piece; i += BLOCK) mine += list.measure(first + i);
    before_in_block(mine, all, room);
    if (threadIdx.x == 0) env.scanned[blockIdx.x] = all;
}

template <class L> DEVICE void fill_sums(const L& list, ScanRoom& room) {
    const u64 piece = (list.count + gridDim.x - 1) / gridDim.x, first = piece * blockIdx.x;
    i64 before = 0, all;
    for (u64 b = threadIdx.x; b < blockIdx.x; b += BLOCK) before += env.scanned[b];
    before_in_block(before, all, room);
    i64 base = all;
    for (u64 at = 0; at < piece; at += BLOCK) {
        const u64 i = first + at + threadIdx.x;
        const bool mine = at + threadIdx.x < piece && i < list.count;
        const i64 here = base + before_in_block(mine ? list.measure(i) : 0, all, room);
        if (mine) list.put(i, here);
        base += all;
    }
}

struct ScanList {
    const u32* items;
    prefix_t* sums;
    const offset_t* offsets;
    u64 count;

    __device__ i64 measure(u64 i) const {
        return i < count ? (i64)(offsets[items[i] + 1] - offsets[items[i]]) : 0;
    }
    __device__ void put(u64 i, i64 here) const { sums[i] = (prefix_t)here; }
};

// ``word``: TAIL of the frontier that is next to be visited, or HUGE_TAIL.
DEVICE ScanList scan_list(i64 word) {
    const RoundState* c = env.control;
    const bool swapped = KNOWN(&c->swapped) != 0;
    if (word == HUGE_TAIL)
        return {env.huge, env.huge_sums, PULLING ? env.in_offsets : env.out_offsets,
                (u64)listed(slot_of(KNOWN(&c->tick)), HUGE_TAIL)};
    return {swapped ? env.queue1 : env.queue0, swapped ? env.sums1 : env.sums0, env.out_offsets, (u64)KNOWN(&c->queued)};
}

KERNEL scan_parts(i64 word) {
    SHARED(ScanRoom, room);
    sum_parts(scan_list(word), room);
}

KERNEL scan_fill(i64 word) {
    SHARED(ScanRoom, room);
    fill_sums(scan_list(word), room);
}
