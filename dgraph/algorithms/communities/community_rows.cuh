// Folds of the labels of rows.
// A fold adds up the weights of each distinct label of a row's neighbours, exactly: in the lanes of a warp (up to 32 arcs), in a
// table of a warp or of a block in shared memory, or, for longer rows, in a table in global memory that many blocks fill, a
// chunk of the row each, and leave empty. A table is at least a quarter larger than the row, so it never overflows.

// scale · weight - price · mass, of factors from 0 to below 2^63.
DEVICE Score gain(i64 scale, u64 sum, i64 price, i64 mass, u32 label) {
    const u64 plus = (u64)scale * sum, minus = (u64)price * (u64)mass;
    const u64 high = __umul64hi((u64)scale, sum) - __umul64hi((u64)price, (u64)mass) - (plus < minus);
    return {(i64)high, plus - minus, label};
}
DEVICE bool exceeds(const Score& a, const Score& b) { return a.high != b.high ? a.high > b.high : a.low > b.low; }
DEVICE bool beats(const Score& a, const Score& b) {
    if (a.label == NONE || b.label == NONE) return a.label != NONE;
    return exceeds(a, b) || (a.high == b.high && a.low == b.low && a.label < b.label);
}
DEVICE Score no_score() { return {0, 0, NONE}; }
DEVICE Score warp_best(Score best) {
    for (u32 mask = 16; mask; mask >>= 1) {
        const Score other = {shuffle_xor(best.high, mask), shuffle_xor(best.low, mask), shuffle_xor(best.label, mask)};
        if (beats(other, best)) best = other;
    }
    return best;
}
// Of all threads of a block, to all.
DEVICE void block_best(Room& room, Score& best, u64& own) {
    best = warp_best(best), own = warp_sum(own);
    if (lane_id() == 0) room.best[warp_in_block()] = best, room.own[warp_in_block()] = own;
    __syncthreads();
    best = no_score(), own = 0;
    for (int w = 0; w < BLOCK / 32; w++) {
        if (beats(room.best[w], best)) best = room.best[w];
        own += room.own[w];
    }
    __syncthreads();
}

// A table in shared memory. ``take`` adds to a label's sum where a slot is empty or has this label, and returns the key before.
struct Near {
    static constexpr bool left_empty = false;
    u32* keys;
    weight_t* sums;
    __device__ void clear(u64 s) const { keys[s] = NONE, sums[s] = 0; }
    __device__ u32 key(u64 s) const { return FRESH(keys + s); }
    __device__ weight_t sum(u64 s) const { return FRESH(sums + s); }
    __device__ u32 take(u64 s, u32 label, weight_t x) const {
        u32 before = key(s);
        if (before == NONE) before = atomicCAS(keys + s, NONE, label);
        if (before == NONE || before == label) atomicAdd(sums + s, x);
        return before;
    }
};
// A table in global memory, empty before and afterwards. A key is a label + 1. Of 32 bits, key and sum are written at once, as most
// labels of a long row are new at first.
struct Far {
    static constexpr bool left_empty = true;
    Slot* slots;
    __device__ void clear(u64 s) const { slots[s] = {0, 0}; }
    __device__ u32 key(u64 s) const { return FRESH(&slots[s].key) - 1; }
    __device__ weight_t sum(u64 s) const { return FRESH(&slots[s].sum); }
    __device__ void add(u64 s, weight_t x) const { atomicAdd(&slots[s].sum, x); }
    __device__ u32 claim(u64 s, u32 label, weight_t x) const { // the key before; if it is this label's, nothing is added yet
        if (sizeof(weight_t) == 4) return (u32)atomicCAS((u64*)(slots + s), (u64)0, (u64)x << 32 | (label + 1)) - 1;
        const u32 before = atomicCAS(&slots[s].key, 0u, label + 1) - 1;
        if (before == NONE) atomicAdd(&slots[s].sum, x);
        return before;
    }
    __device__ u32 take(u64 s, u32 label, weight_t x) const {
        const u32 before = claim(s, label, x);
        if (before == label) add(s, x);
        return before;
    }
};

// The first slot that a label tries, of any number below 2^32.
DEVICE u64 place_of(u32 label, u64 slots) { return (mix(label) >> 32) * slots >> 32; }
// Returns true if the label is new.
template <class T> DEVICE bool insert(const T& table, u64 slots, u32 label, weight_t x) {
    for (u64 s = place_of(label, slots);; s = s + 1 < slots ? s + 1 : 0) {
        const u32 before = table.take(s, label, x);
        if (before == NONE || before == label) return before == NONE;
    }
}

