// virtual_warp: groups of 2 … 32 lanes take a vertex each and stride over its edges [001: static virtual warps].

struct VirtualWarpRoom {};

// ``aside.takes`` returns true for a vertex that it sets aside for another kernel.
template <class V, class A> DEVICE void walk_in_groups(V& visit, const Work& work, u32 size, A& aside) {
    const u32 in_group = lane_id() & (size - 1);
    for (u64 i = thread_rank() / size; i - lane_id() / size < work.count; i += threads() / size) {
        const bool mine = i < work.count;
        const u32 u = mine ? work.item(i) : 0;
        const offset_t last = mine ? work.last(u) : 0;
        offset_t e = mine ? work.first(u) : 0;
        const bool elsewhere = aside.takes(mine && in_group == 0, u, (i64)(last - e));
        e = elsewhere ? last : e + smaller((offset_t)in_group, last - e);
        const Source s = visit.source(mine, u);
        for (; ballot(e < last); e += smaller((offset_t)(2 * size), last - e)) strided<2>(visit, e, last, size, u, s);
    }
}

struct NoneAside {
    __device__ bool takes(bool, u32, i64) { return false; }
};

template <class V> DEVICE void virtual_warp(V& visit, const Work& work, VirtualWarpRoom&) {
    NoneAside none;
    walk_in_groups(visit, work, (u32)work.number, none);
}
