// Moves of single vertices in one serial order, by one block; see ``serial_moves.py``.

#define MIDDLE (WARP_SLOTS / 2) // arcs of a row that a warp's table holds

// The first of some threads of a block, ``none`` if there is none.
DEVICE u32 first_thread(Room& room, bool wanted, u32 none) {
    if (threadIdx.x == 0) room.least = none;
    __syncthreads();
    if (wanted) atomicMin(&room.least, (u32)threadIdx.x);
    __syncthreads();
    const u32 first = room.least;
    __syncthreads();
    return first;
}

// Choose for a row of more than MIDDLE arcs. One block.
DEVICE void choose_by_block(Moving<true>& m, Room& room) {
    const i64 length = env.offsets[m.v + 1] - env.offsets[m.v];
    if (length <= BLOCK_MOST) fold_by_block(m, room);
    else fold_in(m, Far{env.table}, slots_of(length), room);
}

// Move v to its proposal. One block.
DEVICE void move_alone(u32 v) {
    const u32 own = FRESH(env.labels + v);
    __syncthreads();
    if (threadIdx.x == 0 && FRESH(env.proposed + v) == NONE) {
        u32 empty = v;
        while (FRESH(env.sizes + empty)) empty = empty + 1 < (u32)env.n ? empty + 1 : 0;
        env.proposed[v] = empty;
    }
    __syncthreads();
    const u32 taken = FRESH(env.proposed + v);
    if (warp_in_block() == 0) {
        const u64 outflow = add_members(lane_id() == 0, v, own, true);
        add_members(lane_id() == 0, v, taken, false);
        if (outflow) atomicMax(env.drift + 1, outflow);
        if (lane_id() == 0) env.labels[v] = taken;
    }
    for (i64 e = env.offsets[v] + threadIdx.x; e < env.offsets[v + 1]; e += BLOCK)
        cross(env.targets[e], FRESH(env.labels + env.targets[e]), own, taken, weight(e));
    __syncthreads();
}

// Choose for the listed rows from ``first`` on, all of at most MIDDLE arcs: short ones in lanes, others each by a warp. One block.
DEVICE void choose_by_warps(Moving<true>& m, Room& room, u64 first, u32 count) {
    const u32 warps = BLOCK / 32, each = (count + warps - 1) / warps, before = smaller(warp_in_block() * each, count);
    m.longest = SHORT;
    fold_packed(m, first + before, first + smaller(before + each, count));
    m.longest = MIDDLE;
    for (u64 i = first + warp_in_block(); i < first + count; i += warps) {
        const u32 v = env.listed[i];
        if (env.offsets[v + 1] - env.offsets[v] > SHORT && m.open(v)) fold_by_warp(m, room);
    }
}

// Mark the first ``most`` active vertices in ``flags``, and list all marked ones, ascending; MOVES: how many. Cooperative.
KERNEL_OF(4) list_swept(i64 most) {
    SHARED(Hall, room);
    u32 due = 0;
    const auto gains = [](u32 v) { return env.active[v] != 0; };
    const auto marked = [](u32 v) { return FRESH(env.flags + v) != 0; };
    number_wanted(room, (u64)env.n, due, gains, [&](u32 v, u32 number) {
        if ((i64)number < most) env.flags[v] = 1;
    });
    grid_barrier(env.gate, due); // counts of blocks are used again
    const u64 count = number_wanted(room, (u64)env.n, due, marked, [](u32 v, u32 number) { env.listed[number] = v; });
    if (thread_rank() == 0) env.results[MOVES] = count;
}

// Move the listed vertices in turn, until none of them moves, ``passes`` times at most. One block: it chooses for the next few
// rows at once, moves the first vertex that gains, and chooses again for those after it. ``proposed`` has the labels before.
KERNEL sweep(i64 passes) {
    SHARED(Room, room);
    const u32 least_rows = BLOCK / 32;
    const i64 listed = (i64)env.results[MOVES];
    for (bool moved = true; moved && passes > 0; passes--) {
        u32 rows = least_rows;
        moved = false;
        for (i64 i = 0; i < listed;) {
            Moving<true> m = moving_of<true>(room, -1, false);
            const u32 most = (u32)smaller((i64)rows, listed - i);
            const u32 mine = threadIdx.x < most ? env.listed[i + threadIdx.x] : 0;
            const bool is_long = threadIdx.x < most && env.offsets[mine + 1] - env.offsets[mine] > MIDDLE;
            u32 count = first_thread(room, is_long, most);
            if (count) choose_by_warps(m, room, i, count);
            else {
                count = 1;
                if (m.open(env.listed[i])) choose_by_block(m, room);
            }
            __syncthreads();
            const bool moves = threadIdx.x < count && FRESH(env.proposed + mine) != FRESH(env.labels + mine);
            const u32 first = first_thread(room, moves, count);
            if (first < count) move_alone(env.listed[i + first]), moved = true;
            i += first < count ? first + 1 : count;
            rows = smaller(larger(2 * (first + 1), least_rows), (u32)BLOCK);
        }
    }
}
