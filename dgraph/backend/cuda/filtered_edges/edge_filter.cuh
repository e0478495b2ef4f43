// Rows of those edges alone that ever propose anything, where that depends on nothing that a round changes: on fields that
// none writes, or on weights. A bit an edge says which they are; how many stand in front of each word of bits is where its
// edges go, and where rows begin.

// What ``warp_shares`` walks all rows with.
struct EdgeMarker {
    Globals G;

    __device__ Source source(bool mine, u32 u) const {
        Source none = Source();
        return mine ? at_source(G, u) : none;
    }

    // K times 32 edges side by side, from the first lane's on.
    template <int K>
    __device__ void batch(const bool (&has)[K], const offset_t (&e)[K], const u32 (&)[K], const Source (&s)[K]) const {
        u32 v[K];
        for (int k = 0; k < K; k++) v[k] = has[k] ? env.out_neighbours[e[k]] : 0;
        for (int k = 0; k < K; k++) {
            const u32 bits = ballot(has[k] && !is_identity(propose(G, s[k], (weight_t)1, v[k])));
            if (!bits || lane_id()) continue;
            u32* word = env.marked_edges + (e[k] >> 5);
            const u32 skipped = (u32)(e[k] & 31);
            atomicOr(word, bits << skipped);
            if (skipped && bits >> (32 - skipped)) atomicOr(word + 1, bits >> (32 - skipped));
        }
    }
};

DEVICE u64 marked_words() { return ((u64)env.out_edges + 31) / 32; }

KERNEL mark_edges(i64) {
    EdgeMarker marker = {load_globals(0, 0)};
    search_pieces<AT_ONCE>(marker, {0, 0, env.out_offsets, (u64)env.rows, (u64)env.out_edges, 0}, WARP_PIECE);
}

// Those that weigh no more than ``heaviest``, the bits of a double.
KERNEL mark_light(i64 heaviest) {
#if WEIGHTED
    const double most = value_of((u64)heaviest);
    for (u64 w = warp_rank(); w < marked_words(); w += warps()) {
        const u64 e = 32 * w + lane_id();
        const u32 bits = ballot(e < (u64)env.out_edges && (double)env.out_weights[e] <= most);
        if (lane_id() == 0) env.marked_edges[w] = bits;
    }
#endif
}

KERNEL count_marked(i64) {
    for (u64 w = thread_rank(); w < marked_words(); w += threads()) env.marked_sums[w] = (prefix_t)__popc(env.marked_edges[w]);
}

// ``marked_sums``: of all words up to each.
KERNEL keep_marked(i64) {
    for (u64 w = thread_rank(); w < marked_words(); w += threads()) {
        const u32 bits = env.marked_edges[w];
        prefix_t at = env.marked_sums[w] - (prefix_t)__popc(bits);
        for (u32 left = bits; left; left &= left - 1, at++) {
            const u64 e = 32 * w + (u64)__ffs(left) - 1;
            env.kept[at] = env.out_neighbours[e];
            if (WEIGHTED) env.kept_weights[at] = env.out_weights[e];
        }
    }
    for (u64 v = thread_rank(); v <= (u64)env.rows; v += threads()) {
        const u64 first = (u64)env.out_offsets[v], w = first >> 5;
        const u32 before = first & 31 ? env.marked_edges[w] & ((1u << (first & 31)) - 1) : 0;
        env.kept_offsets[v] = (offset_t)((w ? env.marked_sums[w - 1] : 0) + (prefix_t)__popc(before));
    }
}
