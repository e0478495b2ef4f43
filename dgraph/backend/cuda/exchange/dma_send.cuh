// A pull over all vertices in two parts: what mirrors were proposed to is copied into the peers' memory, by no kernel, while
// rows of masters are pulled.

// Behind rows that are not of tiles, or of some: the longest ones, or those that blocks shared; and when it was over.
KERNEL join_part(i64 of) {
    if (is_over()) return;
    const Puller puller = {globals_now(), 0};
#if PROPAGATION_BLOCKING
    if (env.tile_pieces) join_cut_tiles(of);
    else
#endif
        join_chunks(puller, of);
    if (thread_rank() == 0) env.post[POST_PULLED + of - OF_MIRRORS] = (i64)NOW();
}

// Messages whose values have been copied: heads, words that say so, and mirrors without what they gave away. What rows of
// masters did not hide of it counts as packing.
KERNEL announce(i64 asked) {
    if (is_over()) return;
    const Asked a = parsed(asked);
    if (blockIdx.x == 0) {
        const i64 number = FRESH(env.post + POST_NUMBER) + 1;
        post_all(a, number);
        __syncthreads();
        if (threadIdx.x == 0) {
            const i64 now = (i64)NOW(), began = FRESH(env.post + POST_PULLED), ended = FRESH(env.post + POST_PULLED + 1);
            const i64 until = ended > began ? smaller(ended, now) : now; // else masters are still being pulled
            env.post[POST_NUMBER] = number;
            env.post[POST_BESIDE] += until - began, env.post[POST_PACKING] += now - until;
        }
    }
    for (i64 p = 0; p < env.peer_count; p++) {
        const Peer& peer = peer_of(p);
        const Span span = span_of(peer.mine, a.role);
        for (i64 i = span.low + (i64)thread_rank(); i < span.high; i += (i64)threads()) reset((u32)(peer.first + i));
    }
}
