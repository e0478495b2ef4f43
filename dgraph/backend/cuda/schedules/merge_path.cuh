// merge_path: the ends of the vertices' edges and the edges themselves are merged into one list, and every thread takes
// the same number of its entries; where its piece begins is found by a search along a diagonal.
// [004; Green et al., ICS 2012; 001: workfront sweep]

struct MergePathRoom {};

#define MERGE_ITEMS 8

template <class V> DEVICE void merge_path(V& visit, const Work& work, MergePathRoom&) {
    const u64 total = work.count + work.edges;
    for (u64 piece = thread_rank(); (piece - lane_id()) * MERGE_ITEMS < total; piece += threads()) {
        const u64 diagonal = smaller(piece * MERGE_ITEMS, total);
        u64 low = diagonal > work.edges ? diagonal - work.edges : 0, high = smaller(diagonal, work.count);
        while (low < high) {
            const u64 middle = low + (high - low) / 2;
            if (work.end(middle) <= diagonal - middle - 1) low = middle + 1;
            else high = middle;
        }
        u64 i = low, edge = diagonal - low;
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
