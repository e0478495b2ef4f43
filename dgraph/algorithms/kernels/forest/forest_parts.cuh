// Rounds of a minimum spanning forest on several GPUs; follows forest.cuh.
//
// Each GPU lists its own edges; the first edge of each tree is reduced over GPUs, and all GPUs join the same trees.

// Note the tree of every row of a part, whose vertex is a child of the tree's root.
KERNEL name_trees(i64) {
    for (u64 u = thread_rank(); u < (u64)env.rows; u += threads()) env.tree[u] = env.parent[vertex_of((u32)u)];
}

// Count the roots that have a word among this GPU's edges: of weights, or of pairs of ends.
KERNEL count_words(i64 second) {
    const u64 *words = second ? env.second : env.best, count = env.all_roots ? env.n : env.root_count;
    u64 found = 0;
    for (u64 i = thread_rank(); i < count; i += threads()) found += words[root_at(i)] != NONE;
    found = warp_sum(found);
    if (lane_id() == 0 && found) atomicAdd(env.counts + EDGES_LISTED, found);
}

// Write these roots, each with its word. A thread takes ROOTS_AT_ONCE of them for each count of a warp.
KERNEL pack(i64 second) {
    const u64 *words = second ? env.second : env.best, count = env.all_roots ? env.n : env.root_count;
    for (u64 from = thread_rank(); from - lane_id() < count; from += ROOTS_AT_ONCE * threads()) {
        u32 all[ROOTS_AT_ONCE], total = 0;
        for (int k = 0; k < ROOTS_AT_ONCE; k++) {
            const u64 i = from + k * threads();
            all[k] = ballot(i < count && words[root_at(i)] != NONE), total += __popc(all[k]);
        }
        if (!total) continue;
        u64 at = lane_id() == 0 ? atomicAdd(env.counts + EDGES_LISTED, (u64)total) : 0;
        at = shuffle(at, 0);
        for (int k = 0; k < ROOTS_AT_ONCE; k++) {
            const u64 to = 2 * (at + __popc(all[k] & ((1u << lane_id()) - 1)));
            if (all[k] >> lane_id() & 1) {
                const u32 root = root_at(from + k * threads());
                env.sent[to] = root, env.sent[to + 1] = words[root];
            }
            at += __popc(all[k]);
        }
    }
}

// Lower words by the ``arrived`` pairs of another GPU.
KERNEL merge(i64 second) {
    u64* words = second ? env.second : env.best;
    for (u64 i = thread_rank(); i < (u64)env.arrived; i += threads()) lower(words + env.received[2 * i], env.received[2 * i + 1]);
}
