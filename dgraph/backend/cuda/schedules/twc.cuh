// twc: thread, warp, block [Merrill et al., PPoPP 2012; 002; 001: CTA + Warp + Scan].
//
// A block walks the edges of a vertex of BLOCK edges or more together, a warp those of one of 32 or more, a thread the
// rest.

struct TwcRoom {
    u32 owner;
    u32 u;
    offset_t first, last;
};

// Walk one tile: each thread of the block has at most one vertex, u, with edges e … last.
template <class V> DEVICE void twc_tile(V& visit, TwcRoom& room, u32 u, offset_t e, offset_t last, bool mine) {
    const u32 thread = threadIdx.x, warp_base = thread & ~31u;
    while (__syncthreads_or(e < last && last - e >= BLOCK)) {
        if (e < last && last - e >= BLOCK) room.owner = thread;
        __syncthreads();
        if (room.owner == thread) {
            room.u = u, room.first = e, room.last = last;
            e = last;
        }
        __syncthreads();
        const u32 shared_u = room.u;
        const offset_t shared_last = room.last;
        const Source s = visit.source(true, shared_u);
        for (offset_t at = room.first + warp_base; at < shared_last; at += BLOCK) {
            const offset_t here = at + lane_id();
            visit.template edges<1>(here, here < shared_last ? here + 1 : here, shared_u, s);
        }
        __syncthreads();
    }
    for (u32 medium; (medium = ballot(e < last && last - e >= 32));) {
        const u32 lane = __ffs(medium) - 1;
        const u32 shared_u = shuffle(u, lane);
        const offset_t shared_last = shuffle(last, lane);
        const Source s = visit.source(true, shared_u);
        for (offset_t at = shuffle(e, lane); at < shared_last; at += 32) {
            const offset_t here = at + lane_id();
            visit.template edges<1>(here, here < shared_last ? here + 1 : here, shared_u, s);
        }
        if (lane_id() == lane) e = last;
    }
    const Source s = visit.source(mine && e < last, u);
    for (; ballot(e < last); e += 2) visit.template edges<2>(e, last, u, s);
}

template <class V> DEVICE void twc(V& visit, const Work& work, TwcRoom& room) {
    for (u64 tile = (u64)blockIdx.x * BLOCK; tile < work.count; tile += threads()) {
        const u64 i = tile + threadIdx.x;
        const bool mine = i < work.count;
        const u32 u = mine ? work.item(i) : 0;
        twc_tile(visit, room, u, mine ? work.first(u) : 0, mine ? work.last(u) : 0, mine);
    }
}
