// Kernels of component rounds between GPUs (cc_multi.cuh), and the union of the ranks' largest trees before the first
// round.

KERNEL gather_trees(i64) { gather_all(globals_now()); }

KERNEL gather_active(i64) {
    if (is_over()) return;
    gather_listed(globals_now(), is(env.control->swapped) ? env.queue1 : env.queue0, (u64)KNOWN(&env.control->queued));
}

LONG_KERNEL spread_trees(i64 marked) {
    SHARED(PhaseRoom, room);
    if (is_over()) return;
    Visit visit;
    visit.open(globals_now(), KNOWN(&env.control->tick), KNOWN(&env.control->bucket), room.staging.held[warp_in_block()]);
    spread_labels(visit, marked);
    visit.close();
}

// The largest trees of two ranks belong to one component if an edge lies between them. If those of all ranks are
// connected this way, ranks exchange which of their masters are members, so that mirrors know too. No edge between two
// members can then join anything new.

// Ranks are bits of a 64-bit word.
#define MOST_UNITED 64

DEVICE u64 warp_union(u64 x) {
    for (u32 mask = 16; mask; mask >>= 1) x |= shuffle_xor(x, mask);
    return x;
}

// Ranks whose largest trees are linked to this one's by an edge, and this rank; 0 if it has no edges. By a warp.
DEVICE u64 ranks_linked(i64 rank) {
    u64 linked = 0;
    for (i64 p = lane_id(); p < env.peer_count; p += 32)
        if (FRESH(&post_of(p)->linked)) linked |= 1ull << peer_of(p).rank;
    return env.out_offsets[env.rows] ? warp_union(linked) | 1ull << rank : 0;
}

// True if the links of all ranks connect their trees; ``mine`` are this rank's links. By a warp.
DEVICE bool all_linked(const Exchanger& all, i64 rank, u64 mine) {
    u64 linked[MOST_UNITED / 32]; // this lane's ranks' links
    for (int k = 0; k < MOST_UNITED / 32; k++) {
        const i64 p = 32 * k + (i64)lane_id() - 1;
        linked[k] = p < 0 ? mine : p < env.others ? (u64)all.agreement.receive_value(p) : 0;
    }
    const u64 members = warp_union(linked[0] | linked[1]);
    u64 found = members & (0 - members), before = 0;
    while (found != before) {
        before = found;
        for (int k = 0; k < MOST_UNITED / 32; k++) found |= found & linked[k] ? linked[k] : 0;
        found = warp_union(found);
    }
    return found == members;
}

// Edges of a vertex that are probed for a link: by the first block alone, whose hubs mostly have one; and by all
// blocks.
#define GLANCED_AT 2
#define LOOKED_AT 8

// Look for an edge to each peer between a member master and a mirror whose owner says it is a member. Probes ``many``
// edges of each master among the first ``rows``; this is block ``block`` of ``blocks``. One thread a block checks for
// each peer whether a link is known, since loads of one word by many threads are serialised.
CALLED void link_by_edges(const Asked& down, i64 number, u32 many, u64 rows, u64 block, u64 blocks) {
    for (u64 from = block * BLOCK; from < rows; from += blocks * BLOCK) {
        bool lacks = false;
        for (i64 p = threadIdx.x; p < env.peer_count; p += BLOCK) lacks |= !FRESH(&post_of(p)->linked);
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
            if (window(bits_in(peer.inbox[number & 1]), span_of(peer.own_mirrors, down.role), at.position) & 1)
                post_of(at.p)->linked = 1;
        }
    }
}

// Exchange the links found and decide whether they connect all ranks' trees. By the first block.
CALLED void unite(Exchanger& all, i64 rank) {
    __syncthreads();
    if (warp_in_block() || env.others >= MOST_UNITED) return;
    const u64 mine = ranks_linked(rank);
    all.agreement.post_value((i64)mine);
    const bool one = all_linked(all, rank, mine);
    if (lane_id() == 0) env.forest[FOREST_UNITED] = one && !FRESH(&env.post->stalled);
}

