// Integer sums over vertices, which go into a round's counters.

// The last MINIMA of a program's integer sums are minima: of ``x ^ TOP``, without signs, the largest counts.
#define ADDED (SUMS - MINIMA)
DEVICE void count_least(i64* p, i64 x) { atomicMax((u64*)p, (u64)x); }

DEVICE Sums no_sums() {
    Sums r;
    for (int i = 0; i < (SUMS ? SUMS : 1); i++) r.s[i] = 0;
    return r;
}

DEVICE void add_sums(Sums& a, const Sums& b) {
    for (int i = 0; i < ADDED; i++) a.s[i] += b.s[i];
    for (int i = ADDED; i < SUMS; i++) a.s[i] = (i64)larger((u64)a.s[i], (u64)b.s[i]);
}

DEVICE void flush_sums(i64* slot, const Sums& a) {
    for (int i = 0; i < ADDED; i++) {
        const i64 all = warp_sum(a.s[i]);
        if (all && lane_id() == 0) count(slot + SUMS_AT + 8 * i, all);
    }
    for (int i = ADDED; i < SUMS; i++) {
        const i64 all = (i64)warp_most((u64)a.s[i]);
        if (all && lane_id() == 0) count_least(slot + SUMS_AT + 8 * i, all);
    }
}
