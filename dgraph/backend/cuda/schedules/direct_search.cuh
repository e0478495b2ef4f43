// direct_search: one edge a thread, with a binary search in the whole prefix sum [001].
//
// Each block takes a run of edges, BLOCK at a time.

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
