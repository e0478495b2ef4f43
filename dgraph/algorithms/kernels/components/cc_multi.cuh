// Label exchange of connected components between GPUs. Local edges joined a rank's vertices, mirrors among them, into
// trees before the first round (components_multi.cuh). A round computes the smallest label of each tree (gather) and
// writes it to the tree's vertices (spread); the exchange then crosses ranks.

DEVICE i64 label_of(const Globals& G, u32 v) { return (i64)at_source(G, v).x0; }
DEVICE bool is_united() { return KNOWN(env.forest + FOREST_UNITED) != 0; }

// Root of v's tree; trees are final, so no path is compressed.
DEVICE u32 root_of(u32 v) {
    u32 up = env.parent[v];
    for (u32 above; (above = env.parent[up]) != up;) up = above;
    return up;
}

DEVICE u32* inside() { return env.bits0; }
DEVICE u64 inside_words() { return ((u64)env.rows + 31) / 32; }

// The largest tree. Where the ranks' largest trees are one component (``united``), its members are marked in ``inside``
// and need not be linked to its root.
struct Giant {
    bool united;
    u32 root;

    // Root of a vertex that has edges, or is the end of one.
    __device__ u32 root_of_all(u32 v) const { return united && inside()[v >> 5] >> (v & 31) & 1 ? root : root_of(v); }
};

DEVICE Giant giant_now() {
    const bool united = is_united() && env.rows;
    return {united, united ? root_of((u32)env.forest[FOREST_LARGEST]) : 0};
}

// Call ``f(mine, v, root)`` for vertices and the roots of their trees, by whole warps. If the ranks' largest trees are
// one, only the listed vertices are visited (``env.dirty``, which labels have no other use for), unless ``all``.
template <class F> DEVICE void each_in_tree(const Giant& giant, bool all, const F& f) {
    if (!giant.united || all) {
        for (u64 v = thread_rank(); v - lane_id() < (u64)env.rows; v += threads()) {
            const bool master = v < (u64)env.masters; // a master without edges may have no tree
            const bool alone = giant.united && master && env.out_offsets[v] == env.out_offsets[v + 1];
            const bool mine = v < (u64)env.rows && !alone;
            f(mine, (u32)v, mine ? giant.root_of_all((u32)v) : 0);
        }
        return;
    }
    const u64 count = (u64)env.forest[FOREST_REMAINING];
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const u32 v = i < count ? env.dirty[i] : 0;
        f(i < count, v, i < count ? root_of(v) : 0);
    }
}

// Compute the smallest label of every tree. Mirrors start with their own ids.
DEVICE void gather_all(const Globals& G) {
    each_in_tree(giant_now(), false, [&](bool mine, u32 v, u32 root) {
        const u32 first = shuffle(root, 0);
        i64 label = mine ? label_of(G, v) : 0x7fffffffffffffffll;
        if (ballot(!mine || root == first) == EVERY_LANE) { // one atomic a warp where a whole warp is in one tree
            label = warp_least(label);
            if (lane_id() == 0 && label < FRESH(env.lowest + first)) atomicMin(env.lowest + first, label);
        } else if (mine && label < FRESH(env.lowest + root)) {
            atomicMin(env.lowest + root, label);
        }
    });
}

DEVICE bool is_marked(u32 root) { return FRESH(env.bits1 + (root >> 5)) >> (root & 31) & 1; }

// Lower trees' labels to those of the frontier's vertices, the only ones that changed; mark the lowered trees.
DEVICE void gather_listed(const Globals& G, const u32* queue, u64 count) {
    const Giant giant = giant_now();
    for (u64 i = thread_rank(); i < count; i += threads()) {
        const u32 v = LOAD(queue + i), root = giant.root_of_all(v);
        const i64 label = label_of(G, v);
        if (label < FRESH(env.lowest + root) && label < atomicMin(env.lowest + root, label))
            atomicOr(env.bits1 + (root >> 5), 1u << (root & 31));
    }
}

// True if the label that ranks agreed on for their largest trees was lowered here: then all members must get it.
DEVICE bool was_lowered(const Giant& giant, bool marked) {
    if (!giant.united) return false;
    return marked ? is_marked(giant.root) : FRESH(env.lowest + giant.root) < env.forest[FOREST_LEAST];
}

// Vertices take the label of their tree; ``marked``: only in marked trees. A vertex that takes it joins the frontier
// only to reach its mirrors (if those have edges), since its tree is done.
DEVICE void spread_labels(Visit& visit, bool marked) {
    const Giant giant = giant_now();
    const bool whole = was_lowered(giant, marked), broadcasts = !rows_are_whole();
    each_in_tree(giant, whole, [&](bool has, u32 v, u32 root) {
        const bool mine = has && (!marked || is_marked(root));
        if (!ballot(mine)) return;
        Proposal p = identity();
        if (mine) p.p0 = FRESH(env.lowest + root);
        const bool falls = mine && improves(v, p), master = v < env.masters;
        const bool sends = falls && (broadcasts || !master) && visit.marked_first(v);
        if (falls) put(v, p);
        visit.front.add(sends && master, v);
        visit.mirror_list.add(sends && !master, v);
    });
}
