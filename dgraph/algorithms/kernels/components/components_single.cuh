// Components of a graph on one rank: the edges of vertices outside of the largest tree, and a label for every vertex.

// Call ``f(v)`` with AT_ONCE vertices in array ``v``, for all before ``rows``, rounded up to a whole warp.
template <class F> DEVICE void each_few(u64 rows, const F& f) {
    for (u64 from = thread_rank(); from - lane_id() < rows; from += AT_ONCE * threads()) {
        u64 v[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) v[k] = from + k * threads();
        f(v);
    }
}

struct OutsideOfTree {
    u32 largest;

    __device__ bool has(u32 v) const { return FRESH(env.parent + v) != largest; }

    template <class F> __device__ void each(const F& f) const {
        each_few((u64)env.sources, [&](const u64* at) {
            bool mine[AT_ONCE];
            u32 v[AT_ONCE];
            for (int k = 0; k < AT_ONCE; k++) v[k] = (u32)at[k], mine[k] = at[k] < (u64)env.sources && has(v[k]);
            for (int k = 0; k < AT_ONCE; k++)
                if (mine[k]) mine[k] = env.heads ? env.heads[v[k]] != NO_HEAD : env.offsets[v[k]] < env.offsets[v[k] + 1];
            f(mine, v);
        });
    }
};

// Join all edges of vertices outside of the largest tree.
KERNEL hook_rest(i64) {
    SHARED(WaitingRoom, room);
    hook_outside(
        room, OutsideOfTree{largest_tree()}, [](u32) { return false; }, [](u32) {},
        [](bool mine, u32 v, u32 u) {
            if (mine) join_trees(v, u);
        });
}

// Compute the smallest original id of every tree; for the largest one atomic a warp.
KERNEL label_trees(i64) {
    const u32 giant = env.parent[largest_tree()];
    i64 least = NO_LABEL;
    const u64 rows = (u64)env.sources; // vertices without edges are roots
    each_four(rows, [&](u64 v) {
        const Four<u32> root = load_four(env.parent, v, rows);
        const Four<original_t> id = load_four(env.original, v, rows);
        for (int k = 0; k < 4; k++) {
            if (v + k >= rows || root.of[k] == (u32)v + k) continue;
            if (root.of[k] == giant) least = smaller(least, (i64)id.of[k]);
            else if ((i64)id.of[k] < FRESH(env.lowest + root.of[k])) atomicMin(env.lowest + root.of[k], (i64)id.of[k]);
        }
    });
    least = warp_least(least);
    if (lane_id() == 0 && least < FRESH(env.lowest + giant)) atomicMin(env.lowest + giant, least);
}

// Write every vertex's label: its tree's, or its own id if it has no edges.
KERNEL label(i64) {
    const u32 giant = env.parent[largest_tree()];
    const i64 least = env.lowest[giant];
    const u64 rows = (u64)env.sources, n = (u64)env.n;
    each_four(n, [&](u64 v) {
        Four<i64> label;
        if (v + 4 > rows) {
            const Four<original_t> id = load_four(env.original, v, n);
            for (int k = 0; k < 4; k++) label.of[k] = (i64)id.of[k];
        }
        if (v < rows) {
            const Four<u32> root = load_four(env.parent, v, rows);
            for (int k = 0; k < 4; k++)
                if (v + k < rows) label.of[k] = root.of[k] == giant ? least : env.lowest[root.of[k]];
        }
        store_four(env.lowest, v, n, label);
    });
}
