// A broad round's edges by one schedule: SCHEDULE and SHARED_TYPE are its function and its shared memory.

struct EdgesRoom {
    Staging staging;
    SHARED_TYPE schedule;
    u32 culled[CULL & CULL_HASH ? CULLED : 1];
};

DEVICE void open_visit(Visit& visit, EdgesRoom& room) {
    const RoundState* c = env.control;
    if (CULL & CULL_HASH) {
        for (u32 i = threadIdx.x; i < CULLED; i += BLOCK) room.culled[i] = 0xffffffffu;
        __syncthreads();
    }
    visit.culled = room.culled;
    visit.open(load_globals(KNOWN(&c->round), KNOWN(&c->total_active)), KNOWN(&c->tick), KNOWN(&c->bucket),
               room.staging.held[warp_in_block()]);
}

KERNEL edges(i64 number) {
    SHARED(EdgesRoom, room);
    if (is_over()) return;
    Visit visit;
    open_visit(visit, room);
    SCHEDULE(visit, frontier_work(number), room.schedule);
    visit.close();
}

#ifdef HUGE_SCHEDULE
// The vertices that the first kernel put aside.
KERNEL edges_huge(i64) {
    SHARED(EdgesRoom, room);
    if (is_over()) return;
    i64* slot = slot_of(KNOWN(&env.control->tick));
    const Work work = {env.huge, env.huge_sums, PULLING ? env.in_offsets : env.out_offsets, (u64)listed(slot, HUGE_TAIL),
                       (u64)listed_edges(slot, HUGE_TAIL), 0};
    Visit visit;
    open_visit(visit, room);
    HUGE_SHARED_TYPE none;
    HUGE_SCHEDULE(visit, work, none);
    visit.close();
}
#endif
