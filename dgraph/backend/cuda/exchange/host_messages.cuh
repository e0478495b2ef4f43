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
