// Rounds by trees, kernel by kernel (trees.cuh); and what ranks say of their largest trees before the first.

KERNEL gather_trees(i64) { gather_all(globals_now()); }

KERNEL gather_active(i64) {
    if (is_over()) return;
    gather_listed(globals_now(), is(SWAPPED) ? env.queue1 : env.queue0, (u64)FRESH(env.control + QUEUED));
}

KERNEL spread_trees(i64 marked) {
    SHARED(PhaseRoom, room);
    if (is_over()) return;
    Visit visit;
    visit.open(globals_now(), FRESH(env.control + TICK), FRESH(env.control + PILE), room.staging.held[warp_in_block()]);
    spread_labels(visit, marked);
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

// By one thread: ranks between whose largest trees and this one's an edge lies, and itself, a bit a rank; 0 where it has no
// edge.
DEVICE u64 ranks_linked(i64 rank) {
    u64 linked = env.out_offsets[env.rows] ? 1ull << rank : 0;
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

// Edges of a vertex that are looked at for one between trees: by the first block alone, whose hubs mostly have one; and by all.
#define GLANCED_AT 2
#define LOOKED_AT 8

// Edges between a master that is inside and a mirror that its owner says to be, until there is one for each peer: ``many``
// of each master's among the first ``rows``, by ``blocks`` blocks, this one the ``block``-th. One thread a block asks
// whether that is so, as words that all ask for are handed out one after the other.
DEVICE void link_by_edges(const Asked& down, i64 number, u32 many, u64 rows, u64 block, u64 blocks) {
    for (u64 from = block * BLOCK; from < rows; from += blocks * BLOCK) {
        bool lacks = false;
        for (i64 p = 0; threadIdx.x == 0 && p < env.peer_count; p++) lacks |= !FRESH(post_of(p) + LINKED);
        if (!__syncthreads_or(lacks)) return;
        const u64 v = from + threadIdx.x;
        if (v >= rows || !(inside()[v >> 5] >> (v & 31) & 1)) continue;
        const offset_t first = env.out_offsets[v], degree = env.out_offsets[v + 1] - first;
        for (u32 i = 0; i < many && (degree > many || i < degree); i++) {
            const u32 any = ((u32)v * many + i) * 2654435761u >> 8;
            const u32 u = env.out_neighbours[first + (degree > many ? any % degree : i)];
            if (u < env.masters) continue;
            const Place at = place_of_mirror(u);
            const Peer& peer = peer_of(at.p);
            if (window(bits_in(peer.inbox[number & 1]), span_of(peer.mine, down.role), at.position) & 1)
                post_of(at.p)[LINKED] = 1;
        }
    }
}

// By the first block: whether links that ranks have found make their trees one.
DEVICE void unite(Exchanger& all, i64 rank) {
    const bool counted = env.others < 64;
    __syncthreads();
    agree_on(all, TOTAL_ACTIVES, counted ? (i64)ranks_linked(rank) : 0);
    if (threadIdx.x == 0) env.forest[FOREST_UNITED] = counted && !FRESH(env.post + POST_LATE) && all_linked(all, rank);
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
        __syncthreads();
        link_by_edges(down, all.number, GLANCED_AT, smaller((u64)env.masters, (u64)BLOCK), 0, 1);
        unite(all, rank);
        all.packing += (i64)(posted - start), all.waiting += (i64)(NOW() - posted);
    });
    if (!is_united()) {
        link_by_edges(down, all.number, LOOKED_AT, (u64)env.masters, blockIdx.x, gridDim.x);
        all.gate.around([&]() {
            const u64 began = NOW();
            unite(all, rank);
            all.waiting += (i64)(NOW() - began);
        });
    }
    for (u64 i = thread_rank(); is_united() && i < inside_words(); i += threads()) {
        const u32 own = bits_before(i, (u64)env.masters);
        if (~own) inside()[i] = (inside()[i] & own) | mirrors_named(down, all.number, (i64)i);
    }
    if (thread_rank() == 0) all.end_exchanges();
}

// All masters in that tree take its smallest label at once, and nobody has to hear of it.
KERNEL name_inside(i64) {
    SHARED(ExchangeRoom, room);
    if (!is_united()) return;
    Exchanger all = {room};
    all.begin_exchanges();
    all.gate.around([&]() {
        const u64 began = NOW();
        agree_on(all, TOTAL_LOWEST, env.rows ? FRESH(env.forest + FOREST_LEAST) : 0x7fffffffffffffffll);
        all.waiting += (i64)(NOW() - began);
    });
    Proposal p = identity();
    p.p0 = FRESH(env.post + POST_TOTALS + TOTAL_LOWEST);
    for (u64 i = 32 * warp_rank(); 32 * i < (u64)env.masters; i += 32 * warps()) {
        const u64 at = i + lane_id();
        const u32 mine = bits_before(at, (u64)env.masters), word = mine ? inside()[at] & ~env.bits1[at] & mine : 0;
        for (u32 j = 0; j < 32; j++)
            if (shuffle(word, j) >> lane_id() & 1) put((u32)(32 * (i + j)) + lane_id(), p);
    }
    if (thread_rank()) return;
    if (env.rows) env.lowest[root_of((u32)env.forest[FOREST_LARGEST])] = p.p0;
    all.end_exchanges();
}
