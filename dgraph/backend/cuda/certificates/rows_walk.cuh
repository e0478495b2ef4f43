// Walk over the arcs of the rows, by whole warps. A warp takes ``32 * STRETCH`` arcs side by side, so a hub's row is shared
// by many warps; a lane looks up the row of its first arc and steps on from there.

#define STRETCH 32
#define STEPS 4

DEVICE u64 gid(u64 position) { return env.original ? env.original[position] : env.first + position; }
DEVICE u64 arc(u64 row, u64 next) { return gid(row) << 32 | gid(next); }
DEVICE u64 end_of(u64 row) { return (u64)env.offsets[row + 1]; }

// The row of arc ``e``, which is not before ``row``.
DEVICE u64 row_of(u64 e, u64 row) {
    for (int step = 0; step < STEPS; step++, row++)
        if (end_of(row) > e) return row;
    return first_where(row, (u64)env.rows - 1, [&](u64 later) { return end_of(later) > e; });
}

// Call ``take(row, neighbour, e)`` for every arc ``e``, by positions. A thread gets its arcs in ascending order.
template <class F> DEVICE void each_arc(F take) {
    const u64 length = 32 * STRETCH;
    for (u64 first = warp_rank() * length; first < env.arcs; first += warps() * length) {
        const u64 last = smaller(first + length, env.arcs);
        u64 row = 0, end = 0;
        for (u64 e = first + lane_id(); e < last; e += 32) {
            if (e >= end) row = row_of(e, row), end = end_of(row);
            take(row, (u64)env.neighbours[e], e);
        }
    }
}

// True if arc ``e`` of ``row`` repeats the one before it: parallel arcs are adjacent.
DEVICE bool repeats(u64 row, u64 e) {
    return e > (u64)env.offsets[row] && env.neighbours[e] == env.neighbours[e - 1];
}

DEVICE u64 weight_bits(u64 e) {
#if WEIGHTS == 0
    return 1;
#elif WEIGHTS == 1
    return (u64)(i64)env.weights[e];
#else
    return bits_of((double)env.weights[e] + 0.0);
#endif
}

// Sum over arcs of graph/build/fingerprint.py.
KERNEL hash_arcs(i64) {
    u64 sum = 0;
    each_arc([&](u64 row, u64 next, u64 e) {
        sum += mix(mix(mix(0x9e3779b97f4a7c15ull + gid(row)) + gid(next)) + weight_bits(e));
    });
    if (sum) atomicAdd(env.broken, sum);
}
