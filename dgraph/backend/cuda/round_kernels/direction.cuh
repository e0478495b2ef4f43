// How many buckets to open next, after ``rounds`` rounds with ``edges`` edges of the last ones; 0: always one.
DEVICE i64 buckets(i64 width, i64 edges, i64 rounds) {
    if (width == 0) return 0;
    if (edges < FEW_EDGES * rounds) return smaller(2 * width, (i64)MOST_BUCKETS);
    return edges > MANY_EDGES * rounds ? larger(width / 2, 1ll) : width;
}

// What a round's totals mean: the next direction.   [Beamer et al., SC 2012]

DEVICE i64 direction(i64 mode, i64 forced, i64 active, i64 was, i64 edges, i64 unexplored) {
    if (!CAN_PULL || (CAN_PUSH && forced == FORCE_PUSH)) return PUSH;
    if (!CAN_PUSH || forced == FORCE_PULL || (ALL && forced == AUTO)) return PULL;
    if (forced == FLIP) return PULL - mode;
    if (GATHERS && was == 0) return edges > unexplored / 2 ? PULL : PUSH;
    if (!ONCE) return PUSH; // without a first hit to stop at, a pull walks every edge, and atomics are cheaper than that
    if (mode == PUSH) return edges > unexplored / 15 ? PULL : PUSH;
    return active < was && active <= env.n / 64 ? PUSH : PULL; // 18 in the paper: a late pull looks at who is left alone
}