// True if this launch has found that the trees are connected. By every thread of a block; one thread reads.
DEVICE bool is_united_now() { return __syncthreads_or(threadIdx.x == 0 && FRESH(env.forest + FOREST_UNITED)); }

// Exchange the members of the largest trees. If FOREST_UNITED is set on return, the bits of mirrors come from their
// owners, else from this rank. Vertices without edges here have no tree yet in the NONEMPTY_ONLY variant: all get one, or, if
// the trees are united, only mirrors outside. All blocks are resident, since the kernel has grid barriers.
LONG_KERNEL send_inside(i64 rank) {
    struct Room : ExchangeRoom, BitsRoom<1> {};
    SHARED(Room, room);
    Exchanger all = {room};
    all.begin_exchanges();
    const Asked down = parsed(KNOWN(&env.post->reduce), false);
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
    bool one = is_united_now();
    if (!one) {
        link_by_edges(down, all.number, LOOKED_AT, (u64)env.masters, blockIdx.x, gridDim.x);
        all.gate.around([&]() {
            const u64 began = NOW();
            unite(all, rank);
            all.waiting += (i64)(NOW() - began);
        });
        one = is_united_now();
    }
    const bool lacks = KNOWN(env.forest + FOREST_CLEAR) == NONEMPTY_ONLY;
    const auto adopt = [&](u64 i) { // returns the vertices that get a tree
        const u32 own = bits_before(i, (u64)env.masters), named = ~own ? mirrors_labelled(down, all.number, (i64)i) : 0;
        if (~own) inside()[i] = (inside()[i] & own) | named;
        return lacks ? bits_before(i, (u64)env.rows) & ~own & ~named : 0;
    };
    if (one)
        each_of_bits<1>(room, (u64)env.rows, adopt, [&](const bool* mine, const u32* v) {
            if (*mine) env.parent[*v] = *v;
        });
    for (u64 v = thread_rank(); lacks && !one && v < (u64)env.rows; v += threads())
        if (v >= (u64)env.masters || env.out_offsets[v] == env.out_offsets[v + 1]) env.parent[v] = (u32)v;
    if (thread_rank() == 0) all.end_exchanges();
}

// Words of bits that a warp labels at a time. Regions of vertices without edges need no labels, so work is interleaved.
#define FILLED 8

// Masters in the united tree take its smallest label over all ranks; no message is needed.
KERNEL label_inside(i64) {
    SHARED(ExchangeRoom, room);
    if (!is_united()) return;
    Exchanger all = {room};
    all.begin_exchanges();
    all.gate.around([&]() {
        const u64 began = NOW();
        if (warp_in_block()) return;
        i64 least = env.rows ? FRESH(env.forest + FOREST_LEAST) : 0x7fffffffffffffffll;
        all.agreement.post_value(least);
        for (i64 p = lane_id(); p < env.others; p += 32) least = smaller(least, all.agreement.receive_value(p));
        least = warp_least(least);
        if (lane_id() == 0) env.forest[FOREST_LEAST] = least;
        all.waiting += (i64)(NOW() - began);
    });
    if (threadIdx.x == 0) room.received.totals[TOTAL_LOWEST] = FRESH(env.forest + FOREST_LEAST);
    __syncthreads();
    Proposal p = identity();
    p.p0 = room.received.totals[TOTAL_LOWEST];
    for (u64 i = FILLED * warp_rank(); 32 * i < (u64)env.masters; i += FILLED * warps()) {
        const u64 at = i + lane_id();
        const u32 mine = lane_id() < FILLED ? bits_before(at, (u64)env.masters) : 0;
        const u32 word = mine ? inside()[at] & ~env.bits1[at] & mine : 0;
        for (u32 j = 0; j < FILLED; j++)
            if (shuffle(word, j) >> lane_id() & 1) put((u32)(32 * (i + j)) + lane_id(), p);
    }
    if (thread_rank()) return;
    if (env.rows) env.lowest[root_of((u32)env.forest[FOREST_LARGEST])] = p.p0;
    all.end_exchanges();
}
