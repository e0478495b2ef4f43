// A round whose edges are walked in pieces, each followed by an exchange that runs beside the next piece.

// Nanoseconds of exchanges so far.
DEVICE i64 exchanged() {
    return FRESH(env.post + POST_PACKING) + FRESH(env.post + POST_WAITING) + FRESH(env.post + POST_UNPACKING);
}

// Piece k has been walked: its mirrors end here. One block.
KERNEL piece(i64 k) {
    if (threadIdx.x) return;
    if (k == 0) env.post[POST_BEFORE] = exchanged();
    env.post[POST_PIECES + k] = FRESH(slot_now() + MIRROR_TAIL);
    env.post[POST_WALKED] = (i64)NOW();
}

// All exchanges of the round are over. What they took beyond the last piece was hidden behind none. One block.
KERNEL rejoin(i64) {
    if (threadIdx.x) return;
    const i64 bare = (i64)NOW() - FRESH(env.post + POST_WALKED), all = exchanged() - FRESH(env.post + POST_BEFORE);
    env.post[POST_HIDDEN] += larger(all - bare, 0ll);
}
