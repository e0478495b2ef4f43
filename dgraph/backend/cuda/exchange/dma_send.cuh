// A pull over all vertices in two parts (pull_overlap.py). First rows of mirrors are pulled; then copy engines move the
// mirrors' values into the peers' memory while rows of masters are pulled.

// Note the time at which a part was pulled, for ``announce``.
DEVICE void note_pulled(i64 of) {
    if (thread_rank() == 0) env.post->pulled[of - OF_MIRRORS] = (i64)NOW();
}

// Finish one part of the pull: combine the partial results of rows that several blocks shared. Any grid.
KERNEL join_part(i64 of) {
    if (is_over()) return;
    join_chunks({globals_now(), 0}, of);
    note_pulled(of);
}

// Post messages whose values the copy engines have written. The first block writes the headers and the ready words; all
// blocks reset the mirrors whose proposals were sent. The time that rows of masters did not hide counts as packing.
KERNEL announce(i64 asked) {
    if (is_over()) return;
    const Asked a = parsed(asked);
    if (blockIdx.x == 0) {
        const i64 number = FRESH(&env.post->number) + 1;
        post_all(a, number);
        __syncthreads();
        if (threadIdx.x == 0) {
            const i64 now = (i64)NOW(), began = FRESH(env.post->pulled), ended = FRESH(env.post->pulled + 1);
            const i64 until = ended > began ? smaller(ended, now) : now; // no end yet: masters are still being pulled
            env.post->number = number;
            env.post->beside += until - began, env.post->packing += now - until;
        }
    }
    for (i64 p = 0; p < env.peer_count; p++) {
        const Peer& peer = peer_of(p);
        const Span span = span_of(peer.own_mirrors, a.role);
        for (i64 i = span.low + (i64)thread_rank(); i < span.high; i += (i64)threads()) reset((u32)(peer.first + i));
    }
}
