// Labels that spread by trees: a rank's vertices, mirrors among them, were joined by its edges before the first round; so
// the smallest label of a tree is its vertices' label at once.

DEVICE i64 label_of(const Globals& G, u32 v) { return (i64)at_source(G, v).x0; }
DEVICE bool is_united() { return FRESH(env.forest + FOREST_UNITED) != 0; }

// Of v's tree, once none changes any more.
DEVICE u32 root_of(u32 v) {
    u32 up = env.parent[v];
    for (u32 above; (above = env.parent[up]) != up;) up = above;
    return up;
}

DEVICE u32* inside() { return env.bits0; }
DEVICE u64 inside_words() { return ((u64)env.rows + 31) / 32; }

// Vertices with the roots of their trees, ``f(mine, v, root)`` by whole warps; ``settled``: but those that need no look.
template <class F> DEVICE void each_in_tree(bool settled, const F& f) {
    if (!settled) {
        for (u64 v = thread_rank(); v - lane_id() < (u64)env.rows; v += threads()) {
            const bool mine = v < (u64)env.rows;
            f(mine, (u32)v, mine ? root_of((u32)v) : 0);
        }
        return;
    }
    for (u64 i = thread_rank(); i - lane_id() < inside_words(); i += threads()) {
        u32 left = i < inside_words() ? ~inside()[i] & within({0, env.rows}, (i64)i) : 0;
        for (; ballot(left != 0); left &= left - 1) {
            const u32 v = left ? (u32)(32 * i) + __ffs(left) - 1 : 0;
            f(left != 0, v, left ? root_of(v) : 0);
        }
    }
}

KERNEL gather_trees(i64) {
    const Globals G = globals_now();
    each_in_tree(is_united(), [&](bool mine, u32 v, u32 root) {
        const u32 first = shuffle(root, 0);
        i64 label = mine ? label_of(G, v) : 0x7fffffffffffffffll;
        if (ballot(!mine || root == first) == EVERY_LANE) { // one atomic a warp where a whole warp is in one tree
            for (u32 mask = 16; mask; mask >>= 1) label = smaller(label, shuffle_xor(label, mask));
            if (lane_id() == 0 && label < FRESH(env.lowest + first)) atomicMin(env.lowest + first, label);
        } else if (mine && label < FRESH(env.lowest + root)) {
            atomicMin(env.lowest + root, label);
        }
    });
}

// The same once no label has fallen but those of the frontier; trees that have a new one are marked.
KERNEL gather_active(i64) {
    if (is_over()) return;
    const Globals G = globals_now();
    const u32* queue = is(SWAPPED) ? env.queue1 : env.queue0;
    const u64 count = (u64)FRESH(env.control + QUEUED);
    for (u64 i = thread_rank(); i < count; i += threads()) {
        const u32 v = queue[i], root = root_of(v);
        const i64 label = label_of(G, v);
        if (label < FRESH(env.lowest + root) && label < atomicMin(env.lowest + root, label))
            atomicOr(env.bits1 + (root >> 5), 1u << (root & 31));
    }
}

DEVICE bool is_marked(u32 root) { return env.bits1[root >> 5] >> (root & 31) & 1; }

// ``marked``: of trees that are marked.
KERNEL spread_trees(i64 marked) {
    SHARED(PhaseRoom, room);
    if (is_over()) return;
    Visit visit;
    visit.open(globals_now(), FRESH(env.control + TICK), FRESH(env.control + PILE), room.staging.held[warp_in_block()]);
    const bool united = is_united(), falls_inside = marked && united && is_marked(root_of((u32)env.forest[FOREST_LARGEST]));
    each_in_tree(united && !falls_inside, [&](bool has, u32 v, u32 root) {
        const bool mine = has && (!marked || is_marked(root));
        if (!ballot(mine)) return;
        Proposal p = identity();
        if (mine) p.p0 = env.lowest[root];
        const bool falls = mine && improves(v, p) && visit.begins_to_wait_for(v), master = v < env.masters;
        if (falls) put(v, p);
        visit.front.add(falls && master, v);
        visit.second.add(falls && !master, v);
    });
    visit.close();
}

// The largest trees of two ranks are one where an edge lies between them. Where those of all ranks are, ranks say which of
// their masters are inside, so that all their mirrors are; and no edge between two such vertices can join anything.

// By the first block: word ``k`` of all ranks' totals, of which this one's is ``mine``.
DEVICE void agree_on(Exchanger& all, int k, i64 mine) {
    Totalled& t = all.said.totals;
    for (int i = threadIdx.x; i < TOTAL_SUMS; i += BLOCK) t.mine[i] = i == k ? mine : 0;
    __syncthreads();
    all.agreement.post(t, true);
    all.agreement.hear(t, true);
    __syncthreads();
}

