// Vertices that lose neighbours, where a program's rounds are those of ``algorithms/kcore.py``: one that has more than k
// left loses them as edges find it, and joins the frontier when k are left. So only the first round at a level passes
// over vertices.   [Kabir & Madduri, IPDPSW 2017: who takes too much gives it back, and a dropped vertex keeps its level]
//
// Of its sums, ``dropped`` is the first and ``least`` the one minimum. That also counts what a vertex had left on its way
// down to k in one round: then the next level may be one that nobody is at.

// How v fared: whether it is dropped now, and what is left of it.
struct Peeled {
    bool drops;
    i64 rest;
};

#if PEELS
DEVICE i64 level_of(const Globals& G) { return env.p_first + G.g_k; }

DEVICE i64 lessened(int* p, i64 x) { return (i64)(int)atomicAdd((u32*)p, (u32)-x); }
DEVICE i64 lessened(i64* p, i64 x) { return (i64)atomicAdd((u64*)p, (u64)-x); }

DEVICE Peeled peel(const Globals& G, u32 v, const Proposal& lost) {
    const i64 level = level_of(G), before = lessened(env.f_core + v, lost.p0), rest = before - lost.p0;
    if (rest < level) lessened(env.f_core + v, before > level ? rest - level : -lost.p0);
    return {before > level && rest <= level, rest};
}

DEVICE void count_peeled(Sums& sums, const Globals& G, const Peeled& p) {
    if (p.drops) sums.s[0]++;
    else if (p.rest > level_of(G)) sums.s[ADDED] = (i64)larger((u64)sums.s[ADDED], (u64)(p.rest ^ TOP));
}
#else
DEVICE Peeled peel(const Globals&, u32, const Proposal&) { return {false, 0}; }
DEVICE void count_peeled(Sums&, const Globals&, const Peeled&) {}
#endif
