// Check of minimum spanning forests by the theorem of dgraph/validate/spanning_forest.py. ``ends``: ends of the forest's
// edges by ascending weight, two each: gids at first, then nodes; ``best``: the lightest edge of each node of a level;
// ``above``: the node of the next level that each node becomes part of; ``taken``: the edge that it took, NOBODY for none.
// ``level_starts``: the first node of each level in these two, ``levels`` of them; all vertices are level 0.
// ``words``: bits of edges that are arcs. ``sources``, ``targets``, ``edge_weights``: columns of the answer by gid, and
// ``first_ends``, ``second_ends``: their ends as gids; ``numbers``: a prefix sum of vertices that have an edge. Any grid.

#define NOBODY 0xffffffffu

#if WEIGHTS == 2
typedef double heavy_t;
#else
typedef i64 heavy_t;
#endif
DEVICE heavy_t weight_of(u64 edge) { return ((const heavy_t*)env.forest_weights)[edge]; }

#if WEIGHTS == 2
DEVICE bool is_none(heavy_t weight) { return weight > 1.7976931348623157e308; }
#else
DEVICE bool is_none(heavy_t weight) { return weight == 0x7fffffffffffffffll; }
#endif

// Find the vertices that have an edge; those from ``low`` up to ``high`` are checked here.
KERNEL find_edges(i64) {
    for (u64 v = THREAD; v < env.n; v += THREADS) {
        const i64 a = env.first_ends[v], b = env.second_ends[v];
        const bool has = env.sources[v] >= 0 || env.targets[v] >= 0 || !is_none(((const heavy_t*)env.edge_weights)[v]);
        const bool wrong = (u64)a >= env.n || (u64)b >= env.n || a == b;
        env.numbers[v] = has;
        broken(BROKEN_VALID, has && wrong && env.low <= v && v < env.high, v);
    }
}

// Put the edges of vertices, smaller end first, and their weights one behind the other.
KERNEL list_edges(i64) {
    for (u64 v = THREAD; v < env.n; v += THREADS) {
        const u64 e = env.numbers[v];
        if (e == (v ? env.numbers[v - 1] : 0)) continue;
        const u32 a = (u32)env.first_ends[v], b = (u32)env.second_ends[v];
        env.pairs[2 * e - 2] = smaller(a, b), env.pairs[2 * e - 1] = larger(a, b);
        ((heavy_t*)env.forest_weights)[e - 1] = ((const heavy_t*)env.edge_weights)[v];
    }
}

// Put edges into ``order``, and ends of edges the larger first.
KERNEL order_edges(i64) {
    for (u64 e = THREAD; e < env.end; e += THREADS) {
        const u64 from = env.order[e];
        env.ends[2 * e] = env.pairs[2 * from], env.ends[2 * e + 1] = env.pairs[2 * from + 1];
        ((heavy_t*)env.forest_weights)[e] = ((const heavy_t*)env.edge_weights)[from];
    }
}
KERNEL swap_ends(i64) {
    for (u64 e = THREAD; e < env.end; e += THREADS)
        env.ends[2 * e] = env.pairs[2 * e + 1], env.ends[2 * e + 1] = env.pairs[2 * e];
}

// Begin a level of ``nodes`` nodes.
KERNEL clear_best(i64 nodes) {
    for (u64 c = THREAD; c < (u64)nodes; c += THREADS) env.best[c] = NOBODY;
}

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

// Mark roots, and put each node under the number of its root, from a prefix sum of these marks.
KERNEL mark_roots(i64 nodes) {
    for (u64 c = THREAD; c < (u64)nodes; c += THREADS) env.numbers[c] = env.forest[c] == c;
}
KERNEL number_nodes(i64 nodes) {
    for (u64 c = THREAD; c < (u64)nodes; c += THREADS) env.joined_to[c] = env.numbers[env.forest[c]] - 1;
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
