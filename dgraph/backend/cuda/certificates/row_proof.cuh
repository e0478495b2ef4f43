// Check distances against the arcs of rows; positions are gids. Any grid.

DEVICE void weigh(u64 e, dist_t& weight) {
#if WEIGHTS
    weight = env.unit ? (dist_t)1 : (dist_t)env.weights[e];
#else
    weight = 1;
#endif
}

KERNEL prove_arcs(i64) {
    each_arc([=](u64 row, u64 next, u64 e) {
        prove_arc(gid(row), gid(next), [=](dist_t& weight) { weigh(e, weight); });
    });
}
KERNEL settle_arcs(i64) {
    each_arc([=](u64 row, u64 next, u64 e) {
        settle_arc(gid(row), gid(next), [=](dist_t& weight) { weigh(e, weight); });
    });
}
