// Binning of edges into tiles of targets, once for a graph: count each tile's edges, place them, bound its rows.

struct Env {
    const u32* neighbours;
    const offset_t* offsets;
    i64 edges, rows, masters, master_tiles;
    i64 first, many; // tiles of this pass
    u64* counts;
    u32* taken; // places reserved in each tile
    const i64* starts;
    u32* sources;
    unsigned short* targets;
    const weight_t* edge_weights; // null without weights
    narrow_weight_t* weights;
    const i64* pieces;
    i64 piece_count;
    u32* bounds;
};
CONSTANT Env env;

struct Place {
    i64 tile;
    u32 row;
};

DEVICE Place place_of(u32 v) {
    if (v < env.masters) return {v / TILE, v % TILE};
    const u32 w = v - (u32)env.masters;
    return {env.master_tiles + w / TILE, w % TILE};
}

// Call ``f(edge, tile, row)`` for the edges of a chunk whose tiles belong to this pass. By a block.
template <class F> DEVICE void each_edge(u64 chunk, const F& f) {
    const u64 end = smaller((chunk + 1) * TILED_EDGES, (u64)env.edges);
    for (u64 e = chunk * TILED_EDGES + threadIdx.x; e < end; e += TILE_BLOCK) {
        const Place place = place_of(streamed(env.neighbours + e));
        const i64 tile = place.tile - env.first;
        if (tile >= 0 && tile < env.many) f(e, tile, place.row);
    }
}

// Count each tile's edges in shared memory, then add them to ``counts``.
KERNEL_BY(TILE_BLOCK, 3) count_tiles(i64) {
    SHARED_ARRAY(u32, counts, 4 * TILES_AT_ONCE);
    for (i64 i = threadIdx.x; i < env.many; i += TILE_BLOCK) counts[i] = 0;
    __syncthreads();
    for (u64 chunk = blockIdx.x; chunk * TILED_EDGES < (u64)env.edges; chunk += gridDim.x)
        each_edge(chunk, [&](u64, i64 tile, u32) { atomicAdd(counts + tile, 1u); });
    __syncthreads();
    for (i64 i = threadIdx.x; i < env.many; i += TILE_BLOCK)
        if (counts[i]) atomicAdd(env.counts + env.first + i, (u64)counts[i]);
}

// Last of rows ``low .. high`` that begins at edge e or before, by binary search.
DEVICE u64 row_at(u64 e, u64 low, u64 high) {
    return last_where(low, high + 1, [&](u64 row) { return (u64)env.offsets[row] <= e; });
}

// Place the edges. A block reserves space for a chunk's edges in all tiles at once, so a tile's edges stay roughly in
// order.
KERNEL_BY(TILE_BLOCK, 3) fill_tiles(i64) {
    SHARED_ARRAY(u32, places, 4 * TILES_AT_ONCE);
    for (u64 chunk = blockIdx.x; chunk * TILED_EDGES < (u64)env.edges; chunk += gridDim.x) {
        for (i64 i = threadIdx.x; i < env.many; i += TILE_BLOCK) places[i] = 0;
        __syncthreads();
        each_edge(chunk, [&](u64, i64 tile, u32) { atomicAdd(places + tile, 1u); });
        __syncthreads();
        for (i64 i = threadIdx.x; i < env.many; i += TILE_BLOCK)
            if (places[i]) places[i] = atomicAdd(env.taken + env.first + i, places[i]);
        __syncthreads();
        const u64 last = smaller((chunk + 1) * TILED_EDGES, (u64)env.edges) - 1;
        const u64 low = row_at(chunk * TILED_EDGES, 0, env.rows - 1), high = row_at(last, low, env.rows - 1);
        each_edge(chunk, [&](u64 e, i64 tile, u32 row) {
            const u64 to = env.starts[env.first + tile] + atomicAdd(places + tile, 1u);
            env.sources[to] = (u32)row_at(e, low, high);
            env.targets[to] = (unsigned short)row;
            if (env.edge_weights) env.weights[to] = (narrow_weight_t)env.edge_weights[e];
        });
        __syncthreads();
    }
}

// Bound the length of each tile's rows: the longest row, or, for a cut tile, the sum over its pieces' longest.
KERNEL_BY(TILE_BLOCK, 3) bound_tiles(i64) {
    SHARED_ARRAY(u32, lengths, 4 * TILES_AT_ONCE);
    for (i64 p = blockIdx.x; p < env.piece_count; p += gridDim.x) {
        const i64 first = env.pieces[4 * p], count = env.pieces[4 * p + 1], tile = env.pieces[4 * p + 2];
        for (u32 i = threadIdx.x; i <= TILE; i += TILE_BLOCK) lengths[i] = 0;
        __syncthreads();
        u32 most = 0;
        for (i64 e = threadIdx.x; e < count; e += TILE_BLOCK)
            most = larger(most, atomicAdd(lengths + env.targets[first + e], 1u) + 1);
        most = warp_most(most);
        if (lane_id() == 0 && most) atomicMax(lengths + TILE, most);
        __syncthreads();
        if (threadIdx.x == 0) atomicAdd(env.bounds + tile, lengths[TILE]);
        __syncthreads();
    }
}