// Add arcs to a table, by ``step`` threads; returns this thread's weight to the row's own label, and counts new labels. A label of
// one arc alone needs no table: it is compared with ``best`` at once.
template <class M, class T>
CALLED u64 add_arcs(M& m, const T& table, u64 slots, i64 first, i64 last, u32 me, u32 step, u32& added, Score& best) {
    u64 own = 0;
    added = 0;
    for (i64 e = first + me; e < last; e += AT_ONCE * step) {
        u32 label[AT_ONCE], unmoved = 0; // unmoved: bits of targets whose label is their own number
        for (int k = 0; k < AT_ONCE; k++) label[k] = e + k * step < last ? env.targets[e + k * step] : NONE;
        for (int k = 0; k < AT_ONCE; k++) {
            const u32 u = label[k];
            label[k] = u == NONE ? NONE : m.label(u);
            unmoved |= (u32)(label[k] == u) << k;
        }
        for (int k = 0; k < AT_ONCE; k++) {
            if (label[k] == NONE) continue;
            const u64 x = weight(e + k * step);
            if (label[k] == m.own) own += x;
            else if ((unmoved >> k & 1) && m.single(label[k])) m.visit(label[k], x, best);
            else added += insert(table, slots, label[k], (weight_t)x);
        }
    }
    return own;
}

// Best of ``best`` and the labels of a range of slots for one thread of ``step``; M may take the sums elsewhere. By whole warps.
template <class M, class T> CALLED Score visit_slots(M& m, const T& table, u64 first, u64 last, u32 me, u32 step, Score best) {
    for (u64 s = first + me; s - me % 32 < last; s += AT_ONCE * step) {
        u32 label[AT_ONCE];
        weight_t sum[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) {
            const bool within = s + k * step < last;
            label[k] = within ? table.key(s + k * step) : NONE, sum[k] = within ? table.sum(s + k * step) : 0;
        }
        for (int k = 0; k < AT_ONCE; k++) {
            if (T::left_empty && label[k] != NONE) table.clear(s + k * step);
            m.visit(label[k], sum[k], best);
        }
    }
    return best;
}

// Sum over the lanes of a mask, each lane's own; by whole warps.
CALLED u64 sum_over(u64 x, u32 lanes) {
    u64 sum = 0;
    for (u32 left = lanes; ballot(left != 0); left &= left - 1) {
        const u64 other = shuffle(x, left ? __ffs(left) - 1 : lane_id());
        if (left) sum += other;
    }
    return sum;
}

// Rows that a warp takes at once: at most 32, and fewer where ``rows`` are few, so that more warps take some.
DEVICE u32 rows_each(u64 rows) { return (u32)smaller((rows + warps() - 1) / warps(), (u64)32); }

// Rows of up to 32 arcs from ``begin`` of the list on, at most 32 rows, by a warp: as many of these at once as have 32 arcs. Lanes
// of a row lie side by side, and the first of them ends it.
template <class M> CALLED void fold_packed(const M& maker, u64 begin, u64 end) {
    M row = maker;
    const bool opened = begin + lane_id() < end && row.open(FRESH(env.listed + begin + lane_id()));
    const i64 start = opened ? env.offsets[row.v] : 0;
    const u32 count = opened ? (u32)(env.offsets[row.v + 1] - start) : 0, through = sum_up_to_lane(count);
    if (opened && !count) row.close(0, no_score());
    const u32 all = shuffle(through, 31);
    for (u32 before = 0, stop; before < all; before = stop) {
        stop = shuffle(through, __popc(ballot(through <= before + 32)) - 1);
        const u32 arc = before + lane_id();
        const bool mine = arc < stop;
        const u32 owner = lane_past(through, mine ? arc : stop - 1), row_start = shuffle(through - count, owner);
        const u32 row_end = shuffle(through, owner);
        M m = row.of_lane(owner);
        const i64 e = shuffle(start, owner) + arc - row_start;
        const u32 label = mine ? m.label(env.targets[e]) : NONE;
        const u32 same = alike((u64)owner << 32 | label), lanes = label == NONE ? 0 : same;
        const u64 sum = env.weights ? sum_over(mine ? weight(e) : 0, lanes) : (u64)__popc(lanes);
        const bool leads = lanes && __ffs(lanes) - 1 == (int)lane_id();
        Score best = no_score();
        if (leads && label != m.own) m.visit(label, sum, best);
        for (u32 step = 1; step < 32; step *= 2) {
            const u32 lane = lane_id() + step < 32 ? lane_id() + step : lane_id();
            const Score other = {shuffle(best.high, lane), shuffle(best.low, lane), shuffle(best.label, lane)};
            if (arc + step < row_end && lane_id() + step < 32 && beats(other, best)) best = other;
        }
        const u32 own_leads = ballot(leads && label == m.own) & (u32)(~0ull << lane_id()) &
                              (u32)((1ull << smaller(row_end - before, 32u)) - 1);
        const u64 own = shuffle(sum, own_leads ? __ffs(own_leads) - 1 : lane_id());
        if (mine && arc == row_start) m.close(own_leads ? own : 0, best);
    }
}

