// Phases that the host starts one by one, in the reference loop and between ranks. A graph that one GPU has alone needs them
// for checkpoints, and to open the first bucket of a program with ``apply``.

KERNEL lowest_bucket(i64) {
    if (PRIORITY)
        lowest_pass(slot_now(), is(env.control->far_swapped), (u64)KNOWN(&env.control->far), KNOWN(&env.control->bucket));
}

KERNEL open_bucket(i64) {
    SHARED(PhaseRoom, room);
    if (PRIORITY)
        open_pass(slot_now(), is(env.control->swapped), is(env.control->far_swapped), (u64)KNOWN(&env.control->far), KNOWN(&env.control->bucket),
                  KNOWN(&env.control->lowest_bucket) + larger(KNOWN(&env.control->width), 1ll) - 1, room.staging);
}

// Vertices join the frontier: of a checkpoint, or mirrors behind the masters.
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

KERNEL end_phase(i64 phase) {
    SHARED(PhaseRoom, room);
    finish_phase(phase, room.floats);
}

// Totals that all ranks agreed on, after ``init`` (how & 1) or after a round; or this rank's own (how & 2).
// One block.
KERNEL apply_totals(i64 how) {
    if (threadIdx.x == 0 && blockIdx.x == 0) take_totals(how & 1, how & 2);
}
