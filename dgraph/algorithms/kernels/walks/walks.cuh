// Random walks on one GPU that holds the whole graph: the same draws and the same edges as on CPUs (``walks_cpu.py``).
//
// A thread makes all steps of a walk, then takes the walk that lies as many ahead as there are threads; any grid. A warp's
// walks write step by step into rows of steps, so its 32 numbers are one line of memory. Nothing is shared between threads.

struct Env {
    const offset_t* offsets;
    const u32* neighbours; // by ascending id in each row
    const double* totals; // running sums of the weights of each row; null: edges are drawn alike
    const double* weights; // of the edges; null: they are not wanted
    const u32* starts; // vertex of each source; null: source i is vertex i
    u32* walks; // (length + 1, count): the vertex of each walk after each step
    double* passed; // (length, count): the weight of the edge that it crossed; null: not wanted
    u64* crossed; // edges that all walks crossed
    i64 count, per_source, length;
    u64 key, returns; // draws below ``returns`` return to the source
};
CONSTANT Env env;

#define ENDED 0xffffffffu
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000ll)

DEVICE u64 draw(u64 start, u64 number) { return mix(start + (number + 1) * 0x9e3779b97f4a7c15ull); }

// The edge of a row that 64 random bits take; ``last`` if it has none.
DEVICE u64 place_of(u64 bits, u64 low, u64 last) {
    if (low == last) return last;
    if (!env.totals) {
        const u64 count = last - low;
        return low + ((bits >> 32) * count + ((bits & 0xffffffffull) * count >> 32) >> 32);
    }
    const double total = env.totals[last - 1];
    if (total == 0) return last;
    const double sought = (double)(bits >> 11) * (1.0 / 9007199254740992.0) * total;
    return first_where(low, last - 1, [&](u64 e) { return env.totals[e] > sought || env.totals[e] >= total; });
}

KERNEL walk(i64) {
    u64 crossed = 0;
    for (u64 w = thread_rank(); w < (u64)env.count; w += threads()) {
        const u64 source = w / (u64)env.per_source, start = draw(env.key, w);
        const u32 home = env.starts ? env.starts[source] : (u32)source;
        u32 v = home;
        env.walks[w] = v;
        for (u64 step = 0; step < (u64)env.length; step++) {
            double weight = NOT_A_NUMBER;
            if (v != ENDED) {
                const bool returns = env.returns && draw(start, 2 * step + 1) < env.returns;
                const u64 low = env.offsets[v], last = returns ? low : (u64)env.offsets[v + 1];
                const u64 place = place_of(draw(start, 2 * step), low, last);
                if (place < last) {
                    v = env.neighbours[place];
                    if (env.weights) weight = env.weights[place];
                    crossed++;
                } else v = env.returns ? home : ENDED;
            }
            env.walks[(step + 1) * env.count + w] = v;
            if (env.passed) env.passed[step * env.count + w] = weight;
        }
    }
    crossed = warp_sum(crossed);
    if (lane_id() == 0 && crossed) atomicAdd(env.crossed, crossed);
}

// Running sums of each row, added in its order, a thread a row: the bits are those of the CPU.
KERNEL sum_rows(i64 n) {
    double* totals = (double*)env.totals;
    for (u64 v = thread_rank(); v < (u64)n; v += threads()) {
        double total = 0;
        for (u64 e = env.offsets[v]; e < (u64)env.offsets[v + 1]; e++) totals[e] = total = total + env.weights[e];
    }
}
