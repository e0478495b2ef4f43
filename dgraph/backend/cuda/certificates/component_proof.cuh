// Check of labels by the theorem of dgraph/validate/components.py, with joined_trees.cuh. ``values``: the gid of each label,
// -1 or beyond n where it is not a vertex; ``words``: bits of gids that are their own label. Any grid.

KERNEL join_arcs(i64) {
    each_arc([=](u64 row, u64 next, u64) {
        if (env.values[row] != env.values[next]) broken(BROKEN_EQUAL, true, arc(row, next));
        if (!env.directed && next > row) return; // the reverse arc joins them
        join((u32)row, (u32)next);
    });
}

KERNEL mark_own(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS)
        if (env.values[i] == (i64)gid(i)) set_bit(env.words, gid(i));
}

KERNEL prove_labels(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS) {
        const i64 label = env.values[i], lowest = env.joined_to[i];
        const bool vertex = label >= 0 && label < (i64)env.n;
        broken(BROKEN_VERTEX, !vertex, gid(i));
        if (!vertex) continue;
        broken(BROKEN_OWN, !bit(env.words, label), gid(i));
        broken(BROKEN_UNDER, lowest < label, gid(i));
        broken(BROKEN_APART, lowest > label, gid(i));
    }
}
