// merge_path: equal pieces of the merged list of vertices and edges [004; Green et al., ICS 2012; 001: workfront
// sweep].
//
// The ends of the vertices' rows and the edges are merged into one list. Each thread takes MERGE_ITEMS of its entries
// and finds the start of its piece by a search along a diagonal.

struct MergePathRoom {};

#define MERGE_ITEMS 8

// Balanced gathering by global memory [004, 4.1]: write every piece's edges to an edge list, which ``edge`` then walks.
KERNEL redistribute(i64 by_memory) {
    if (!by_memory || is_over()) return;
    const Work work = frontier_work(0);
    const EdgeList list = edge_list(KNOWN(&env.control->swapped));
    const u64 total = work.count + work.edges;
    for (u64 at = thread_in_order() * MERGE_ITEMS; at < total; at += threads() * MERGE_ITEMS) {
        u64 i = ended_before(work, at), edge = at - i;
        for (u64 step = at; step < smaller(at + MERGE_ITEMS, total); step++) {
            if (edge >= work.end(i)) {
                i++;
                continue;
            }
            const u32 u = work.item(i);
            list.put(edge, u, work.first(u) + (offset_t)(edge - work.start(i)), 1, 0, 1);
            edge++;
        }
    }
}

template <class V> DEVICE void merge_path(V& visit, const Work& work, MergePathRoom&) {
    if (work.number) {
        EdgeRoom none;
        return edge(visit, work, none);
    }
    const u64 total = work.count + work.edges;
    for (u64 piece = thread_rank(); (piece - lane_id()) * MERGE_ITEMS < total; piece += threads()) {
        const u64 diagonal = smaller(piece * MERGE_ITEMS, total);
        u64 i = ended_before(work, diagonal), edge = diagonal - i;
        u32 u = 0;
        u64 ends = 0;
        offset_t base = 0;
        Source s = visit.source(false, 0);
        bool fresh_item = true;
        for (u32 step = 0; step < MERGE_ITEMS; step++) {
            bool has = diagonal + step < total && i < work.count;
            if (has && fresh_item) {
                u = work.item(i);
                ends = work.end(i);
                base = work.first(u) - (offset_t)work.start(i);
                s = visit.source(true, u);
                fresh_item = false;
            }
            const bool walks = has && edge < ends;
            const offset_t e = base + (offset_t)edge;
            visit.template edges<1>(e, walks ? e + 1 : e, u, s);
            if (walks) edge++;
            else if (has) i++, fresh_item = true;
        }
    }
}
