// Check that distances and predecessors are those of shortest paths, by the rules of dgraph/validate/tree.py, against
// all arcs: drawn again (drawn_proof.cuh), or of rows (row_proof.cuh). Any grid.

#if FLOATS
#define FAR INFINITE
DEVICE bool cut(double d) { return d > env.real_cutoff; }
#else
#define FAR 0x7fffffffffffffffll
DEVICE bool cut(i64 d) { return d > env.cutoff; }
#endif

DEVICE bool bit_of(const u32* words, u64 at) { return FRESH(words + (at >> 5)) >> (at & 31) & 1; }

// Rules of a vertex alone (0). After all arcs: arcs and tight arcs that it needs, with predecessors (1) or without (2).
KERNEL prove_vertices(i64 with) {
    for (u64 i = THREAD; i < env.high - env.low; i += THREADS) {
        const u64 v = env.low + i;
        const dist_t d = env.claimed[i];
        const bool here = v == env.source, reached = d != FAR, child = reached && !here;
        if (with == 2) {
            broken(BROKEN_ALONE, child && !bit_of(env.tight, i), v);
        } else if (with == 1) {
            broken(BROKEN_ARC, child && !bit_of(env.joined, i), v);
            broken(BROKEN_TIGHT, child && !bit_of(env.tight, i), v);
        } else {
            broken(BROKEN_SOURCE, here && d != 0, v);
            broken(BROKEN_NEGATIVE, !(d >= 0), v);
            broken(BROKEN_BEYOND, cut(d) && child, v);
            if (!env.parents) continue;
            const i64 p = env.parents[i];
            broken(BROKEN_ROOT, here && p != -1, v);
            broken(BROKEN_OUT, !reached && p != -1, v);
            broken(BROKEN_NONE, child && (p < 0 || p >= (i64)env.n), v);
        }
    }
}

// Check that predecessors inside the window of gids are reached.
KERNEL prove_predecessors(i64) {
    for (u64 i = THREAD; i < env.high - env.low; i += THREADS) {
        const u64 p = (u64)env.parents[i];
        if (p < env.window_low || p >= env.window_high || env.claimed[i] == FAR || env.low + i == env.source) continue;
        broken(BROKEN_LOST, env.window[p - env.window_low] == FAR, env.low + i);
    }
}

// Check the arc u → v, if it leads from a vertex of the window to one of this rank's slice; ``weigh`` sets its weight.
template <class W> DEVICE void prove_arc(u64 u, u64 v, W weigh) {
    if (v < env.low || v >= env.high || u < env.window_low || u >= env.window_high) return;
    const dist_t du = env.window[u - env.window_low], dv = env.claimed[v - env.low];
    const bool tree = env.parents && (u64)env.parents[v - env.low] == u;
    if (tree) set_bit(env.joined, v - env.low);
    if (du == FAR) return;
    dist_t weight;
    weigh(weight);
#if FLOATS
    const dist_t most = du + weight;
#else
    const dist_t most = du > FAR - weight ? FAR : du + weight;
#endif
    broken(BROKEN_SHORT, dv > most && !cut(most), u << 32 | v);
    const bool exact = most == dv && dv != FAR;
    if (!exact || env.parents && !tree) return;
    if (tree || du < dv) set_bit(env.tight, v - env.low);
    broken(PLATEAUS, du == dv, v);
}

// The arc u → v, where all vertices are here: v has a tight path from a nearer vertex if u has one and is as far.
template <class W> DEVICE void settle_arc(u64 u, u64 v, W weigh) {
    const dist_t d = env.claimed[v];
    if (env.claimed[u] != d || d == FAR || bit_of(env.tight, v) || !(u == env.source || bit_of(env.tight, u))) return;
    dist_t weight;
    weigh(weight);
    if (d + weight != d) return;
    set_bit(env.tight, v);
    broken(SETTLED, true, v);
}

// Vertices with the distance of their predecessor, where all are here: ``pointers`` to it, else to themselves.
KERNEL find_level(i64) {
    for (u64 i = THREAD; i < env.n; i += THREADS) {
        const i64 p = env.parents[i];
        const bool flat = i != env.source && p >= 0 && p < (i64)env.n && env.claimed[p] == env.claimed[i];
        env.pointers[i] = flat ? (u32)p : (u32)i;
        if (flat) set_bit(env.level, i);
    }
}

// Double the way that pointers go, until they leave the vertices of ``level``. Another thread's pointer may be read
// before or after its jump: either leads to an ancestor.
KERNEL jump_level(i64) {
    for (u64 i = THREAD; i < env.n; i += THREADS)
        if (bit(env.level, i)) env.pointers[i] = FRESH(env.pointers + FRESH(env.pointers + i));
}

// After log2(n) + 1 jumps only pointers in a circle are still inside.
KERNEL prove_level(i64) {
    for (u64 i = THREAD; i < env.n; i += THREADS)
        broken(BROKEN_CIRCLE, bit(env.level, i) && bit(env.level, env.pointers[i]), i);
}
