// warp_search: 32 prefix sums a warp [001, 5.3.2: local warp search; Busato & Bombieri, TPDS 2015: BFS-4K].
//
// A warp takes a chunk of 32 vertices. Its lanes walk their edges side by side, 32 at a time, and each finds its edge's
// vertex by a binary search of five steps in the chunk. SEARCH_IN_REGISTERS: lanes hold their prefix sums, made by
// shuffles from degrees, and the search reads them by shuffles; else they are loaded into shared memory. Warps and blocks
// are as uneven as their chunks.

struct WarpSearchRoom {
    prefix_t starts[BLOCK / 32][32];
};

template <class V> DEVICE void warp_search(V& visit, const Work& work, WarpSearchRoom& room) {
    prefix_t* starts = room.starts[warp_in_block()];
    for (u64 first = 32 * warp_rank(); first < work.count; first += threads()) {
        const u64 i = first + lane_id(), chunk = work.start(first);
        const bool mine = i < work.count;
        const u32 u = mine ? work.item(i) : 0;
        const offset_t base = mine ? work.first(u) : 0;
        u64 start, all;
        if (SEARCH_IN_REGISTERS) {
            const u64 degree = mine ? (u64)(work.last(u) - base) : 0, through = sum_up_to_lane(degree);
            start = through - degree, all = shuffle(through, 31);
        } else {
            all = work.end(smaller(first + 31, work.count - 1)) - chunk;
            start = mine ? work.start(i) - chunk : all;
            starts[lane_id()] = (prefix_t)start;
            __syncwarp();
        }
        const Source s = visit.source(mine, u);
        for (u64 at = 0; at < all; at += 32) {
            const u64 edge = at + lane_id();
            u32 owner = 0;
            for (u32 step = 16; step; step >>= 1) {
                const u64 next = SEARCH_IN_REGISTERS ? shuffle(start, owner + step) : (u64)starts[owner + step];
                if (next <= edge) owner += step;
            }
            const offset_t e = shuffle(base, owner) + (offset_t)(edge - shuffle(start, owner));
            visit.template edges<1>(e, edge < all ? e + 1 : e, shuffle(u, owner), from_lane(s, owner));
        }
        __syncwarp();
    }
}