template <class M> CALLED void fold_by_warp(M& m, Room& room) {
    const i64 first = env.offsets[m.v], last = env.offsets[m.v + 1];
    const Near table = {room.keys + warp_in_block() * WARP_SLOTS, room.sums + warp_in_block() * WARP_SLOTS};
    u32 slots = 64;
    while (slots < 2 * (last - first)) slots *= 2;
    for (u32 s = lane_id(); s < slots; s += 32) table.clear(s);
    __syncwarp();
    u32 added;
    Score best = no_score();
    const u64 own = warp_sum(add_arcs(m, table, slots, first, last, lane_id(), 32, added, best));
    __syncwarp();
    best = warp_best(visit_slots(m, table, 0, slots, lane_id(), 32, best));
    if (lane_id() == 0) m.close(own, best);
    __syncwarp();
}

// Clear a table by a block.
template <class T> DEVICE void clear_by_block(const T& table, u64 slots) {
    for (u64 s = threadIdx.x; s < slots; s += BLOCK) table.clear(s);
    __syncthreads();
}

// Fold a row by a block, in a table of ``slots`` slots.
template <class M, class T> DEVICE void fold_in(M& m, const T& table, u64 slots, Room& room) {
    if (!T::left_empty) clear_by_block(table, slots);
    u32 added;
    Score best = no_score();
    u64 own = add_arcs(m, table, slots, env.offsets[m.v], env.offsets[m.v + 1], threadIdx.x, BLOCK, added, best);
    __syncthreads();
    best = visit_slots(m, table, 0, slots, threadIdx.x, BLOCK, best);
    block_best(room, best, own);
    if (threadIdx.x == 0) m.close(own, best);
    __syncthreads();
}
template <class M> CALLED void fold_by_block(M& m, Room& room) {
    u32 slots = WARP_SLOTS;
    while (slots < BLOCK_SLOTS && slots < 2 * (env.offsets[m.v + 1] - env.offsets[m.v])) slots *= 2;
    fold_in(m, Near{room.keys, room.sums}, slots, room);
}

// The chunk of a long row that a block works on, and its share of the row's table.
struct Chunk {
    u64 j, k, chunks, slots, first_slot, last_slot;
    u32 v;
    Far table;
    __device__ Chunk(u64 number) : j(number) {
        v = FRESH(env.chunk_row + j), k = FRESH(env.chunk_index + j);
        const i64 length = env.offsets[v + 1] - env.offsets[v];
        chunks = chunks_of(length), slots = slots_of(length), table = {env.table + FRESH(env.chunk_table + j)};
        first_slot = slots * k / chunks, last_slot = slots * (k + 1) / chunks;
    }
};

