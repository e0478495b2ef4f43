// vertex: one active vertex a thread [000 BS; 001: static work items to threads].

struct VertexRoom {};

// Four threads a vertex: in a small round most of a GPU is idle, and the round takes as long as its busiest thread.
template <class V> DEVICE void vertex_by_four(V& visit, const Work& work) {
    for (u64 i = thread_rank(); i - lane_id() < 4 * work.count; i += threads()) {
        const bool mine = i < 4 * work.count;
        const u32 u = mine ? work.item(i / 4) : 0;
        const Source s = visit.source(mine, u);
        offset_t e = mine ? work.first(u) + (offset_t)(i & 3) : 0;
        const offset_t last = mine ? work.last(u) : 0;
        for (; ballot(e < last); e += 4) visit.template edges<1>(e, smaller(last, e + 1), u, s);
    }
}

template <class V> DEVICE void vertex(V& visit, const Work& work, VertexRoom&) {
    if (PERSISTENT && 4 * work.count <= threads()) {
        vertex_by_four(visit, work);
        return;
    }
    for (u64 i = thread_rank(); i - lane_id() < work.count; i += threads()) {
        const bool mine = i < work.count;
        const u32 u = mine ? work.item(i) : 0;
        const Source s = visit.source(mine, u);
        offset_t e = mine ? work.first(u) : 0;
        const offset_t last = mine ? work.last(u) : 0;
        for (; ballot(e < last); e += 4) visit.template edges<4>(e, last, u, s);
    }
}
