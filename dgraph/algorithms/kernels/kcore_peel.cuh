// Vertices that lose neighbours, where a program's rounds are those of ``algorithms/kcore.py``: one that has more than its
// level left loses them as edges find it, and joins the frontier when so many are left. So only the first round at a k
// passes over vertices.   [Kabir & Madduri, IPDPSW 2017: who takes too much gives it back, and a dropped vertex keeps its
// level]
//
// Of its sums, ``dropped`` is the first and ``least`` the one minimum. That also counts what a vertex had left on its way
// down to its level in one round: then the next k may be one that nobody is at.

// How v fared: whether it is dropped now, and what is left of it above its zero.
struct Peeled {
    bool drops;
    i64 rest;
};

#if KCORE_PEEL
// Neighbours left with which v is dropped when k is 0; and those with fewer than so many were dropped before this k.
#if KCORE_BOUNDED
DEVICE i64 zero_of(u32 v) { return larger((i64)LOAD(env.f_top + v) - env.p_first, 1ll); }
#else
DEVICE i64 zero_of(u32) { return env.p_first; }
#endif
DEVICE i64 lowest_of(const Globals& G, i64 zero) { return KCORE_LEVELS ? G.g_k : zero + G.g_k; }

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
