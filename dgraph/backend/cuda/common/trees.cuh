// Labels that spread by trees: a rank's vertices, mirrors among them, were joined by its edges before the first round; so
// the smallest label of a tree is its vertices' label at once.

DEVICE i64 label_of(const Globals& G, u32 v) { return (i64)at_source(G, v).x0; }
DEVICE bool is_united() { return FRESH(env.forest + FOREST_UNITED) != 0; }

KERNEL gather_trees(i64) {
    const Globals G = globals_now();
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.rows; v += threads()) {
        const bool mine = v < (u64)env.rows;
        const u32 root = mine ? env.parent[v] : 0, first = shuffle(root, 0);
        i64 label = mine ? label_of(G, (u32)v) : 0x7fffffffffffffffll;
        if (ballot(!mine || root == first) == EVERY_LANE) { // one atomic a warp where a whole warp is in one tree
            for (u32 mask = 16; mask; mask >>= 1) label = smaller(label, shuffle_xor(label, mask));
            if (lane_id() == 0 && label < FRESH(env.lowest + first)) atomicMin(env.lowest + first, label);
        } else if (mine && label < FRESH(env.lowest + root)) {
            atomicMin(env.lowest + root, label);
        }
    }
}

// The same once no label has fallen but those of the frontier; trees that have a new one are marked.
KERNEL gather_active(i64) {
    if (is_over()) return;
    const Globals G = globals_now();
    const u32* queue = is(SWAPPED) ? env.queue1 : env.queue0;
    const u64 count = (u64)FRESH(env.control + QUEUED);
    for (u64 i = thread_rank(); i < count; i += threads()) {
        const u32 v = queue[i], root = env.parent[v];
        const i64 label = label_of(G, v);
        if (label < FRESH(env.lowest + root) && label < atomicMin(env.lowest + root, label))
            atomicOr(env.bits1 + (root >> 5), 1u << (root & 31));
    }
}

// ``marked``: of trees that are marked.
KERNEL spread_trees(i64 marked) {
    SHARED(PhaseRoom, room);
    if (is_over()) return;
    Visit visit;
    visit.open(globals_now(), FRESH(env.control + TICK), FRESH(env.control + PILE), room.staging.held[warp_in_block()]);
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.rows; v += threads()) {
        const u32 root = v < (u64)env.rows ? env.parent[v] : 0;
        const bool mine = v < (u64)env.rows && (!marked || env.bits1[root >> 5] >> (root & 31) & 1);
        if (!ballot(mine)) continue;
        Proposal p = identity();
        if (mine) p.p0 = env.lowest[root];
        const bool falls = mine && improves((u32)v, p) && visit.begins_to_wait_for((u32)v), master = v < (u64)env.masters;
        if (falls) put((u32)v, p);
        visit.front.add(falls && master, (u32)v);
        visit.second.add(falls && !master, (u32)v);
    }
    visit.close();
}

// The largest trees of two ranks are one where they share a vertex. Where those of all ranks are, ranks say which of their
// mirrors are inside, so that their masters are, and which masters, so that all their mirrors are; and no edge between two
// such vertices can join anything.

DEVICE u32* inside() { return env.bits0; }
DEVICE u64 inside_words() { return ((u64)env.rows + 31) / 32; }
// What this rank's own edges say.
DEVICE u32* inside_here() { return env.bits1; }

// All have written bits: whether those of all peers came. ``works()``: by the first block.
template <class F> DEVICE bool exchange_bits(Exchanger& all, const Asked& a, u64 start, const F& works) {
    all.gate.around([&]() {
        post_bits(a, all.number);
        const u64 posted = NOW();
        wait_for_messages(all.number);
        works();
        all.packing += (i64)(posted - start), all.waiting += (i64)(NOW() - posted);
    });
    return !FRESH(env.post + POST_LATE);
}

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

// FOREST_UNITED says whether the bits that are left are all ranks', or this one's own.
KERNEL tell_inside(i64 rank) {
    SHARED(ExchangeRoom, room);
    Exchanger all = {room};
    all.begin_exchanges();
    const Asked up = parsed(FRESH(env.post + POST_REDUCE));
    Asked down = up;
    down.reduces = false;
    u64 start = NOW();
    for (u64 i = thread_rank(); i < inside_words(); i += threads()) inside_here()[i] = inside()[i];
    all.number++;
    write_mirrors(up, inside(), all.number);
    bool came = exchange_bits(all, up, start, []() {});
    for (i64 p = 0; came && p < env.peer_count; p++)
        each_named(up, p, all.number, 0, [&](const bool* named, const i64* position, int many) {
            bool shared = false;
            for (int k = 0; k < many; k++) {
                if (!named[k]) continue;
                const u32 v = peer_of(p).lids[position[k]], bit = 1u << (v & 31);
                if (FRESH(inside_here() + (v >> 5)) & bit) shared = true;
                else atomicOr(inside() + (v >> 5), bit);
            }
            if (ballot(shared) && lane_id() == 0) post_of(p)[LINKED] = 1;
        });
    meet(env.gate, all.gate.due);
    start = NOW(), all.number++;
    write_masters(down, inside(), all.number);
    came &= exchange_bits(all, down, start, [&]() {
        const bool counted = env.others < 64;
        agree_on(all, TOTAL_ACTIVES, counted ? (i64)ranks_linked(rank) : 0);
        if (threadIdx.x == 0) env.forest[FOREST_UNITED] = counted && all_linked(all, rank);
    });
    const bool united = came && is_united();
    const Span masters = {0, env.masters};
    for (u64 i = thread_rank(); i < inside_words(); i += threads()) {
        const u32 own = within(masters, (i64)i);
        if (!united) inside()[i] = inside_here()[i];
        else if (~own) inside()[i] = (FRESH(inside() + i) & own) | mirrors_named(down, all.number, (i64)i);
    }
    if (thread_rank()) return;
    env.forest[FOREST_LEAST] = 0x7fffffffffffffffll;
    all.end_exchanges();
}

// All that ranks said to be inside take its smallest label at once, and nobody has to hear of it.
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
    for (u64 v = thread_rank(); v < (u64)env.rows; v += threads())
        if (inside()[v >> 5] >> (v & 31) & 1) put((u32)v, p);
    if (thread_rank() == 0) all.end_exchanges();
}
