// Arcs of the graph as they are drawn, where they are placed, and their weights.

// Owner of a gid, as in partitioning/policies/edge_cut.py and partitioning/policies/hashed.py.
DEVICE u64 owner(u64 gid) {
    if (!env.bounds) return (mix(gid + 0x9e3779b97f4a7c15ull) >> 32) * env.parts >> 32;
    return last_where(0ull, (u64)env.parts, [&](u64 part) { return (u64)env.bounds[part] <= gid; });
}

// Part that holds an arc, as in partitioning/placement.py and the policies cvc.py and hvc.py.
DEVICE u64 holder(u64 u, u64 v) {
    switch (env.cut) {
    case CUT_INCOMING: return owner(v);
    case CUT_GRID: return owner(u) / env.columns * env.columns + owner(v) % env.columns;
    case CUT_HUBS: return owner(bit(env.hubs, u) ? v : u);
    default: return owner(u);
    }
}

// Call ``take(u, v, item)`` for every arc of the graph that is placed here (``everywhere``: on any part), parallel ones
// each time. Draws every ``step``-th item. Returns the self-loops that this thread has drawn, on any part.
template <class F> DEVICE u64 arcs(bool everywhere, F take) {
    u64 loops = 0;
    for (u64 item = THREAD * env.step; item < env.items; item += THREADS * env.step) {
        u64 u, v;
        if (!EDGE(item, u, v)) continue;
        loops += u == v;
        if (u == v && !env.keep_loops) continue;
        const bool all = everywhere || env.parts == 1;
        if (all || holder(u, v) == env.rank) take(u, v, item);
        if (env.both && u != v && (all || holder(v, u) == env.rank)) take(v, u, item);
    }
    return loops;
}

DEVICE void copy_weight(const void* from, u64 i, void* to, u64 e) {
    if (env.weight_bytes == 8) ((u64*)to)[e] = ((const u64*)from)[i];
    else ((u32*)to)[e] = ((const u32*)from)[i];
}

DEVICE u64 bits_of_ends(u64 u, u64 v) {
    if (!env.directed && u > v) {
        const u64 other = u;
        u = v, v = other;
    }
    return mix(mix(env.weight_key + u) + v);
}

// Weight of an arc as a function of its ends; identical to graph/build/weights.py and the generators.
DEVICE void weight_of(u64 u, u64 v, double& weight) {
    weight = smaller(env.bound[0] + env.bound[1] * fraction(bits_of_ends(u, v)), env.bound[2]);
}
DEVICE void weight_of(u64 u, u64 v, i64& weight) {
    if (env.rule == RULE_UNIT) {
        weight = 1;
    } else if (env.rule == RULE_OWN) {
        weight = WEIGHT(u, v);
    } else {
        const u64 bits = bits_of_ends(u, v);
        const i64 octave = env.rule == RULE_SKEWED ? env.octaves[(bits >> 32) % env.octave_count] : 0;
        weight = env.rule == RULE_SKEWED ? (1ll << octave) + (i64)((bits & 0xffffffffull) % (1ull << octave))
                                         : env.least + (i64)(bits % env.width);
    }
}
