// direct_search: a thread an edge, and every thread searches the whole prefix sum for its edge's vertex. Where there are
// more edges than threads, each block takes a run of edges, as many at a time as it has threads.   [001: direct search]

struct DirectSearchRoom {};

template <class V> DEVICE void direct_search(V& visit, const Work& work, DirectSearchRoom&) {
    const u64 run = pieces_of(pieces_of(work.edges, BLOCK), gridDim.x) * BLOCK;
    const u64 first = blockIdx.x * run, stop = smaller(first + run, work.edges);
    for (u64 at = first + 32 * warp_in_block(); at < stop; at += BLOCK) {
        const u64 edge = at + lane_id();
        const bool has = edge < stop;
        walk_one(visit, work, has, edge, has ? work.holding(edge, 0, work.count) : 0);
    }
}
