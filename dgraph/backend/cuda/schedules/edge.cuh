// edge: a thread an edge, round-robin, from a list of edges that a kernel before fills; a place in it is reserved for
// each edge, or (``--edge-chunk``) once for all edges of a vertex.   [000 EP and its work chunking; 001: edge parallelism]

struct EdgeRoom {};

// The list: an edge's source and its position in the rows. Of all edges, or where every row is walked, COO.
KERNEL list_edges(i64 chunk) {
    if (is_over()) return;
    const Work work = frontier_work(0);
    u32* sources = env.scratch0;
    offset_t* positions = (offset_t*)env.scratch2;
    u64* tail = (u64*)(slot_of(FRESH(env.control + TICK)) + LISTED_TAIL);
    for (u64 i = warp_rank(); i < work.count; i += warps()) {
        const u32 u = work.item(i);
        const offset_t first = work.first(u);
        const u64 degree = (u64)(work.last(u) - first);
        u64 at = (u64)first;
        if (work.items && chunk) {
            if (lane_id() == 0 && degree) at = atomicAdd(tail, degree);
            at = shuffle(at, 0);
        }
        for (u64 k = lane_id(); k < degree; k += 32) {
            const u64 place = work.items && !chunk ? atomicAdd(tail, 1ull) : at + k;
            sources[place] = u, positions[place] = first + (offset_t)k;
        }
    }
}

template <class V> DEVICE void edge(V& visit, const Work& work, EdgeRoom&) {
    const u32* sources = env.scratch0;
    const offset_t* positions = (const offset_t*)env.scratch2;
    for (u64 at = thread_in_order(); at - lane_id() < work.edges; at += threads()) {
        const bool has = at < work.edges;
        const u32 u = has ? sources[at] : 0;
        const offset_t e = has ? positions[at] : 0;
        visit.template edges<1>(e, has ? e + 1 : e, u, visit.source(has, u));
    }
}
