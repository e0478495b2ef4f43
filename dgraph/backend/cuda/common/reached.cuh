// What is said of distances, in one pass over them: how many there are, the farthest, and edges that leave those vertices.

struct Env {
    const value_t* values;
    const degree_t* degree;
    i64 count;
    i64* found;
};
CONSTANT Env env;

KERNEL reached(i64) {
    i64 count = 0, edges = 0;
    value_t farthest = 0;
    for (u64 i = thread_rank(); i < (u64)env.count; i += threads()) {
        const value_t x = env.values[i];
        if (!IS_DISTANCE(x)) continue;
        count++, edges += (i64)env.degree[i], farthest = larger(farthest, x);
    }
    count = warp_sum(count), edges = warp_sum(edges), farthest = warp_most(farthest);
    if (lane_id() == 0 && count) {
        add(env.found, count), add(env.found + 1, edges);
        raised(env.found + 2, ORDERED(farthest));
    }
}
