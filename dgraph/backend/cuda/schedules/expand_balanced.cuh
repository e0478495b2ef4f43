// expand_balanced: balanced redistribution, imbalanced gathering [004, 4.3].
//
// A block takes TILE entries of the merged list of vertices and edges, and its threads gather the edges among them.

struct ExpandBalancedRoom {
    u32 owners[TILE];
};

template <class V> DEVICE void expand_balanced(V& visit, const Work& work, ExpandBalancedRoom& room) {
    const u64 total = work.count + work.edges;
    for (u64 at = (u64)blockIdx.x * TILE; at < total; at += (u64)gridDim.x * TILE) {
        const u64 stop = smaller(at + TILE, total), low = ended_before(work, at), high = ended_before(work, stop);
        const u64 first = at - low, count = stop - high - first;
        if (count) {
            expand(work, low, smaller(high, work.count - 1), first, count, room.owners);
            __syncthreads();
            gather(visit, work, low, first, count, room.owners);
        }
        __syncthreads();
    }
}
