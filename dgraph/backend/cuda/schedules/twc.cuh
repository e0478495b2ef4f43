// twc: thread, warp, block [Merrill et al., PPoPP 2012; 002; 001, 5.2.2: CTA + Warp + Scan].
//
// A block walks the edges of a vertex of CTA_EDGES or more together, a warp those of one of WARP_LEAST or more. A thread
// walks the rest of its vertex alone; or, SMALL_BY_SCAN, the block scans the degrees that are left, writes the owner of
// each edge to shared memory, at most GATHERED at a time, and its threads walk these edges side by side.

#define CTA_EDGES (CTA_LEAST ? CTA_LEAST : BLOCK)
#define GATHERED (8 * BLOCK)

struct TwcRoom {
    u32 owner;
    u32 u;
    offset_t first, last;
#if SMALL_BY_SCAN
    ScanRoom scan;
    u32 items[BLOCK];
    offset_t bases[BLOCK];
    unsigned short owners[GATHERED];
#endif
};

// Walk edges e … last of each thread's u by all threads of the block: edge k of all of them by thread k mod BLOCK.
template <class V> DEVICE void gather_small(V& visit, TwcRoom& room, u32 u, offset_t e, offset_t last) {
#if SMALL_BY_SCAN
    i64 every;
    const u64 degree = (u64)(last - e), start = (u64)before_in_block((i64)degree, every, room.scan);
    room.items[threadIdx.x] = u, room.bases[threadIdx.x] = e - (offset_t)start;
    for (u64 from = 0, stop; from < (u64)every; from = stop) {
        stop = smaller(from + GATHERED, (u64)every);
        for (u64 k = larger(start, from); k < smaller(start + degree, stop); k++) room.owners[k - from] = threadIdx.x;
        __syncthreads();
        for (u64 at = from + threadIdx.x; at - lane_id() < stop; at += 2 * BLOCK) {
            bool has[2];
            offset_t edges[2];
            u32 items[2];
            Source sources[2];
            for (int k = 0; k < 2; k++) {
                const u64 edge = at + k * BLOCK;
                has[k] = edge < stop;
                const u32 owner = has[k] ? room.owners[edge - from] : 0;
                edges[k] = room.bases[owner] + (offset_t)edge, items[k] = room.items[owner];
                sources[k] = visit.source(has[k], items[k]);
            }
            visit.template batch<2>(has, edges, items, sources);
        }
        __syncthreads();
    }
#endif
}

// Walk one tile: each thread of the block has at most one vertex, u, with edges e … last.
template <class V> DEVICE void twc_tile(V& visit, TwcRoom& room, u32 u, offset_t e, offset_t last, bool mine) {
    const u32 thread = threadIdx.x, warp_base = thread & ~31u;
    while (__syncthreads_or(e < last && last - e >= CTA_EDGES)) {
        if (e < last && last - e >= CTA_EDGES) room.owner = thread;
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
    for (u32 medium; (medium = ballot(e < last && last - e >= WARP_LEAST));) {
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
    if (SMALL_BY_SCAN) return gather_small(visit, room, u, e, last);
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
