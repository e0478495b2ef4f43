// split: node splitting [000 NS].
//
// A vertex of more than ``work.number`` edges is split into children, which share its edges evenly, a thread each. We
// changed: the split is virtual. A child is (vertex, index), found by binary search in the prefix sum of children, so
// that no attribute of the parent is copied to it.

struct SplitRoom {};

// Prefix sums of children are 64-bit on every graph: a threshold of 1 makes every edge a child.
struct Children {
    Work work;
    u64* sums;
    u64 count;

    __device__ i64 measure(u64 i) const {
        if (i >= count) return 0;
        const u32 u = work.item(i);
        return (i64)pieces_of((u64)(work.last(u) - work.first(u)), (u64)work.number);
    }
    __device__ void put(u64 i, i64 here) const { sums[i] = (u64)here; }
};

DEVICE Children children_of(const Work& work) { return {work, env.scratch2, work.count}; }

KERNEL count_children(i64 number) {
    SHARED(ScanRoom, room);
    if (!is_over()) sum_parts(children_of(frontier_work(number)), room);
}

KERNEL number_children(i64 number) {
    SHARED(ScanRoom, room);
    if (!is_over()) fill_sums(children_of(frontier_work(number)), room);
}

template <class V> DEVICE void split(V& visit, const Work& work, SplitRoom&) {
    const Children family = children_of(work);
    const u64 all = work.count ? family.sums[work.count - 1] + (u64)family.measure(work.count - 1) : 0;
    for (u64 child = thread_rank(); child - lane_id() < all; child += threads()) {
        const bool mine = child < all;
        const u64 i = mine ? last_up_to(family.sums, work.count, child) : 0;
        const u32 u = mine ? work.item(i) : 0;
        const u64 degree = mine ? (u64)(work.last(u) - work.first(u)) : 0;
        const u64 siblings = larger(pieces_of(degree, (u64)work.number), 1ull), k = mine ? child - family.sums[i] : 0;
        const offset_t first = mine ? work.first(u) : 0;
        offset_t e = first + (offset_t)(degree * k / siblings);
        const offset_t last = first + (offset_t)(degree * (k + 1) / siblings);
        const Source s = visit.source(mine, u);
        for (; ballot(e < last); e += 4) visit.template edges<4>(e, last, u, s);
    }
}
