// edge: one edge a thread, round-robin, from a list of edges that ``list_edges`` fills [000 EP and its work chunking;
// 001].
//
// A place in the list is reserved for each edge, or with ``--edge-chunk`` once for all edges of a vertex.

struct EdgeRoom {};

// Fill the edge list, a warp a vertex: the frontier's edges or, where every row is walked, all edges in order (COO).
KERNEL list_edges(i64 chunk) {
    if (is_over()) return;
    const Work work = frontier_work(0);
    const EdgeList list = edge_list(KNOWN(&env.control->swapped));
    u64* tail = (u64*)(slot_of(KNOWN(&env.control->tick)) + LISTED_TAIL);
    for (u64 i = warp_rank(); i < work.count; i += warps()) {
        const u32 u = work.item(i);
        const offset_t first = work.first(u);
        const u64 degree = (u64)(work.offsets[u + 1] - first);
        u64 at = (u64)first;
        if (work.items && chunk) {
            if (lane_id() == 0 && degree) at = atomicAdd(tail, degree);
            at = shuffle(at, 0);
        }
        if (!work.items || chunk) list.put(at, u, first, degree, lane_id(), 32);
        else for (u64 k = lane_id(); k < degree; k += 32) list.put(atomicAdd(tail, 1ull), u, first + (offset_t)k, 1, 0, 1);
    }
}

template <class V> DEVICE void edge(V& visit, const Work& work, EdgeRoom&) {
    const EdgeList list = edge_list(KNOWN(&env.control->swapped));
    for (u64 at = thread_in_order(); at - lane_id() < work.edges; at += threads()) {
        const bool has = at < work.edges;
        const u32 u = has ? list.sources[at] : 0;
        const offset_t e = has ? list.positions[at] : 0;
        visit.template edges<1>(e, has ? e + 1 : e, u, visit.source(has, u));
    }
}
