// End of ``init`` or of a round without the host: the work of ``end_phase`` and ``apply_totals``, with an allreduce through words
// that ranks write into each other's memory. Where the program ends or a rank needs its host, the kernel stores that in
// RETURN_STATE and begins no round. Kernels launched ahead then return at once, and the host finds every rank behind its vertex
// phase.

struct ConcludeRoom {
    FloatRoom floats;
    Totalled totals;
    double sums[FLOAT_SUMS ? FLOAT_SUMS : 1];
};

// This rank's total ``k``.
DEVICE i64 total_found(int k, bool stops) {
    const RoundState* c = env.control;
    if (k == TOTAL_ACTIVES) return c->active;
    if (k == TOTAL_DEGREES) return c->edges;
    if (k == TOTAL_STOPS) return stops;
    if (k == TOTAL_WAITING) return PRIORITY && c->far > 0;
    if (k == TOTAL_LOWEST) return c->lowest_bucket - FAR_BASE;
    if (k == TOTAL_LIVES) return c->live_count;
    k -= TOTAL_SUMS;
    return k < SUMS ? FRESH(c->sums + k) : (i64)bits_of(FRESH(env.float_sums + k - SUMS));
}

// ``asked``: the round to stop before, the phase that is over, whether this rank needs its host, what was launched
// ahead. One block.
LONG_KERNEL end_round(i64 asked) {
    SHARED(ConcludeRoom, room);
    RoundState* c = env.control;
    const i64 phase = asked >> END_PHASE_BIT & 15, ahead = asked >> END_NEXT_BIT;
    const i64 limit = asked & ((1ll << END_PHASE_BIT) - 1);
    const bool stops = asked >> END_STOP_BIT & 1, opens = phase == LOWEST_FOUND || phase == OPENED;
    if (c->done || c->return_state != (opens ? NEEDS_BUCKET : 0)) return;
    if (phase != NO_PHASE) finish_phase(phase, room.floats);
    __syncthreads();
    Agreement agreement = {FRESH(&env.post->stamp)};
    Totalled& t = room.totals;
    const bool whole = SUMS + FLOAT_SUMS > 0 || LIVE || phase == LOWEST_FOUND;
    for (int k = threadIdx.x; k < TOTAL_SUMS + SUMS + FLOAT_SUMS; k += BLOCK) t.mine[k] = total_found(k, stops);
    __syncthreads();
    agreement.post(t, whole);
    const i64 waited = agreement.receive_from(t, whole);
    for (int i = threadIdx.x; i < FLOAT_SUMS; i += BLOCK) room.sums[i] = agreement.float_sum(t, i);
    __syncthreads();
    if (threadIdx.x) return;
    env.post->stamp = agreement.stamp, env.post->waiting += waited;
    const bool late = FRESH(&env.post->stalled) != 0;
    const i64 round = c->round, active = t.all[TOTAL_ACTIVES], edges = t.all[TOTAL_DEGREES];
    if (phase == LOWEST_FOUND) {
        c->lowest_bucket = t.all[TOTAL_LOWEST] + FAR_BASE;
        if (late || t.all[TOTAL_LOWEST] == 0) c->return_state = NEEDS_HOST;
        return;
    }
    if (LIVE) c->total_live = t.all[TOTAL_LIVES];
    Floats floats = no_floats();
    for (int i = 0; i < FLOAT_SUMS; i++) floats.s[i] = room.sums[i];
    const Globals G = globals_with(t.all + TOTAL_SUMS, floats);
    if (phase == STARTED) {
        begin_round(G, active, edges, true);
        const bool pulls = ahead == NEXT_LARGE && c->mode != PUSH;
        c->return_state = late || (active == 0 && t.all[TOTAL_WAITING]) ? NEEDS_HOST : pulls ? NEEDS_LAUNCH : 0;
        return;
    }
    const Decision decision = decided(G, active);
    const bool buckets = PRIORITY && !opens && active == 0 && t.all[TOTAL_WAITING];
    const bool leaves = late || t.all[TOTAL_STOPS] || round + 1 >= limit || (decision.done && !buckets);
    c->return_state = leaves || (buckets && (DIRTY || SUMS + FLOAT_SUMS)) ? NEEDS_HOST : buckets ? NEEDS_BUCKET : 0;
    c->program_ends = decision.done && !buckets && !late;
    if (c->program_ends) store_globals(decision.G);
    if (c->return_state) return;
    log_round(*c, 0);
    c->whole = decision.whole;
    begin_round(decision.G, active, edges, false);
    const i64 most = FRESH(&env.post->small_limit);
    const bool small = c->mode == PUSH && active <= most && edges <= most;
    if (ahead == NEXT_SMALL ? !small : ahead == NEXT_LARGE && (small || c->mode != PUSH)) c->return_state = NEEDS_LAUNCH;
}

// Notify all peers that this rank has failed, so that they do not wait for it. One block.
KERNEL abort_peers(i64 rank) {
    if (threadIdx.x == 0) abort_wait(rank, true);
}