// By one thread: ranks whose largest trees share a vertex with this one's, and itself, a bit a rank; 0 where it has none.
DEVICE u64 ranks_linked(i64 rank) {
    u64 linked = env.rows ? 1ull << rank : 0;
    for (i64 p = 0; p < env.peer_count; p++)
        if (FRESH(post_of(p) + LINKED)) linked |= 1ull << peer_of(p).rank;
    return linked;
}

// By one thread, once all have said whom they are linked to: whether that makes them one.
DEVICE bool all_linked(const Exchanger& all, i64 rank) {
    u64 found = 0, before = 1;
    i64 apart = 0;
    while (found != before) {
        before = found, apart = 0;
        for (i64 p = -1; p < env.others; p++) {
            const u64 bit = 1ull << (p < 0 ? rank : peer_of(p).rank);
            const u64 linked = (u64)(p < 0 ? all.said.totals.mine[TOTAL_ACTIVES] : all.agreement.word_of(p, TOTAL_ACTIVES));
            const bool joins = linked && (!found || found & (linked | bit));
            if (joins) found |= linked | bit;
            apart += linked && !joins;
        }
    }
    return apart == 0;
}

// Rows up to this length are looked at as a whole, of others the ends.
#define LOOKED_AT 8

// Edges between a master that is inside and a mirror that its owner says to be, until there is one for each peer.
DEVICE void link_by_edges(const Asked& down, i64 number) {
    for (u64 v = thread_rank(); v < (u64)env.masters; v += threads()) {
        bool linked = true;
        for (i64 p = 0; p < env.peer_count; p++) linked = linked && FRESH(post_of(p) + LINKED);
        if (linked) return;
        if (!(inside()[v >> 5] >> (v & 31) & 1)) continue;
        const offset_t first = env.out_offsets[v], last = env.out_offsets[v + 1];
        const offset_t step = last - first <= LOOKED_AT ? 1 : last - first - 1;
        for (offset_t e = first; e < last; e += step) {
            const u32 u = env.out_neighbours[e];
            if (u < env.masters) continue;
            const Place at = place_of_mirror(u);
            const Peer& peer = peer_of(at.p);
            if (window(bits_in(peer.inbox[number & 1]), span_of(peer.mine, down.role), at.position) & 1)
                post_of(at.p)[LINKED] = 1;
        }
    }
}

// FOREST_UNITED says whether the bits of mirrors are their owners', or this rank's own.
KERNEL tell_inside(i64 rank) {
    SHARED(ExchangeRoom, room);
    Exchanger all = {room};
    all.begin_exchanges();
    Asked down = parsed(FRESH(env.post + POST_REDUCE));
    down.reduces = false;
    const u64 start = NOW();
    all.number++;
    write_masters(down, inside(), all.number);
    all.gate.around([&]() {
        post_bits(down, all.number);
        const u64 posted = NOW();
        wait_for_messages(all.number);
        all.packing += (i64)(posted - start), all.waiting += (i64)(NOW() - posted);
    });
    const bool came = !FRESH(env.post + POST_LATE);
    if (came) link_by_edges(down, all.number);
    all.gate.around([&]() {
        const u64 began = NOW();
        const bool counted = env.others < 64;
        agree_on(all, TOTAL_ACTIVES, counted ? (i64)ranks_linked(rank) : 0);
        if (threadIdx.x == 0) env.forest[FOREST_UNITED] = counted && all_linked(all, rank);
        all.waiting += (i64)(NOW() - began);
    });
    const Span masters = {0, env.masters};
    for (u64 i = thread_rank(); came && is_united() && i < inside_words(); i += threads()) {
        const u32 own = within(masters, (i64)i);
        if (~own) inside()[i] = (inside()[i] & own) | mirrors_named(down, all.number, (i64)i);
    }
    if (thread_rank()) return;
    env.forest[FOREST_LEAST] = 0x7fffffffffffffffll;
    all.end_exchanges();
}

// All masters in that tree take its smallest label at once, and nobody has to hear of it.
KERNEL name_inside(i64) {
    SHARED(ExchangeRoom, room);
    if (!is_united()) return;
    Exchanger all = {room};
    all.begin_exchanges();
    all.gate.around([&]() {
        const u64 began = NOW();
        agree_on(all, TOTAL_LOWEST, FRESH(env.forest + FOREST_LEAST));
        all.waiting += (i64)(NOW() - began);
    });
    Proposal p = identity();
    p.p0 = FRESH(env.post + POST_TOTALS + TOTAL_LOWEST);
    for (u64 v = thread_rank(); v < (u64)env.masters; v += threads())
        if ((inside()[v >> 5] & ~env.bits1[v >> 5]) >> (v & 31) & 1) put((u32)v, p);
    if (thread_rank()) return;
    if (env.rows) env.lowest[root_of((u32)env.forest[FOREST_LARGEST])] = p.p0;
    all.end_exchanges();
}
