// Check of colours by the rules of dgraph/validate/coloring.py. ``values``: colours by position; ``words``: bits of used
// colours, n + 2 of them. Any grid.

KERNEL prove_colors(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS) {
        const i64 color = env.values[i];
        broken(BROKEN_GIVEN, color < 0, gid(i));
        if (color >= 0 && color <= (i64)env.n) set_bit(env.words, color);
    }
}

// Find the smallest colour that no vertex has: at most n.
KERNEL find_gap(i64) {
    for (u64 word = THREAD; 32 * word < env.n + 1; word += THREADS) {
        const u32 unused = ~env.words[word];
        if (unused) broken(GAP, true, 32 * word + __ffs(unused) - 1);
    }
}

KERNEL prove_gap(i64) {
    const u64 gap = env.broken[2 * GAP + 1];
    for (u64 i = THREAD; i < env.count; i += THREADS) broken(BROKEN_BEYOND, env.values[i] > (i64)gap, gid(i));
}

KERNEL prove_arcs(i64) {
    each_arc([=](u64 row, u64 next, u64) {
        if (env.values[row] == env.values[next]) broken(BROKEN_DIFFER, row != next, arc(row, next));
    });
}
