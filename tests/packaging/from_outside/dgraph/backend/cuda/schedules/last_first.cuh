// last_first: one active vertex a thread, the last of the list first.

struct LastFirstRoom {};

template <class V> DEVICE void last_first(V& visit, const Work& work, LastFirstRoom&) {
    for (u64 i = thread_rank(); i - lane_id() < work.count; i += threads()) {
        const bool mine = i < work.count;
        const u32 u = mine ? work.item(work.count - 1 - i) : 0;
        const Source s = visit.source(mine, u);
        offset_t e = mine ? work.first(u) : 0;
        const offset_t last = mine ? work.last(u) : 0;
        for (; ballot(e < last); e += 4) visit.template edges<4>(e, last, u, s);
    }
}
