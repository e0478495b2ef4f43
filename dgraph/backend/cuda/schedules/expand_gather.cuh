// expand_gather: imbalanced redistribution, balanced gathering [004, 4.2].
//
// A block takes a tile of TILE edges, whatever the number of their vertices. It writes each edge's vertex to shared
// memory, then its threads walk the tile's edges side by side.

#define TILE (TILE_EACH * BLOCK)

struct ExpandGatherRoom {
    u32 owners[TILE];
};

// Write the item, relative to ``low``, of each of ``count`` edges from ``first`` on to ``owners``. Items ``low`` …
// ``high`` and edges are merged, and each thread of the block writes an equal part of the merged list.   [004, 3.2;
// Odeh et al. 2012]
DEVICE void expand(const Work& work, u64 low, u64 high, u64 first, u64 count, u32* owners) {
    const u64 steps = high - low, part = pieces_of(steps + count, BLOCK);
    const u64 diagonal = smaller(threadIdx.x * part, steps + count), stop = smaller(diagonal + part, steps + count);
    u64 i = first_where(diagonal > count ? diagonal - count : 0, smaller(diagonal, steps),
                        [&](u64 k) { return work.start(low + k + 1) > first + (diagonal - k - 1); });
    for (u64 at = diagonal, edge = diagonal - i; at < stop; at++) {
        if (i < steps && work.start(low + i + 1) <= first + edge) i++;
        else if (edge < count) owners[edge++] = (u32)i;
    }
}

// Walk the edges of a tile, the block's threads side by side.
template <class V> DEVICE void gather(V& visit, const Work& work, u64 low, u64 first, u64 count, const u32* owners) {
    for (u64 at = 32 * warp_in_block(); at < count; at += BLOCK) {
        const u64 mine = at + lane_id();
        walk_one(visit, work, mine < count, first + mine, low + (mine < count ? owners[mine] : 0));
    }
}

template <class V> DEVICE void expand_gather(V& visit, const Work& work, ExpandGatherRoom& room) {
    for (u64 first = (u64)blockIdx.x * TILE; first < work.edges; first += (u64)gridDim.x * TILE) {
        const u64 count = smaller((u64)TILE, work.edges - first);
        const u64 low = work.holding(first, 0, work.count), high = work.holding(first + count - 1, low, work.count);
        expand(work, low, high, first, count, room.owners);
        __syncthreads();
        gather(visit, work, low, first, count, room.owners);
        __syncthreads();
    }
}
