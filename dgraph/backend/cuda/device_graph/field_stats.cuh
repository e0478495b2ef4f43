// Figures of a field, each in one pass over its values. Any grid; warps reduce, then add with one atomic.
// ``gate``: address of a word without which, while it is 0, nothing is done; 0: none.

struct Env {
    const value_t* values;
    const beside_t* beside;
    i64 count;
    i64* found;
};
CONSTANT Env env;

DEVICE bool is_shut(i64 gate) { return gate && !FRESH((const i64*)gate); }

// Count the distances, their largest, and the degrees (``beside``) of those vertices.
KERNEL reached(i64 gate) {
    if (is_shut(gate)) return;
    i64 count = 0, edges = 0;
    value_t farthest = 0;
    for (u64 i = thread_rank(); i < (u64)env.count; i += threads()) {
        const value_t x = env.values[i];
        if (!IS_DISTANCE(x)) continue;
        count++, edges += (i64)env.beside[i], farthest = larger(farthest, x);
    }
    count = warp_sum(count), edges = warp_sum(edges), farthest = warp_most(farthest);
    if (lane_id() == 0 && count) {
        add(env.found, count), add(env.found + 1, edges);
        raised(env.found + 2, ORDERED(farthest));
    }
}

// The largest value, 0 or more.
KERNEL largest(i64) {
    value_t most = 0;
    for (u64 i = thread_rank(); i < (u64)env.count; i += threads()) most = larger(most, env.values[i]);
    most = warp_most(most);
    if (lane_id() == 0) raised(env.found, (i64)most);
}

// Count the values equal to the one that ``largest`` found.
KERNEL of_that_size(i64) {
    const value_t most = (value_t)FRESH(env.found);
    i64 count = 0;
    for (u64 i = thread_rank(); i < (u64)env.count; i += threads()) count += env.values[i] == most;
    count = warp_sum(count);
    if (lane_id() == 0 && count) add(env.found + 1, count);
}

// Count the values equal to their neighbour in ``beside``.
KERNEL own(i64 gate) {
    if (is_shut(gate)) return;
    i64 count = 0;
    for (u64 i = thread_rank(); i < (u64)env.count; i += threads()) count += (i64)env.values[i] == (i64)env.beside[i];
    count = warp_sum(count);
    if (lane_id() == 0 && count) add(env.found, count);
}

struct TotalRoom {
    double sums[BLOCK];
};

// The sum of floats, a part a block in ``found``: the order of additions is that of a grid of fixed size.
KERNEL total(i64) {
    SHARED(TotalRoom, room);
    double sum = 0;
    for (u64 i = thread_rank(); i < (u64)env.count; i += threads()) sum += (double)env.values[i];
    room.sums[threadIdx.x] = sum;
    for (u32 half = BLOCK / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) room.sums[threadIdx.x] += room.sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) ((double*)env.found)[blockIdx.x] = room.sums[0];
}
