// dynamic_parallelism: ``dynamic_warp``, with a grid for each huge vertex [001, semi-dynamic; Busato & Bombieri, TPDS
// 2015: BFS-4K].
//
// A vertex of more than ``work.number`` edges goes to the list ``env.huge``. A second launch spreads each of them in
// turn over all threads of the grid. We changed: BFS-4K starts a child grid from the kernel.

struct DynamicParallelismRoom {
    u32 held[BLOCK / 32][64];
};

struct GridAside {
    Front list;
    i64 threshold;

    __device__ bool takes(bool leads, u32 u, i64 degree) {
        list.add(leads && degree > threshold, u);
        return degree > threshold;
    }
};

template <class V> DEVICE void dynamic_parallelism(V& visit, const Work& work, DynamicParallelismRoom& room) {
    GridAside aside;
    aside.threshold = work.number;
    aside.list.open(room.held[warp_in_block()], env.huge, env.huge_sums, slot_of(KNOWN(&env.control->tick)), HUGE_TAIL);
    walk_in_groups(visit, work, fitting_warp(work.count), aside);
    aside.list.close();
}

struct OwnGridRoom {};

// Walk each vertex of ``work`` in turn, its edges spread over all threads of the grid.
template <class V> DEVICE void own_grid(V& visit, const Work& work, OwnGridRoom&) {
    for (u64 i = 0; i < work.count; i++) {
        const u32 u = work.item(i);
        const offset_t first = work.first(u), last = work.last(u);
        const Source s = visit.source(true, u);
        for (u64 at = 32 * warp_rank(); at < (u64)(last - first); at += threads()) {
            const u64 mine = at + lane_id();
            const offset_t e = first + (offset_t)mine;
            visit.template edges<1>(e, mine < (u64)(last - first) ? e + 1 : e, u, s);
        }
    }
}
