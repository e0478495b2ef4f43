// Peeling of vertices inside the edge phase, where a program's rounds are those of ``kcore_parts/``. A vertex
// with more remaining neighbours than its level loses them as edges find it, and joins the frontier when it reaches the
// level. So only the first round at a k passes over all vertices.   [Kabir & Madduri, IPDPSW 2017: a vertex that was
// decremented too far is incremented again, and a removed one keeps its level]
//
// Of the program's sums, ``dropped`` is the first and ``least`` the only minimum. ``least`` also sees intermediate
// degrees of a vertex that is removed in this round, so the next k may be an empty level, which costs one round.

// Result for v: whether it is removed now, and its remaining degree above its zero.
struct Peeled {
    bool drops;
    i64 rest;
};

#if KCORE_PEEL
// Remaining degree at which v is removed when k is 0; and the degree below which vertices were removed before this k.
#if KCORE_PEEL & PEEL_BOUNDED
DEVICE i64 zero_of(u32 v) { return larger((i64)LOAD(env.f_top + v) - env.p_first, 1ll); }
#else
DEVICE i64 zero_of(u32) { return env.p_first; }
#endif
DEVICE i64 lowest_of(const Globals& G, i64 zero) { return KCORE_PEEL & PEEL_LEVELS ? G.g_k : zero + G.g_k; }

DEVICE i64 lessened(int* p, i64 x) { return (i64)(int)atomicAdd((u32*)p, (u32)-x); }
DEVICE i64 lessened(i64* p, i64 x) { return (i64)atomicAdd((u64*)p, (u64)-x); }

DEVICE Peeled peel(const Globals& G, u32 v, const Proposal& lost) {
    const i64 zero = zero_of(v), level = zero + G.g_k;
    const i64 before = lessened(env.f_core + v, lost.p0), rest = before - lost.p0;
    if (rest < level) lessened(env.f_core + v, before > level ? rest - level : -lost.p0);
    return {before > level && rest <= level, rest - zero};
}

DEVICE void count_peeled(Sums& sums, const Globals& G, const Peeled& p) {
    if (p.drops) sums.s[0]++;
    else if (p.rest > G.g_k) sums.s[ADDED] = (i64)larger((u64)sums.s[ADDED], (u64)(p.rest ^ TOP));
}
#else
DEVICE Peeled peel(const Globals&, u32, const Proposal&) { return {false, 0}; }
DEVICE void count_peeled(Sums&, const Globals&, const Peeled&) {}
#endif
