// A broad round's edges by one schedule: SCHEDULE and ROOM are its function and its shared memory.

struct EdgesRoom {
    Staging staging;
    ROOM schedule;
};

DEVICE Work frontier_work(i64 threshold) {
    const i64* c = env.control;
    if (PULLING) return {(const u32*)0, (const prefix_t*)0, env.in_offsets, (u64)env.rows, (u64)env.in_edges, threshold};
    if (ALL) return {(const u32*)0, (const prefix_t*)0, env.out_offsets, (u64)env.rows, (u64)env.out_edges, threshold};
    const bool swapped = FRESH(c + SWAPPED) != 0;
    return {swapped ? env.queue1 : env.queue0, swapped ? env.sums1 : env.sums0, env.out_offsets, (u64)FRESH(c + QUEUED),
            (u64)FRESH(c + LOCAL_EDGES), threshold};
}

DEVICE void open_visit(Visit& visit, EdgesRoom& room) {
    const i64* c = env.control;
    visit.open(load_globals(FRESH(c + ROUND), FRESH(c + TOTAL_ACTIVE)), FRESH(c + TICK), FRESH(c + PILE),
               room.staging.held[warp_in_block()]);
}

KERNEL edges(i64 threshold) {
    SHARED(EdgesRoom, room);
    if (FRESH(env.control + DONE)) return;
    Visit visit;
    open_visit(visit, room);
    SCHEDULE(visit, frontier_work(threshold), room.schedule);
    visit.close();
}

#ifdef HUGE_SCHEDULE
// The vertices that the first kernel put aside.
KERNEL edges_huge(i64) {
    SHARED(EdgesRoom, room);
    if (FRESH(env.control + DONE)) return;
    i64* slot = slot_of(FRESH(env.control + TICK));
    const Work work = {env.huge, env.huge_sums, PULLING ? env.in_offsets : env.out_offsets, (u64)listed(slot, HUGE_TAIL),
                       (u64)listed_edges(slot, HUGE_TAIL), 0};
    Visit visit;
    open_visit(visit, room);
    LbRoom none;
    HUGE_SCHEDULE(visit, work, none);
    visit.close();
}
#endif
