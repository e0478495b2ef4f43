// Check of labels by the theorem of dgraph/validate/components.py. ``values``: the gid of each label by position, -1 or
// beyond n where it is not a vertex; ``forest``: trees of vertices that arcs join, a parent is never a larger position; ``lowest``: the
// smallest gid of each tree, at its root. Any grid.

KERNEL plant(i64) {
    for (u64 i = THREAD; i < env.n; i += THREADS) env.forest[i] = (u32)i, env.lowest[i] = 0xffffffffu;
}

DEVICE u32 root_of(u32 v) {
    for (;;) {
        const u32 above = FRESH(env.forest + v);
        if (above == v) return v;
        const u32 next = FRESH(env.forest + above);
        if (next != above) env.forest[v] = next; // another thread may have written a smaller ancestor: either is one
        v = next;
    }
}

KERNEL join_arcs(i64) {
    each_arc([=](u64 row, u64 next, u64) {
        if (env.values[row] != env.values[next]) broken(BROKEN_EQUAL, true, arc(row, next));
        if (!env.directed && next > row) return; // the reverse arc joins them
        u32 a = root_of((u32)row), b = root_of((u32)next);
        while (a != b) {
            const u32 high = larger(a, b), low = smaller(a, b);
            const u32 before = atomicCAS(env.forest + high, high, low);
            if (before == high) break;
            a = root_of(before), b = root_of(low);
        }
    });
}

KERNEL find_lowest(i64) {
    for (u64 i = THREAD; i < env.n; i += THREADS) {
        const u32 root = root_of((u32)i);
        if (FRESH(env.lowest + root) > gid(i)) atomicMin(env.lowest + root, (u32)gid(i));
    }
}

KERNEL prove_labels(i64) {
    for (u64 i = THREAD; i < env.n; i += THREADS) {
        const i64 label = env.values[i], lowest = env.lowest[root_of((u32)i)];
        const bool vertex = label >= 0 && label < (i64)env.n;
        broken(BROKEN_VERTEX, !vertex, gid(i));
        if (!vertex) continue;
        broken(BROKEN_OWN, env.values[env.place ? env.place[label] : label] != label, gid(i));
        broken(BROKEN_UNDER, lowest < label, gid(i));
        broken(BROKEN_APART, lowest > label, gid(i));
    }
}
