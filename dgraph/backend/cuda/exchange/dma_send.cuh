// A pull over all vertices in two parts (pull_overlap.py). First rows of mirrors are pulled; then copy engines move the
// mirrors' values into the peers' memory while rows of masters are pulled.

// Finish one part of the pull, without propagation blocking or with it: combine the partial results of rows or tiles
// that several blocks shared. Any grid. Notes the time for ``announce``.
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

// Post messages whose values the copy engines have written. The first block writes the headers and the ready words; all
// blocks reset the mirrors whose proposals were sent. The time that rows of masters did not hide counts as packing.
KERNEL announce(i64 asked) {
    if (is_over()) return;
    const Asked a = parsed(asked);
    if (blockIdx.x == 0) {
        const i64 number = FRESH(env.post + POST_NUMBER) + 1;
        post_all(a, number);
        __syncthreads();
        if (threadIdx.x == 0) {
            const i64 now = (i64)NOW(), began = FRESH(env.post + POST_PULLED), ended = FRESH(env.post + POST_PULLED + 1);
            const i64 until = ended > began ? smaller(ended, now) : now; // no end yet: masters are still being pulled
            env.post[POST_NUMBER] = number;
            env.post[POST_BESIDE] += until - began, env.post[POST_PACKING] += now - until;
        }
    }
    for (i64 p = 0; p < env.peer_count; p++) {
        const Peer& peer = peer_of(p);
        const Span span = span_of(peer.own_mirrors, a.role);
        for (i64 i = span.low + (i64)thread_rank(); i < span.high; i += (i64)threads()) reset((u32)(peer.first + i));
    }
}
