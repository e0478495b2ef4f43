// edge_discover: 32 vertices a warp [001; Busato & Bombieri, TPDS 2015: BFS-4K].
//
// A warp adds up the degrees of 32 vertices by shuffles, and its lanes walk their edges side by side; each lane finds
// its edge's vertex by a binary search among the lanes.

struct EdgeDiscoverRoom {};

template <class V> DEVICE void edge_discover(V& visit, const Work& work, EdgeDiscoverRoom&) {
    for (u64 first = 32 * warp_rank(); first < work.count; first += threads()) {
        const u64 i = first + lane_id();
        const bool mine = i < work.count;
        const u32 u = mine ? work.item(i) : 0;
        const offset_t base = mine ? work.first(u) : 0;
        const u64 degree = mine ? (u64)(work.last(u) - base) : 0, through = sum_up_to_lane(degree);
        const u64 start = through - degree, all = shuffle(through, 31);
        const Source s = visit.source(mine, u);
        for (u64 at = 0; at < all; at += 32) {
            const u64 edge = at + lane_id();
            u32 owner = 0;
            for (u32 step = 16; step; step >>= 1)
                if (shuffle(start, owner + step) <= edge) owner += step;
            const offset_t e = shuffle(base, owner) + (offset_t)(edge - shuffle(start, owner));
            visit.template edges<1>(e, edge < all ? e + 1 : e, shuffle(u, owner), from_lane(s, owner));
        }
    }
}
