// Edges of a minimum spanning forest from rows; follows forest.cuh.
//
// Where heavy edges are listed, one tree has most vertices: rows skip its inner edges by a bit of each end [as Afforest skips
// the largest component: Sutton, Ben-Nun & Barak, IPDPS 2018].

DEVICE void look(Edge& least, u32 row, u64 e) {
    const u32 to = env.neighbours[e];
    const Edge edge = edge_of(vertex_of(row), vertex_of(to), order_of(e));
    if (to != row && is_before(edge, least)) least = edge;
}

// The first edge of every row: a thread a short row, a warp a longer one.
KERNEL choose_in_rows(i64) {
    for (u64 u = thread_rank(); u - lane_id() < (u64)env.rows; u += threads()) {
        const u64 first = u < (u64)env.rows ? env.offsets[u] : 0, last = u < (u64)env.rows ? env.offsets[u + 1] : 0;
        const bool longer = last - first > SHORT_ROW;
        Edge least = {NONE, NONE};
        for (u64 e = first; !longer && e < last; e++) look(least, (u32)u, e);
        if (first < last && !longer) store_edge(env.best, env.second, vertex_of((u32)u), least);
        for (u32 left = ballot(longer); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1, row = shuffle((u32)u, lane);
            const u64 end = shuffle(last, lane);
            Edge own = {NONE, NONE};
            for (u64 e = shuffle(first, lane) + lane_id(); e < end; e += 32) look(own, row, e);
            const u64 key = warp_least(own.key), pair = warp_least(own.key == key ? own.pair : NONE);
            if (lane_id() == 0) store_edge(env.best, env.second, vertex_of(row), {key, pair});
        }
    }
}

// All arcs: ``f(u, e, step, last)`` by whole warps, for the arcs e + k * step < last, k < ARCS_AT_ONCE, of each lane; a
// thread takes a short row, a warp a longer one or a piece. It returns a word, of which each row's tree takes the least.
#define ARCS_AT_ONCE 4
template <class F> DEVICE void each_arc(const F& f) {
    const auto by_warp = [&](u32 u, u64 first, u64 last) {
        u64 least = NONE;
        for (u64 e = first + lane_id(); e - lane_id() < last; e += 32 * ARCS_AT_ONCE) least = smaller(least, f(u, e, 32, last));
        least = warp_least(least);
        if (lane_id() == 0 && least != NONE) lower(env.best + env.tree[u], least);
    };
    for (u64 i = warp_rank(); i < (u64)env.chunks; i += warps()) {
        const u32 u = env.chunk_rows[i];
        const u64 first = env.chunk_first[i];
        by_warp(u, first, smaller(first + CHUNK, (u64)env.offsets[u + 1]));
    }
    for (u64 turn = thread_rank(); turn < threads() || turn - lane_id() < (u64)env.rows; turn += threads()) {
        // Rows may be by degree: of the first and longest ones, a warp takes some that lie apart.
        const u64 u = turn < threads() ? lane_id() * warps() + warp_rank() : turn;
        const u64 first = u < (u64)env.rows ? env.offsets[u] : 0, last = u < (u64)env.rows ? env.offsets[u + 1] : 0;
        const u64 count = env.chunks && last - first > LONG_ROW ? 0 : last - first;
        const u64 alone = count <= SHORT_ROW ? first + count : first;
        u64 least = NONE;
        for (u64 e = first; ballot(e < alone); e += ARCS_AT_ONCE) least = smaller(least, f((u32)u, e, 1, alone));
        if (least != NONE) lower(env.best + env.tree[u], least);
        for (u32 left = ballot(count > SHORT_ROW); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1;
            by_warp(shuffle((u32)u, lane), shuffle(first, lane), shuffle(last, lane));
        }
    }
}

DEVICE bool is_in_giant(u32 row) { return env.in_giant[row / 32] >> row % 32 & 1; }

// List the edges of a range of weights that join two trees. Loads of several arcs wait together. A part looks at arcs of both
// directions: where many pass, each row finds the first of its own, without an atomic for each.
KERNEL list_arcs(i64) {
    SHARED(FoundRoom, room);
    Lister lister = {room.of[warp_in_block()], 0};
    const bool limited = env.above != NONE || env.upto != NONE; // few edges pass: their weights are read first
    const bool by_rows = PART && !env.in_giant;
    each_arc([&](u32 u, u64 first, u32 step, u64 last) {
        const u32 own = first < last ? u : 0, a = env.tree[own];
        const bool skips = env.in_giant && is_in_giant(own);
        bool mine[ARCS_AT_ONCE];
        u32 v[ARCS_AT_ONCE], b[ARCS_AT_ONCE];
        for (u32 k = 0; k < ARCS_AT_ONCE; k++) {
            mine[k] = first + k * step < last;
            if (!mine[k] || !limited) continue;
            const u64 order = order_of(first + k * step);
            mine[k] = (env.above == NONE || order > env.above) && order <= env.upto;
        }
        for (u32 k = 0; k < ARCS_AT_ONCE; k++) {
            v[k] = mine[k] ? env.neighbours[first + k * step] : 0;
            mine[k] &= PART || v[k] < u;
        }
        for (u32 k = 0; skips && k < ARCS_AT_ONCE; k++) mine[k] = mine[k] && !is_in_giant(v[k]);
        for (u32 k = 0; k < ARCS_AT_ONCE; k++) {
            b[k] = mine[k] ? env.tree[v[k]] : a;
            mine[k] &= a != b[k];
        }
        u64 least = NONE;
        for (u32 k = 0; k < ARCS_AT_ONCE; k++) {
            if (!ballot(mine[k])) continue;
            const u32 from = mine[k] ? vertex_of(u) : 0, to = mine[k] ? vertex_of(v[k]) : 0;
            const Edge edge = mine[k] ? edge_of(from, to, order_of(first + k * step)) : Edge{NONE, NONE};
            if (by_rows) least = smaller(least, edge.key);
            lister.add(mine[k] && (!PART || stands_for_edge(from, to)), a, b[k], edge, !by_rows);
        }
        return least;
    });
    lister.close();
}

// Mark the rows of the largest tree.
KERNEL mark_giant(i64) {
    for (u64 u = thread_rank(); u - lane_id() < (u64)env.rows; u += threads()) {
        const u32 bits = ballot(u < (u64)env.rows && env.tree[u] == (u32)env.giant);
        if (lane_id() == 0) env.in_giant[u / 32] = bits;
    }
}
