// Check of a maximal independent set by the rules of dgraph/validate/independence.py. ``values``: 1 for members, by
// position; ``words``: bits, by gid, of vertices that have a member as neighbour. Any grid.

KERNEL prove_arcs(i64) {
    each_arc([=](u64 row, u64 next, u64) {
        if (env.values[next] != 1) return;
        if (env.values[row] == 1) broken(BROKEN_APART, row != next, arc(row, next));
        else set_bit(env.words, gid(row));
    });
}

// After all arcs.
KERNEL prove_members(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS) {
        const i64 inside = env.values[i];
        broken(BROKEN_DECIDED, inside != 0 && inside != 1, gid(i));
        broken(BROKEN_MAXIMAL, inside != 1 && !bit(env.words, gid(i)), gid(i));
    }
}
