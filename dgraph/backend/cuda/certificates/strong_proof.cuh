// Check of strong components by the theorem of dgraph/validate/strong_components.py. ``values``: the gid of each label;
// ``words``: bits of gids that are their own label; ``behind``, ``before``: bits, by gid, of vertices that arcs inside
// their class join to its label, forwards and backwards; ``removed``: bits of removed classes, by the gid of their label;
// ``entered``: bits of classes that an arc from a remaining class enters. ``env.broken[2 * CHANGED]`` counts new bits.
// Sets only grow, so threads may read them while others write. Any grid.

DEVICE bool has(const u32* words, u64 v) { return FRESH(words + (v >> 5)) >> (v & 31) & 1; }
DEVICE bool is_new(u32* words, u64 v) {
    const u32 own = 1u << (v & 31);
    return !has(words, v) && !(atomicOr(words + (v >> 5), own) & own);
}
DEVICE void changed(u64 here) {
    here = warp_sum(here);
    if (lane_id() == 0 && here) atomicAdd(env.broken + 2 * CHANGED, here);
}

KERNEL prove_labels(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS) {
        const i64 label = env.values[i];
        const bool vertex = label >= 0 && label < (i64)env.n;
        broken(BROKEN_VERTEX, !vertex, gid(i));
        broken(BROKEN_LARGER, vertex && label > (i64)gid(i), gid(i));
        if (label != (i64)gid(i)) continue;
        set_bit(env.words, label), set_bit(env.behind, label), set_bit(env.before, label);
    }
}
KERNEL prove_own(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS) {
        const i64 label = env.values[i];
        broken(BROKEN_OWN, label >= 0 && label < (i64)env.n && !bit(env.words, label), gid(i));
    }
}

// Spread the marks along arcs inside classes, both ways.
KERNEL search_arcs(i64) {
    u64 here = 0;
    each_arc([&](u64 row, u64 next, u64) {
        if (env.values[row] != env.values[next] || row == next) return;
        const u64 u = gid(row), v = gid(next);
        if (has(env.behind, u)) here += is_new(env.behind, v);
        if (has(env.before, v)) here += is_new(env.before, u);
    });
    changed(here);
}
// In an undirected graph: join vertices along arcs inside classes.
KERNEL join_inside(i64) {
    each_arc([=](u64 row, u64 next, u64) {
        if (env.values[row] == env.values[next]) join((u32)row, (u32)next);
    });
}
KERNEL mark_joined(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS)
        if ((i64)env.joined_to[i] == env.values[i]) set_bit(env.behind, gid(i)), set_bit(env.before, gid(i));
}

KERNEL prove_joined(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS) {
        broken(BROKEN_BEHIND, !bit(env.behind, gid(i)), gid(i));
        broken(BROKEN_BEFORE, !bit(env.before, gid(i)), gid(i));
    }
}

// Mark the classes that a remaining class has an arc to; then remove those that none has.
KERNEL mark_entered(i64) {
    each_arc([=](u64 row, u64 next, u64) {
        const u64 from = env.values[row], to = env.values[next];
        if (from != to && !bit(env.removed, from)) set_bit(env.entered, to);
    });
}
KERNEL remove_classes(i64) {
    u64 here = 0;
    for (u64 word = THREAD; 32 * word < env.n; word += THREADS) {
        const u32 gone = env.words[word] & ~env.entered[word] & ~env.removed[word];
        here += __popc(gone);
        env.removed[word] |= gone, env.entered[word] = 0;
    }
    changed(here);
}
KERNEL prove_apart(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS)
        broken(BROKEN_APART, env.values[i] == (i64)gid(i) && !bit(env.removed, gid(i)), gid(i));
}
