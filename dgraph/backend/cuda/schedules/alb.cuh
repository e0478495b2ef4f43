// alb: adaptive load balancer [002].
//
// Grid: resident blocks; a block takes BLOCK vertices of the frontier at a time. A vertex of ``work.number`` edges or
// more goes to the list ``env.huge``, and a second kernel (``lb``) spreads the edges of that list over all threads of
// the grid. ``twc`` walks the others.

struct AlbRoom {
    TwcRoom twc;
    u32 held[BLOCK / 32][64];
};

template <class V> DEVICE void alb(V& visit, const Work& work, AlbRoom& room) {
    Front huge;
    huge.open(room.held[warp_in_block()], env.huge, env.huge_sums, slot_of(KNOWN(&env.control->tick)), HUGE_TAIL);
    for (u64 tile = (u64)blockIdx.x * BLOCK; tile < work.count; tile += threads()) {
        const u64 i = tile + threadIdx.x;
        const bool mine = i < work.count;
        const u32 u = mine ? work.item(i) : 0;
        const offset_t first = mine ? work.first(u) : 0, last = mine ? work.last(u) : 0;
        const bool aside = mine && (i64)(last - first) >= work.number;
        huge.add(aside, u);
        twc_tile(visit, room.twc, u, aside ? last : first, last, mine);
    }
    huge.close();
}
