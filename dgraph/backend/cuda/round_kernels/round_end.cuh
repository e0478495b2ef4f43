// The end of a round, once the totals of all ranks are known: the program's ``step``, the log, and the state that the next
// round begins with. Host-driven, device-driven and one-launch rounds share it. The state is a RoundState in memory or a
// Turn in registers, whose members have the same names.

// How many buckets to open next, after ``rounds`` rounds with ``edges`` edges of the last ones; 0: always one.
DEVICE i64 buckets(i64 width, i64 edges, i64 rounds) {
    if (width == 0) return 0;
    if (edges < FEW_EDGES * rounds) return smaller(2 * width, (i64)MOST_BUCKETS);
    return edges > MANY_EDGES * rounds ? larger(width / 2, 1ll) : width;
}

// What a round's totals mean: the next direction.   [Beamer et al., SC 2012]

DEVICE i64 direction(i64 mode, i64 forced, i64 active, i64 was, i64 edges, i64 unexplored) {
    if (forced == FORCE_PUSH) return PUSH;
    if (forced == FORCE_PULL) return PULL;
    if (forced == FLIP) return PULL - mode;
    if (forced == GATHER && was == 0) return edges > unexplored / 2 ? PULL : PUSH;
    if (!ONCE) return PUSH; // without a first hit to stop at, a pull walks every edge, and atomics are cheaper than that
    if (mode == PUSH) return edges > unexplored / 15 ? PULL : PUSH;
    return active < was && active <= env.n / 64 ? PUSH : PULL; // 18 in the paper: a late pull reads the remaining rows only
}

// Decision of a program after a round with ``active`` vertices active. ``rounds`` 0: ``G`` counts that round already.
DEVICE Decision decided(const Globals& G, i64 active, i64 rounds = 1) {
    Globals next = G;
    next.round += rounds, next.active = active;
    return step(next);
}

// Log a round before ``next_round``: its frontier, direction, and the schedule that walked its edges. By one thread.
template <class S> DEVICE void log_round(const S& s, i64 schedule) {
    i64* figure = env.ring + (s.round % RING) * FIGURES;
    figure[0] = s.total_active, figure[1] = s.total_edges, figure[2] = s.mode, figure[3] = schedule;
}

// Set the frontier of a round: ``active`` vertices and their ``edges`` over all ranks.
template <class S> DEVICE void set_totals(S& s, i64 active, i64 edges, i64 mode) {
    s.total_active = active, s.total_edges = edges, s.mode = mode;
    if (mode == PUSH) s.unexplored = s.unexplored - edges;
}

template <class S> DEVICE void next_round(S& s, i64 active, i64 edges, i64 mode) {
    s.round = s.round + 1;
    set_totals(s, active, edges, mode);
}

// Count a round of the open bucket, except the one that opened it.
template <class S> DEVICE void count_in_bucket(S& s, i64 edges) {
    const i64 rounds = s.bucket_rounds;
    s.bucket_rounds = rounds + 1;
    if (rounds) s.bucket_edges = s.bucket_edges + edges / (env.others + 1);
}
