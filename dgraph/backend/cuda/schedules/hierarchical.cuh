// hierarchical: hierarchical processing [000 HP].
//
// Each launch is a sweep, which walks at most ``option`` edges of each vertex that has more left and lists the rest for
// the next sweep, in ``scratch0`` and ``scratch1`` by turns. Once fewer than FEW vertices are left, their edges are
// divided equally among all threads, as in ``workload``. We changed: lists hold no vertex twice, so no condensing is
// needed.

#define FEW (FEW_EACH * BLOCK)

struct HierarchicalRoom {
    u32 held[BLOCK / 32][64];
    ScanRoom scan;
    u32 items[FEW];
    u64 starts[FEW];
};

// Divide the edges of a few vertices, without the first ``done`` of each, equally among all threads of the grid.
template <class V>
DEVICE void share_rest(V& visit, const Work& work, const u32* list, u32 count, u64 done, HierarchicalRoom& room) {
    i64 mine = 0, rest;
    const u32 first = threadIdx.x * (FEW / BLOCK), stop = smaller(first + FEW / BLOCK, count);
    for (u32 i = first; i < stop; i++) {
        const u32 u = list ? FRESH(list + i) : work.item(i);
        room.items[i] = u, room.starts[i] = (u64)mine;
        mine += (i64)((u64)(work.last(u) - work.first(u)) - done);
    }
    const i64 before = before_in_block(mine, rest, room.scan);
    for (u32 i = first; i < stop; i++) room.starts[i] += (u64)before;
    __syncthreads();
    const u64 run = pieces_of((u64)rest, threads());
    u64 at = smaller(thread_in_order() * run, (u64)rest);
    const u64 end = smaller(at + run, (u64)rest);
    u32 i = (u32)last_up_to(room.starts, count, at);
    for (; ballot(at < end); at++) {
        const bool has = at < end;
        while (has && i + 1 < count && room.starts[i + 1] <= at) i++;
        const u32 u = has ? room.items[i] : 0;
        const offset_t e = has ? work.first(u) + (offset_t)(done + at - room.starts[i]) : 0;
        visit.template edges<1>(e, has ? e + 1 : e, u, visit.source(has, u));
    }
}

// ``work.number``: edges of a vertex in one sweep; from SWEEP_BIT on, the sweep's number.
template <class V> DEVICE void hierarchical(V& visit, const Work& work, HierarchicalRoom& room) {
    const u64 most = (u64)work.number & ((1ull << SWEEP_BIT) - 1), sweep = (u64)work.number >> SWEEP_BIT, done = sweep * most;
    i64* swept = slot_of(KNOWN(&env.control->tick)) + SWEPT_TAIL;
    const u64 count = sweep ? (u64)FRESH(swept + 8 * (sweep % 3)) : work.count;
    const u32* list = !sweep ? (const u32*)0 : sweep & 1 ? env.scratch0 : env.scratch1;
    if (thread_rank() == 0) swept[8 * ((sweep + 2) % 3)] = 0;
    if (count < FEW) {
        if (count) share_rest(visit, work, list, (u32)count, done, room);
        return;
    }
    List rest;
    rest.open(room.held[warp_in_block()], sweep & 1 ? env.scratch1 : env.scratch0, swept + 8 * ((sweep + 1) % 3));
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const bool mine = i < count;
        const u32 u = !mine ? 0 : list ? FRESH(list + i) : work.item(i);
        offset_t e = mine ? work.first(u) + (offset_t)done : 0;
        const u64 left = mine ? (u64)(work.last(u) - e) : 0;
        const offset_t stop = e + (offset_t)smaller(left, most);
        const Source s = visit.source(mine, u);
        for (; ballot(e < stop); e += smaller((offset_t)4, stop - e)) visit.template edges<4>(e, stop, u, s);
        rest.add(left > most, u);
    }
    rest.close();
}
