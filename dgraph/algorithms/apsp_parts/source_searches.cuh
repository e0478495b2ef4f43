// Searches from many sources, a block each; a block's rows of distances and marks are its own.

struct Env {
    value_t* distances; // rows x n distances
    i64 rows, n, first; // first: the vertex of row 0
    const i64* offsets;
    const u32* targets;
    const value_t* costs; // of arcs; null: all 1
    const value_t* least; // smallest cost of each vertex' arcs
    u32* marks; // n words a block
};
CONSTANT Env env;

#define FAR_AWAY ((value_t)INFINITE)
DEVICE value_t cost(i64 arc) { return env.costs ? env.costs[arc] : (value_t)1; }

struct Row {
    value_t* distance;
    u32* mark;

    __device__ Row(i64 row) : distance(env.distances + row * env.n), mark(env.marks + blockIdx.x * env.n) {
        for (i64 v = threadIdx.x; v < env.n; v += BLOCK) {
            distance[v] = v == env.first + row ? (value_t)0 : FAR_AWAY;
            mark[v] = v == env.first + row;
        }
        __syncthreads();
    }
};

// [Harish et al. 2009] Each round the vertices that fell in the one before offer to their neighbours; mark: the round in
// which a vertex is to offer.
KERNEL bellman_ford(i64) {
    for (i64 row = blockIdx.x; row < env.rows; row += gridDim.x) {
        const Row of(row);
        int fell = 1;
        for (u32 round = 1; fell; round++) {
            bool lower = false;
            for (i64 v = threadIdx.x; v < env.n; v += BLOCK) {
                if (FRESH(of.mark + v) != round) continue;
                const value_t distance = FRESH(of.distance + v);
                for (i64 e = env.offsets[v]; e < env.offsets[v + 1]; e++)
                    if (lowered(of.distance + env.targets[e], distance + cost(e))) {
                        of.mark[env.targets[e]] = round + 1;
                        lower = true;
                    }
            }
            fell = __syncthreads_or(lower);
        }
    }
}

// [Ortega-Arranz et al. 2013] A step settles all vertices up to the least distance that an unsettled vertex may still
// offer; costs are not negative. mark: 2 if a vertex is settled.
KERNEL dijkstra(i64) {
    SHARED(value_t, bound);
    for (i64 row = blockIdx.x; row < env.rows; row += gridDim.x) {
        const Row of(row);
        int settled = 1;
        while (settled) {
            if (threadIdx.x == 0) bound = FAR_AWAY;
            __syncthreads();
            value_t least = FAR_AWAY;
            for (i64 v = threadIdx.x; v < env.n; v += BLOCK)
                if (of.mark[v] != 2) {
                    const value_t offer = FRESH(of.distance + v) + env.least[v];
                    least = offer < least ? offer : least;
                }
            lowered(&bound, least);
            __syncthreads();
            const value_t limit = FRESH(&bound);
            bool settles = false;
            for (i64 v = threadIdx.x; v < env.n; v += BLOCK) {
                const value_t distance = FRESH(of.distance + v);
                if (of.mark[v] == 2 || distance > limit || !(distance < FAR_AWAY)) continue;
                of.mark[v] = 2;
                settles = true;
                for (i64 e = env.offsets[v]; e < env.offsets[v + 1]; e++)
                    lowered(of.distance + env.targets[e], distance + cost(e));
            }
            settled = __syncthreads_or(settles);
        }
    }
}
