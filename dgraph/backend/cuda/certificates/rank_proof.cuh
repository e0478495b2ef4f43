// One iteration of PageRank as in dgraph/validate/pagerank.py, in float64, by atomic sums in any order. ``ranks``: the
// vector by position; ``leaving``: sums of the weights of out-edges; null: they have none, and all are in the row; ``jump``: null: 1/n each; ``counts``: in-degrees, 0
// where the bound does not need them. Any grid; every thread reaches the sums of warps.

DEVICE void total(int word, double mine) {
    mine = warp_sum(mine);
    if (lane_id() == 0 && mine != 0) atomicAdd(env.totals + word, mine);
}
DEVICE double leaving(u64 i) {
    return env.leaving ? env.leaving[i] : (double)(end_of(i) - (u64)env.offsets[i]);
}

KERNEL prove_shares(i64) {
    double sum = 0;
    for (u64 i = THREAD; i < env.count; i += THREADS) {
        const double x = env.found[i];
        broken(BROKEN_MASS, !(x >= 0) || x > 2, gid(i));
        sum += x;
    }
    total(TOTAL_MASS, sum);
}

#if WEIGHTS
KERNEL sum_weights(i64) {
    u64 held = ~0ull;
    double sum = 0;
    each_arc([&](u64 row, u64 next, u64 e) {
        const double w = (double)env.weights[e];
        broken(BROKEN_CHANCES, !(w >= 0), arc(row, next));
        if (row != held) {
            if (sum != 0) atomicAdd(env.leaving + held, sum);
            held = row, sum = 0;
        }
        sum += w;
    });
    if (sum != 0) atomicAdd(env.leaving + held, sum);
}
#endif

KERNEL count_arriving(i64) {
    each_arc([=](u64, u64 next, u64) { atomicAdd(env.counts + next, 1u); });
}
KERNEL find_most(i64) {
    u32 most = 0;
    for (u64 i = THREAD; i < env.count; i += THREADS) most = larger(most, env.counts[i]);
    if (most) atomicMax(env.broken + 2 * MOST_ARRIVING, (u64)most);
}

KERNEL share_ranks(i64) {
    double lost = 0;
    for (u64 i = THREAD; i < env.count; i += THREADS) {
        const double out = leaving(i), x = env.ranks[i];
        if (!(out > 0)) lost += x;
        env.share[i] = out > 0 ? x / out : 0;
    }
    total(TOTAL_LOST, lost);
}

KERNEL flow(i64) {
    each_arc([=](u64 row, u64 next, u64 e) {
        double x = env.share[row];
#if WEIGHTS
        x *= (double)env.weights[e];
#endif
        if (x != 0) atomicAdd(env.inflow + next, x);
    });
}

// Write the next vector to ``ranks``, and add up its distance from ``found`` and the terms of the bound.
KERNEL arrive(i64) {
    const double lost = env.totals[TOTAL_LOST];
    double change = 0, missed = 0;
    for (u64 i = THREAD; i < env.count; i += THREADS) {
        const double jump = env.jump ? env.jump[i] : 1.0 / (double)env.n, inflow = env.inflow[i];
        const double next = (1 - env.alpha) * jump + env.alpha * (inflow + lost * jump);
        missed += ((env.counts ? (double)env.counts[i] : 0.0) + 2 + (WEIGHTS != 0)) * inflow;
        change += absolute(env.found[i] - next);
        env.ranks[i] = next;
    }
    total(TOTAL_CHANGE, change);
    total(TOTAL_MISSED, missed);
}
