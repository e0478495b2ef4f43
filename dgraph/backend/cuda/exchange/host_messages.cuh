// Messages that came through host memory, where GPUs do not write into each other's.

// Proposals that mirrors made on other ranks, into their masters.
KERNEL combine(i64 count) {
    SHARED(PhaseRoom, room);
    Visit visit;
    visit.open(globals_now(), KNOWN(&env.control->tick), KNOWN(&env.control->bucket), room.staging.held[warp_in_block()]);
    for (u64 i = thread_rank(); i - lane_id() < (u64)count; i += threads()) {
        const bool mine = i < (u64)count;
        const bool some[] = {mine};
        const u32 v[] = {mine ? env.lids[env.positions[i]] : 0};
        Proposal p[1];
        if (mine) p[0] = proposal_at((i64)i);
        visit.receive<1>(some, v, p);
    }
    visit.close();
}

// Mirrors join the frontier behind the masters.
KERNEL join(i64 count) {
    SHARED(PhaseRoom, room);
    i64* slot = slot_of(KNOWN(&env.control->tick) - 1);
    Front front;
    front.open(room.staging.held[warp_in_block()][0], is(env.control->swapped) ? env.queue1 : env.queue0,
               is(env.control->swapped) ? env.sums1 : env.sums0, slot, TAIL);
    for (u64 i = thread_rank(); i - lane_id() < (u64)count; i += threads()) {
        const bool mine = i < (u64)count;
        front.add(mine, mine ? env.lids[i] : 0);
    }
    front.close();
}
