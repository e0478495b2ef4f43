// edge: one edge a thread, round-robin, from a list of edges [000 EP and its work chunking; 001].
//
// ``list_edges`` fills the list with the frontier's edges. EMIT_REPEATED, as in 000: the thread whose proposal improved a
// vertex appends its edges to the next list at once (``edge_operator.cuh``), so that edges may stand there several times;
// a list of more than all edges of the graph is condensed to the frontier's. A place in the list is reserved for each
// edge or, EDGE_CHUNK, once for all edges of a vertex.

struct EdgeRoom {};

// Edges that the round before appended to this round's list.
DEVICE u64 emitted() { return (u64)KNOWN(slot_of(KNOWN(&env.control->tick) - 1) + EMITTED_TAIL); }

// Entries of the list: ``work.number``: appended by the round before, if they fit.
DEVICE u64 entries(const Work& work) {
    const bool appended = EMIT_NEXT_EDGES && EMIT_REPEATED && work.number && emitted() <= (u64)env.out_edges;
    return appended ? emitted() : work.edges;
}

// Fill the edge list, a warp a vertex: the frontier's edges or, where every row is walked, all edges in order (COO).
// ``appended``: the round before did, and it is filled anew only where the edges did not fit.
KERNEL list_edges(i64 appended) {
    if (is_over()) return;
    const Work work = frontier_work(0);
    if (EMIT_NEXT_EDGES && EMIT_REPEATED && appended) {
        const u64 all = emitted(), fits = all <= (u64)env.out_edges;
        u64* counts = (u64*)env.scratch1; // EDGE_COUNTS of them
        if (thread_rank() == 0) counts[0] += all, counts[1] += work.edges, counts[2] = larger(counts[2], all), counts[3] += !fits;
        if (fits) return;
    }
    const EdgeList list = edge_list(KNOWN(&env.control->swapped));
    u64* tail = (u64*)(slot_of(KNOWN(&env.control->tick)) + LISTED_TAIL);
    for (u64 i = warp_rank(); i < work.count; i += warps()) {
        const u32 u = work.item(i);
        const offset_t first = work.first(u);
        const u64 degree = (u64)(work.offsets[u + 1] - first);
        u64 at = (u64)first;
        if (work.items && EDGE_CHUNK) {
            if (lane_id() == 0 && degree) at = atomicAdd(tail, degree);
            at = shuffle(at, 0);
        }
        if (!work.items || EDGE_CHUNK) list.put(at, u, first, degree, lane_id(), 32);
        else for (u64 k = lane_id(); k < degree; k += 32) list.put(atomicAdd(tail, 1ull), u, first + (offset_t)k, 1, 0, 1);
    }
}

template <class V> DEVICE void edge(V& visit, const Work& work, EdgeRoom&) {
    const EdgeList list = edge_list(KNOWN(&env.control->swapped));
    const u64 all = entries(work);
    for (u64 at = thread_in_order(); at - lane_id() < all; at += threads()) {
        const bool has = at < all;
        const u32 u = has ? list.sources[at] : 0;
        const offset_t e = has ? list.positions[at] : 0;
        visit.template edges<1>(e, has ? e + 1 : e, u, visit.source(has, u));
    }
}
