// Vertices whose hash is below a limit. A thread takes a vertex; any grid.

struct Env {
    const original_t* original;
    i64* found;
    u64* count;
    i64 n, seed, capacity;
    u64 limit;
};
CONSTANT Env env;

KERNEL draw(i64) {
    for (u64 i = thread_rank(); i < (u64)env.n; i += threads()) {
        const i64 id = (i64)env.original[i];
        if ((u64)mixed(id, env.seed) >= env.limit) continue;
        const u64 at = atomicAdd(env.count, 1ull);
        if (at < (u64)env.capacity) env.found[at] = id;
    }
}
