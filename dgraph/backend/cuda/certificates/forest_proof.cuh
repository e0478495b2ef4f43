// Check of minimum spanning forests by the theorem of dgraph/validate/spanning_forest.py. ``ends``: ends of the forest's
// edges by ascending weight, two each: gids at first, then nodes; ``best``: the lightest edge of each node of a level;
// ``above``: the node of the next level that each node becomes part of; ``taken``: the edge that it took, NOBODY for none.
// ``level_starts``: the first node of each level in these two, ``levels`` of them; all vertices are level 0.
// ``words``: bits of edges that are arcs. Any grid.

#define NOBODY 0xffffffffu

#if WEIGHTS == 2
typedef double heavy_t;
#else
typedef i64 heavy_t;
#endif
DEVICE heavy_t weight_of(u64 edge) { return ((const heavy_t*)env.forest_weights)[edge]; }

KERNEL choose_edges(i64) {
    for (u64 e = THREAD; e < env.end; e += THREADS) {
        const u32 a = env.ends[2 * e], b = env.ends[2 * e + 1];
        if (a == b) continue;
        if (FRESH(env.best + a) > e) atomicMin(env.best + a, (u32)e);
        if (FRESH(env.best + b) > e) atomicMin(env.best + b, (u32)e);
    }
}

// Put each of ``nodes`` nodes under the other end of its edge; of two that took the same edge the smaller is a root.
KERNEL hook_nodes(i64 nodes) {
    for (u64 c = THREAD; c < (u64)nodes; c += THREADS) {
        const u32 e = env.best[c];
        u32 under = (u32)c;
        if (e != NOBODY) {
            const u32 a = env.ends[2 * (u64)e], b = env.ends[2 * (u64)e + 1], other = a == c ? b : a;
            if (env.best[other] != e || other < c) under = other;
        }
        env.forest[c] = under;
    }
}

// Double the way to the root; ``env.broken[2 * CHANGED]`` counts nodes whose parent changed.
KERNEL jump_nodes(i64 nodes) {
    u64 here = 0;
    for (u64 c = THREAD; c < (u64)nodes; c += THREADS) {
        const u32 above = FRESH(env.forest + c), next = FRESH(env.forest + above);
        if (next != above) env.forest[c] = next, here++;
    }
    here = warp_sum(here);
    if (lane_id() == 0 && here) atomicAdd(env.broken + 2 * CHANGED, here);
}

// Ends become nodes of the next level: ``joined_to`` of those of this one.
KERNEL rename_ends(i64) {
    for (u64 i = THREAD; i < 2 * env.end; i += THREADS) env.ends[i] = env.joined_to[env.ends[i]];
}

// Set the bits of the edges that the ``nodes`` nodes of a level took.
KERNEL mark_taken(i64 nodes) {
    for (u64 c = THREAD; c < (u64)nodes; c += THREADS)
        if (env.best[c] != NOBODY) set_bit(env.words, env.best[c]);
}

// Find the first edge that no node took.
KERNEL find_circle(i64) {
    for (u64 e = THREAD; e < env.end; e += THREADS) broken(BROKEN_CIRCLE, !bit(env.words, e), e);
}

// The latest edge on the way between two vertices; NOBODY if they are in two trees.
DEVICE u32 latest_of(u32 u, u32 v) {
    u32 latest = 0;
    for (u64 level = 0; level < env.levels; level++) {
        if (u == v) return latest;
        const u64 start = env.level_starts[level];
        const u32 a = env.taken[start + u], b = env.taken[start + v];
        if (a == NOBODY || b == NOBODY) return NOBODY; // a whole tree; the other vertex is not in it
        latest = larger(latest, larger(a, b));
        u = env.above[start + u], v = env.above[start + v];
    }
    return u == v ? latest : NOBODY;
}

// An edge stands in the rows of both ends: it is checked in that of the smaller gid.
KERNEL prove_arcs(i64) {
    each_arc([=](u64 row, u64 next, u64 e) {
        const u64 u = gid(row), v = gid(next);
        if (u >= v) return;
        const u32 latest = latest_of((u32)u, (u32)v);
        broken(BROKEN_APART, latest == NOBODY, u << 32 | v);
        if (latest == NOBODY) return;
#if WEIGHTS
        const heavy_t w = (heavy_t)env.weights[e];
#else
        const heavy_t w = 1;
#endif
        const heavy_t most = weight_of(latest);
        broken(BROKEN_LIGHT, w < most, u << 32 | v);
        if (w == most && env.pairs[2 * (u64)latest] == u && env.pairs[2 * (u64)latest + 1] == v) set_bit(env.words, latest);
    });
}
KERNEL prove_edges(i64) {
    for (u64 e = THREAD; e < env.end; e += THREADS)
        broken(BROKEN_MISSING, !bit(env.words, e), (u64)env.pairs[2 * e] << 32 | env.pairs[2 * e + 1]);
}
