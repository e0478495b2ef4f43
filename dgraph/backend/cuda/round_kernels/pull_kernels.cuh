// Pulls without a schedule. Not part of modules whose rounds only push.

// Pulls wait for memory: as many blocks as registers suffice for, or, for a search on one GPU, nearly as many. Where all
// vertices pull, NVRTC takes fewest registers without a number of blocks: 32, but 48 for one block or more.
#if ALL
#define PULL_KERNEL KERNEL
#else
#define PULL_KERNEL KERNEL_OF(ONCE || !FUSED ? 8 : 6)
#endif

#ifdef FOLD_SLOTS // a row reducer
// Bits of ``fold_marks``, which ``expand`` has cleared, or with SUPPORTS the list of touched vertices. Any grid.
KERNEL mark_rows(i64) {
    SHARED(MarkRoom, room);
    if (!is_over()) mark_along(globals_now(), frontier_work(0), slot_now(), room);
}

// Arguments of the kernels of row reducers.
#define ONLY_MARKED 1 // ``mark_rows`` has run
#define ALL_DISTINCT 2 // for MODE: the keys of a row all differ

DEVICE Puller puller_now(i64 how) {
    return {globals_now(), is(env.control->bits_swapped) ? env.bits1 : env.bits0, 0, 0, (how & ALL_DISTINCT) != 0};
}
DEVICE const u32* marks_now(i64 how) { return how & ONLY_MARKED ? env.fold_marks : 0; }
DEVICE u32* next_bits_now() { return is(env.control->bits_swapped) ? env.bits0 : env.bits1; }

DEVICE void pull_with(i64 how, ShortFolds& room, FoldRoom* rooms) {
    if (is_over()) return;
    const Puller puller = puller_now(how);
    fold_rows(puller, marks_now(how), next_bits_now(), slot_now(), room, rooms);
    if (RECORD) env.record[blockIdx.x * (u64)BLOCK + threadIdx.x] += puller.seen;
}

// All rows, and of long ones the stamps.
KERNEL pull(i64 how) {
    SHARED(Folds, room);
    pull_with(how, room, room.rooms);
}

// The same where no row has more than FOLD_ALONE edges: with a third of the registers, three times as many warps wait
// for memory at once.
KERNEL pull_short(i64 how) {
    SHARED(ShortFolds, room);
    pull_with(how, room, 0);
}

#if SUPPORTS
DEVICE Front open_front(u32* staging) {
    Front front;
    const bool swapped = is(env.control->swapped);
    front.open(staging, swapped ? env.queue0 : env.queue1, swapped ? env.sums0 : env.sums1, slot_now(), TAIL);
    return front;
}
// Values of listed rows, where the frontier was, which ``mark_rows`` has walked.
DEVICE u32* values_now() { return is(env.control->swapped) ? env.queue1 : env.queue0; }
DEVICE u64 listed_now() { return (u64)FRESH(slot_now() + TOUCHED_TAIL); }

DEVICE void pull_list_with(i64 how, MarkRoom& room, FoldRoom* rooms) {
    if (is_over()) return;
    const Puller puller = puller_now(how);
    Front front = open_front(room.held[warp_in_block()]);
    fold_listed(puller, values_now(), listed_now(), front, rooms ? rooms + warp_in_block() : 0);
    if (RECORD) env.record[blockIdx.x * (u64)BLOCK + threadIdx.x] += puller.seen;
}

// The rows that ``mark_rows`` listed, and of long ones the stamps. Three blocks, as of ``pull``: 80 registers, not 119.
KERNEL_OF(3) pull_listed(i64 how) {
    SHARED(MarkRoom, room);
    SHARED(Folds, folds);
    pull_list_with(how, room, folds.rooms);
}
KERNEL pull_listed_short(i64 how) {
    SHARED(MarkRoom, room);
    pull_list_with(how, room, 0);
}

// ``vertex_phase`` of listed rows.
KERNEL lower(i64) {
    SHARED(MarkRoom, room);
    if (is_over()) return;
    Front front = open_front(room.held[warp_in_block()]);
    lower_listed(globals_now(), values_now(), listed_now(), front);
}
#endif

#if FOLD_BLOCKS
// Rows that a block folds, after ``pull``.
KERNEL pull_middle(i64 how) {
    SHARED_ARRAY(ModeRoom, room, MIDDLE_BYTES);
    if (is_over()) return;
    const RowList rows = {env.middle_rows, (u64)env.middle_count, marks_now(how)};
    fold_in_tables(puller_now(how), rows, next_bits_now(), slot_now(), *room, MIDDLE_BYTES);
}
KERNEL pull_long(i64 how) {
    SHARED_ARRAY(ModeRoom, room, TABLE_BYTES);
    if (is_over()) return;
    const RowList rows = {env.table_rows, (u64)env.table_count, marks_now(how)};
    fold_in_tables(puller_now(how), rows, next_bits_now(), slot_now(), *room, TABLE_BYTES);
}
#endif