DEVICE Score best_of(u64 j) { return {FRESH(env.best_high + j), FRESH(env.best_low + j), FRESH(env.best_label + j)}; }
DEVICE void keep_best(u64 j, const Score& best) {
    if (threadIdx.x == 0) env.best_high[j] = best.high, env.best_low[j] = best.low, env.best_label[j] = best.label;
}
// Add the sums of a block's table to a row's, by threads, and empty it: several at once, as each waits for global memory.
DEVICE void pour(const Near& from, u32 filled, const Far& to, u32 slots) {
    for (u32 first = threadIdx.x; first < filled; first += POURED * BLOCK) {
        u32 label[POURED], place[POURED], left = 0; // left: bits of labels that have no slot yet
        weight_t sum[POURED];
        for (int k = 0; k < POURED; k++) {
            const u32 s = first + k * BLOCK;
            label[k] = s < filled ? from.key(s) : NONE;
            if (label[k] == NONE) continue;
            sum[k] = from.sum(s), place[k] = (u32)place_of(label[k], slots), left |= 1u << k;
            from.clear(s);
        }
        while (left) {
            u32 before[POURED];
            for (int k = 0; k < POURED; k++)
                if (left >> k & 1) before[k] = to.claim(place[k], label[k], sum[k]);
            for (int k = 0; k < POURED; k++) {
                if (!(left >> k & 1)) continue;
                if (before[k] == label[k]) to.add(place[k], sum[k]);
                if (before[k] == label[k] || before[k] == NONE) left &= ~(1u << k);
                else place[k] = place[k] + 1 < slots ? place[k] + 1 : 0;
            }
        }
    }
}
// Add a chunk to its row's table, through a table of the block that is emptied when a tile might overflow it.
template <class M> CALLED void add_chunk(M& m, const Chunk& c, Room& room) {
    if (threadIdx.x == 0) room.filled = 0;
    const Near table = {room.keys, room.sums};
    const i64 first = env.offsets[c.v] + (i64)c.k * ROW_CHUNK, last = smaller(first + ROW_CHUNK, env.offsets[c.v + 1]);
    const u32 slots = last - first > TILE_ARCS ? BLOCK_SLOTS : 2 * TILE_ARCS;
    clear_by_block(table, slots);
    u64 own = 0;
    Score best = no_score();
    for (i64 tile = first; tile < last; tile += TILE_ARCS) {
        const i64 end = smaller(tile + TILE_ARCS, last);
        u32 added;
        own += add_arcs(m, table, slots, tile, end, threadIdx.x, BLOCK, added, best);
        added = warp_sum(added);
        if (lane_id() == 0 && added) atomicAdd(&room.filled, added);
        __syncthreads();
        const bool pours = end == last || FRESH(&room.filled) > BLOCK_SLOTS / 2;
        __syncthreads();
        if (!pours) continue;
        pour(table, slots, c.table, (u32)c.slots);
        if (threadIdx.x == 0) room.filled = 0;
        __syncthreads();
    }
    block_best(room, best, own);
    if (threadIdx.x == 0 && own) atomicAdd(env.own_sums + c.j - c.k, own);
    keep_best(c.j, best);
}
template <class M> CALLED void visit_chunk(M& m, const Chunk& c, Room& room) {
    Score best = visit_slots(m, c.table, c.first_slot, c.last_slot, threadIdx.x, BLOCK, best_of(c.j));
    u64 own = 0;
    block_best(room, best, own);
    keep_best(c.j, best);
}
template <class M> CALLED void close_chunks(M& m, const Chunk& c) { // by a warp, for the first chunk
    Score best = no_score();
    for (u64 i = c.j + lane_id(); i < c.j + c.chunks; i += 32) {
        const Score other = best_of(i);
        if (beats(other, best)) best = other;
    }
    best = warp_best(best);
    if (lane_id() != 0) return;
    m.close(FRESH(env.own_sums + c.j), best);
    env.own_sums[c.j] = 0;
}

// Take ``count`` units of work that no other thread has taken; returns the first. By a block, or by a warp.
DEVICE u64 take_by_block(Room& room, u64* taken) {
    __syncthreads();
    if (threadIdx.x == 0) room.own[0] = atomicAdd(taken, (u64)1);
    __syncthreads();
    return room.own[0];
}
DEVICE u64 take_by_warp(u64* taken, u32 count) { return shuffle(lane_id() == 0 ? atomicAdd(taken, (u64)count) : 0, 0); }

// Fold the rows of a list by M: ``open(v)`` is false for rows to skip. Blocks take the largest units of work first, and the next one
// once they have time. By all blocks of a cooperative launch.
template <class M> DEVICE void fold_rows(const M& maker, Room& room, int group, u32& due) {
    const Lists& lists = room.lists;
    const u64 *start = lists.start + group * CLASSES, first = lists.chunk_start[group], last = chunks_end(lists, group);
    const u64 chunks = last - first, units = chunks + rows_end(lists, group * CLASSES + 2) - start[2];
    u64* taken = env.results + TAKEN + 3 * group;
    M m = maker;
    for (u64 i = blockIdx.x; i < units; i = gridDim.x + take_by_block(room, taken)) {
        if (!m.open(FRESH(i < chunks ? env.chunk_row + first + i : env.listed + start[2] + i - chunks))) continue;
        if (i < chunks) add_chunk(m, Chunk(first + i), room);
        else fold_by_block(m, room);
    }
    __syncthreads();
    const u64 middle = start[M::packed ? 1 : 0];
    u64 end = rows_end(lists, group * CLASSES + 1);
    u32 each = (u32)smaller(1 + (end - middle) / (8 * warps()), (u64)8);
    for (u64 i; (i = middle + take_by_warp(taken + 1, each)) < end;)
        for (const u64 stop = smaller(i + each, end); i < stop; i++)
            if (m.open(FRESH(env.listed + i))) fold_by_warp(m, room);
    if constexpr (M::packed) {
        end = rows_end(lists, group * CLASSES), each = rows_each(end - start[0]);
        for (u64 i; (i = start[0] + take_by_warp(taken + 2, each)) < end;) fold_packed(maker, i, smaller(i + each, end));
    }
    if (first == last) return;
    grid_barrier(env.gate, due);
    for (u64 j = first + blockIdx.x; j < last; j += gridDim.x) {
        const Chunk c(j);
        if (m.open(c.v)) visit_chunk(m, c, room);
    }
    grid_barrier(env.gate, due);
    for (u64 j = first + warp_rank(); j < last; j += warps()) {
        const Chunk c(j);
        if (c.k == 0 && m.open(c.v)) close_chunks(m, c);
    }
}
