// lb: all edges of a list of vertices spread over all threads of the grid [002].
//
// Each thread finds an edge's vertex by binary search in the prefix sum of degrees. Cyclic: neighbouring threads take
// neighbouring edges. Blocked: each thread takes a run of edges.

struct LbRoom {};

template <class V> DEVICE void lb(V& visit, const Work& work, LbRoom&) {
    const u64 run = env.blocked ? (work.edges + threads() - 1) / threads() : 1;
    const u64 stride = env.blocked ? 1 : threads();
    const u64 begin = thread_rank() * run, end = env.blocked ? smaller(begin + run, work.edges) : work.edges;
    u64 i = 0, stop = 0;
    u32 u = 0;
    offset_t base = 0;
    Source s = visit.source(false, 0);
    for (u64 edge = begin; ballot(edge < end); edge += stride) {
        const bool has = edge < end;
        if (has && (edge == begin || edge >= stop)) {
            i = work.holding(edge, i, work.count);
            u = work.item(i);
            stop = work.end(i);
            base = work.first(u) - (offset_t)work.start(i);
            s = visit.source(true, u);
        }
        const offset_t e = base + (offset_t)edge;
        visit.template edges<1>(e, has ? e + 1 : e, u, s);
    }
}
