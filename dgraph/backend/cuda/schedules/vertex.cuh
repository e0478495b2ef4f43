// vertex: a thread an active vertex.   [000 BS; 001: static work items to threads]

struct VertexRoom {};

template <class V> DEVICE void vertex(V& visit, const Work& work, VertexRoom&) {
    for (u64 i = thread_rank(); i - lane_id() < work.count; i += threads()) {
        const bool mine = i < work.count;
        const u32 u = mine ? work.item(i) : 0;
        const Source s = visit.source(mine, u);
        offset_t e = mine ? work.first(u) : 0;
        const offset_t last = mine ? work.last(u) : 0;
        for (; ballot(e < last); e += 4) visit.template edges<4>(e, last, u, s);
    }
}
