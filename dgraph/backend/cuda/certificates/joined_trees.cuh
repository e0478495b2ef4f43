// Trees of vertices that arcs join. ``forest``: parents, never a larger position; ``lowest``: the smallest gid of each tree,
// at its root; ``joined_to``: the smallest gid that is joined to each vertex. Any grid.

KERNEL plant(i64) {
    for (u64 i = THREAD; i < env.rows; i += THREADS) env.forest[i] = (u32)i, env.lowest[i] = 0xffffffffu;
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

DEVICE void join(u32 v, u32 w) {
    u32 a = root_of(v), b = root_of(w);
    while (a != b) {
        const u32 high = larger(a, b), low = smaller(a, b);
        const u32 before = atomicCAS(env.forest + high, high, low);
        if (before == high) break;
        a = root_of(before), b = root_of(low);
    }
}

KERNEL find_lowest(i64) {
    for (u64 i = THREAD; i < env.rows; i += THREADS) {
        const u32 root = root_of((u32)i);
        if (FRESH(env.lowest + root) > gid(i)) atomicMin(env.lowest + root, (u32)gid(i));
    }
}

KERNEL name_lowest(i64) {
    for (u64 i = THREAD; i < env.rows; i += THREADS) env.joined_to[i] = env.lowest[root_of((u32)i)];
}

// With several ranks, ``forest`` is then of all vertices by gid. Join a rank's vertices from gid ``begin`` on, of which
// ``pairs`` has the smallest gids of their trees.
KERNEL join_trees(i64 begin) {
    for (u64 i = THREAD; i < env.end; i += THREADS) {
        const u32 v = (u32)(begin + i), low = env.pairs[i];
        if (low != v) join(v, low);
    }
}

KERNEL find_roots(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS) env.joined_to[i] = root_of((u32)gid(i));
}
