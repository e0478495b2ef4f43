// Check distances against edges as they are drawn. Neither the rows that a run used nor their placement is read. Any grid.

KERNEL prove_arcs(i64) {
    arcs(true, [=](u64 u, u64 v, u64) {
        prove_arc(u, v, [=](dist_t& weight) { weight_of(u, v, weight); });
    });
}

KERNEL settle_arcs(i64) {
    arcs(true, [=](u64 u, u64 v, u64) {
        settle_arc(u, v, [=](dist_t& weight) { weight_of(u, v, weight); });
    });
}

// Write the weight of the arc ``low`` → ``high`` to ``broken``.
KERNEL write_weight(i64) {
    dist_t weight;
    weight_of(env.low, env.high, weight);
    if (!THREAD) *(dist_t*)env.broken = weight;
}

// Count the items that are edges of a reached vertex, loops and parallel ones included, into ``broken``.
KERNEL count_reached(i64) {
    u64 here = 0;
    for (u64 item = THREAD; item < env.items; item += THREADS) {
        u64 u, v;
        if (EDGE(item, u, v) && env.claimed[u] != FAR) here++;
    }
    here = warp_sum(here);
    if (lane_id() == 0 && here) atomicAdd(env.broken, here);
}