// The kernels of the longest rows, one after the other. Where keys differ nothing is put to the vote, and no table is filled.
#if FOLD_VOTES
KERNEL vote(i64) {
    if (!is_over()) vote_rows(puller_now(0));
}
#endif
KERNEL open_rows(i64) {
    if (!is_over()) empty_tables();
}
KERNEL fold_long(i64 how) {
    if (!is_over()) fold_chunks(puller_now(how));
}
KERNEL join_rows(i64 how) {
    SHARED(AwakeRoom, room);
    if (is_over()) return;
    join_folds(puller_now(0), marks_now(how), next_bits_now(), slot_now(), room);
}
#else
PULL_KERNEL pull(i64 of) {
    SHARED(PullBitsRoom, room);
    if (is_over()) return;
    const bool swapped = is(env.control->bits_swapped);
    const Puller puller = {globals_now(), swapped ? env.bits1 : env.bits0};
    if (ALL) pull_rows(puller, of, thread_rank(), threads());
    else pull_bits(puller, swapped ? env.bits0 : env.bits1, slot_now(), room);
    if (RECORD) env.record[blockIdx.x * (u64)BLOCK + threadIdx.x] += puller.seen;
}

#if SMALLEST
// Before ``pull``, where the graph keeps the first neighbours of every row by id.
PULL_KERNEL pull_id_heads(i64) {
    if (is_over()) return;
    const Puller puller = {globals_now(), 0};
    test_id_heads(puller);
}
#endif

// The same where vertices are numbered by degree: rows begin with hubs, and a block keeps what edges read there.
#if ALL
KERNEL_BY(HUB_BLOCK, 2) pull_hubs(i64 of) {
    SHARED_ARRAY(Source, hubs, HUB_BYTES);
    if (is_over()) return;
    const Globals G = globals_now();
    const u64 kept = smaller((u64)HUBS, (u64)env.rows);
    for (u64 u = threadIdx.x; u < kept; u += HUB_BLOCK) hubs[u] = at_source(G, (u32)u);
    __syncthreads();
    pull_rows({G, 0, hubs}, of, blockIdx.x * (u64)HUB_BLOCK + threadIdx.x, gridDim.x * (u64)HUB_BLOCK);
}
#endif

KERNEL join_rows(i64) {
    if (is_over()) return;
    const Puller puller = {globals_now(), 0};
    join_chunks(puller, OF_ALL);
}
#endif

#if !ALL
// Frontier bitmap of a pull to the lists that a push would have made. Vertices of near and of far buckets are separated here,
// where neighbours in memory are looked at together, and not while their values are lowered.
KERNEL expand(i64) {
    SHARED(PhaseRoom, room);
    if (is_over()) return;
    const i64 tick = KNOWN(&env.control->tick);
    const u32* bits = is(env.control->bits_swapped) ? env.bits0 : env.bits1;
    const i64 nearest = KNOWN(&env.control->bucket);
    i64* slot = slot_now();
    u32(*held)[STAGED_VERTICES] = room.staging.held[warp_in_block()];
    Front front;
    List touched, mirrors, far;
    front.open(held[0], is(env.control->swapped) ? env.queue0 : env.queue1, is(env.control->swapped) ? env.sums0 : env.sums1, slot, TAIL);
    touched.open(held[0], env.touched, slot + TOUCHED_TAIL);
    mirrors.open(held[1], env.mirrors, slot + MIRROR_TAIL);
    far.open(held[FAR_STAGING], is(env.control->far_swapped) ? env.far1 : env.far0, &env.control->far);
    each_set_bit((u64)env.rows, [&](u64 i) {
#ifdef FOLD_SLOTS
        env.fold_marks[i] = 0; // of the round's pull, for the next one
#endif
        return bits[i];
    }, [&](bool mine, u32 v) {
        const bool master = FUSED || v < env.masters;
        const bool waits = PRIORITY && !APPLY && mine && master && bucket(v) > nearest, near = mine && !waits;
        if (near && FLAGGED) env.stamps[v] = (u32)tick;
        if (APPLY) touched.add(near && master, v);
        else front.add(near && master, v);
        if (!FUSED) mirrors.add(near && !master, v);
        if (PRIORITY) far.add(waits && marked_far(v), v);
    });
    if (APPLY) touched.close();
    else front.close();
    if (!FUSED) mirrors.close();
    if (PRIORITY) far.close();
}
#endif
