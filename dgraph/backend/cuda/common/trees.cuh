// Labels that spread by trees: a rank's vertices, mirrors among them, were joined by its edges before the first round; so
// the smallest label of a tree is its vertices' label at once.

KERNEL gather_trees(i64) {
    const Globals G = globals_now();
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.rows; v += threads()) {
        const bool mine = v < (u64)env.rows;
        const u32 root = mine ? env.parent[v] : 0, first = shuffle(root, 0);
        i64 label = mine ? (i64)at_source(G, (u32)v).x0 : 0x7fffffffffffffffll;
        if (ballot(!mine || root == first) == EVERY_LANE) { // one atomic a warp where a whole warp is in one tree
            for (u32 mask = 16; mask; mask >>= 1) label = smaller(label, shuffle_xor(label, mask));
            if (lane_id() == 0 && label < FRESH(env.lowest + first)) atomicMin(env.lowest + first, label);
        } else if (mine && label < FRESH(env.lowest + root)) {
            atomicMin(env.lowest + root, label);
        }
    }
}

KERNEL spread_trees(i64) {
    SHARED(PhaseRoom, room);
    Visit visit;
    visit.open(globals_now(), FRESH(env.control + TICK), FRESH(env.control + PILE), room.staging.held[warp_in_block()]);
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.rows; v += threads()) {
        const bool mine = v < (u64)env.rows, master = v < (u64)env.masters;
        Proposal p = identity();
        if (mine) p.p0 = env.lowest[env.parent[v]];
        const bool falls = mine && improves((u32)v, p) && visit.begins_to_wait_for((u32)v);
        if (falls) put((u32)v, p);
        visit.front.add(falls && master, (u32)v);
        visit.second.add(falls && !master, (u32)v);
    }
    visit.close();
}
