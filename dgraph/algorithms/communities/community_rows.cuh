// Rows of a level of communities: lists of them by sub-round and by length, and folds of their labels.
// A fold adds up the weights of each distinct label of a row's neighbours, exactly: in the lanes of a warp (up to 32 arcs), in a
// table of a warp or of a block in shared memory, or, for longer rows, in a table in global memory that many blocks fill, a
// chunk of the row each. A table is at least a third larger than the row, so it never overflows.
// Kernels with grid barriers read with FRESH what they write.

#define CLASSES 4
#define SHORT 32 // arcs of a row that the lanes of a warp hold
#define BLOCK_SLOTS (WARP_SLOTS * (BLOCK / 32))
#define BLOCK_MOST (BLOCK_SLOTS / 4 * 3)
#define TILE_ARCS (BLOCK_SLOTS / 2) // arcs of a chunk that a block adds before it looks whether its table is filled
#define CHUNK (env.tiles * TILE_ARCS)
#define AT_ONCE 4 // arcs that a thread reads before it uses the first
#define NONE 0xffffffffu

// Words of ``tally`` and ``used``: rows by sub-round and class, then chunks and slots of long rows by sub-round.
#define CHUNKS (GROUPS * CLASSES)
#define SLOTS (CHUNKS + GROUPS)
#define COUNTS (SLOTS + GROUPS)

struct alignas(2 * sizeof(weight_t)) Slot { // of a table in global memory
    u32 key;
    weight_t sum;
};

struct Env {
    const i64* offsets;
    u32* targets;
    weight_t* weights; // null: each is 1
    const i64* mass;
    u32 *labels, *proposed; // community of each vertex, and the one that it takes next
    i64* mass_of; // totals of communities
    u32 *sizes, *sole; // members, and their XOR
    u8* active; // bits of a vertex, below
    u32* parts; // refinement: part of each vertex, and totals of parts
    i64 *part_mass, *inside; // inside: weight from a part to the rest of its community
    u32* part_sizes;
    const double* draws;
    const u64* tally; // of the lists
    u64 *next_tally, *used, *results;
    u32 *listed, *chunk_row, *chunk_index;
    u64* chunk_table;
    Slot* table;
    u64* own_sums; // by first chunk of a long row
    i64* best_high; // by chunk
    u64* best_low;
    u32* best_label;
    u32* groups; // contraction: group of each vertex; and by group
    i64 *group_rows, *group_starts, *row_starts, *group_mass;
    u32* out_targets;
    weight_t* out_weights;
    i64 *lengths, *out_offsets;
    double* slack; // bounds of moves, as in ``community_totals.py``
    i64 *crossed, *outflow;
    u64* drift;
    u32 *flags, *swept; // marks of labels, and their prefix sums
    u64* chosen; // pieces: one of each label
    const u32* place; // level 0: number of each position of the graph
    i64* degrees;
    u32* gate;
    u32* kept; // rounds of moves: labels of the best quality
    u64* search; // the quality between launches, words below
    u64* actives; // active vertices of each round of a launch
    i64 n, scale, price, salt, next_salt, factor, swept_count, least_high, least_low, share;
    i64 fewest, most_rows, most_chunks, most_slots; // a launch goes on while its lists are of these sizes
    i64 tiles; // of a chunk
};
CONSTANT Env env;

// Bits of ``active``: the vertex looks in the next round; it moves in this sub-round; ``slack`` bounds its gains.
#define ACTIVE 1
#define MOVING 2
#define BOUNDED 4

// Words of ``results``.
#define INNER 0
#define SQUARES 1
#define MOVES 5
#define LOOPS 6

DEVICE u64 weight(i64 e) { return env.weights ? (u64)env.weights[e] : 1; }
DEVICE int group_of(u32 v, i64 salt, int groups) { return (int)(mixed((i64)v, salt) & (groups - 1)); }
DEVICE int class_of(i64 length) { return length <= SHORT ? 0 : length <= WARP_SLOTS / 2 ? 1 : length <= BLOCK_MOST ? 2 : 3; }
DEVICE u64 chunks_of(i64 length) { return ((u64)length + CHUNK - 1) / CHUNK; }
DEVICE u64 slots_of(i64 length) {
    const u64 most = 2 * (u64)smaller(length, env.n);
    u64 slots = 64;
    while (slots < most) slots *= 2;
    return slots;
}

// Words of ``search``: the quality at first and the best since, less that; weight gained within communities; then the quality at
// the end, less that at first, and the number of rounds.
#define START 0
#define BEST 2
#define GAINED 4
#define LAST 5
#define ROUNDS 7

struct Lists {
    u64 start[GROUPS * CLASSES + 1], chunk_start[GROUPS + 1], slots;
    int groups; // sub-rounds with rows: a sparse round has few
};

struct Wide { // an integer modulo 2^128
    u64 high, low;
};
DEVICE Wide plus(Wide a, Wide b) {
    const u64 low = a.low + b.low;
    return {a.high + b.high + (low < a.low), low};
}
DEVICE Wide minus(Wide a, Wide b) { return {a.high - b.high - (a.low < b.low), a.low - b.low}; }
DEVICE Wide times(Wide a, u64 b) { return {a.high * b + __umul64hi(a.low, b), a.low * b}; }
DEVICE bool is_less(Wide a, Wide b) { return a.high != b.high ? (i64)a.high < (i64)b.high : a.low < b.low; }

struct Score { // a gain of 128 bits and its label; NONE: none
    i64 high;
    u64 low;
    u32 label;
};

struct Room {
    Lists lists;
    u32 keys[BLOCK_SLOTS];
    weight_t sums[BLOCK_SLOTS];
    u32 counted[GROUPS * CLASSES];
    u64 base[GROUPS * CLASSES];
    Score best[BLOCK / 32];
    u64 own[BLOCK / 32];
    double drift, earlier;
    u32 least, filled; // filled: slots of the table
    Wide first, most, last; // rounds of moves: qualities as in ``search``
    i64 gained;
    u64 loops; // contraction: weight within groups
    bool improved, ends;
};

// Load the tally. ``sparse``: a round of few rows has few sub-rounds.
DEVICE void load_lists(Room& room, bool sparse = false) {
    Lists& lists = room.lists;
    for (u32 i = threadIdx.x; i < COUNTS; i += BLOCK) {
        const u64 count = FRESH(env.tally + i);
        if (i < CHUNKS) lists.start[i + 1] = count;
        else if (i < SLOTS) lists.chunk_start[i - CHUNKS + 1] = count;
        else room.base[i - SLOTS] = count;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        lists.start[0] = lists.chunk_start[0] = lists.slots = 0;
        u64 rows = 0;
        for (int i = 1; i <= GROUPS * CLASSES; i++) rows += lists.start[i];
        lists.groups = sparse && rows * SPARSE <= (u64)env.n ? FEW_GROUPS : GROUPS;
        for (int i = lists.groups; i < GROUPS; i++) {
            const int group = i & (lists.groups - 1);
            for (int kind = 1; kind <= CLASSES; kind++) {
                lists.start[group * CLASSES + kind] += lists.start[i * CLASSES + kind];
                lists.start[i * CLASSES + kind] = 0;
            }
            lists.chunk_start[group + 1] += lists.chunk_start[i + 1], lists.chunk_start[i + 1] = 0;
            room.base[group] += room.base[i], room.base[i] = 0;
        }
        for (int i = 0; i < GROUPS * CLASSES; i++) lists.start[i + 1] += lists.start[i];
        for (int i = 0; i < GROUPS; i++) {
            lists.chunk_start[i + 1] += lists.chunk_start[i];
            lists.slots = larger(lists.slots, room.base[i]);
        }
    }
    __syncthreads();
}

// True for a row that a list takes: of ``all``, those that have arcs, or else active ones.
DEVICE bool is_listed(u64 v, bool all) { return all ? env.offsets[v + 1] > env.offsets[v] : (FRESH(env.active + v) & ACTIVE) != 0; }

// Count rows into ``next_tally``. By all blocks.
DEVICE void tally_rows_of(Room& room, i64 salt, bool all) {
    for (u32 i = threadIdx.x; i < GROUPS * CLASSES; i += BLOCK) room.counted[i] = 0;
    __syncthreads();
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        if (!is_listed(v, all)) continue;
        const i64 length = env.offsets[v + 1] - env.offsets[v];
        const int group = group_of((u32)v, salt, GROUPS), kind = class_of(length);
        atomicAdd(room.counted + group * CLASSES + kind, 1u);
        if (kind < 3) continue;
        atomicAdd(env.next_tally + CHUNKS + group, chunks_of(length));
        atomicAdd(env.next_tally + SLOTS + group, slots_of(length));
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < GROUPS * CLASSES; i += BLOCK)
        if (room.counted[i]) atomicAdd(env.next_tally + i, (u64)room.counted[i]);
}

// Write the lists that were counted. By all blocks.
DEVICE void list_rows_of(Room& room, i64 salt, bool all) {
    const Lists& lists = room.lists;
    for (u64 tile = (u64)blockIdx.x * BLOCK; tile < (u64)env.n; tile += threads()) {
        const u64 v = tile + threadIdx.x;
        const bool wanted = v < (u64)env.n && is_listed(v, all);
        for (u32 i = threadIdx.x; i < GROUPS * CLASSES; i += BLOCK) room.counted[i] = 0;
        if (!__syncthreads_or(wanted)) continue;
        const i64 length = wanted ? env.offsets[v + 1] - env.offsets[v] : 0;
        const int group = group_of((u32)v, salt, lists.groups), kind = class_of(length), list = group * CLASSES + kind;
        const u32 mine = wanted ? atomicAdd(room.counted + list, 1u) : 0;
        __syncthreads();
        for (u32 i = threadIdx.x; i < GROUPS * CLASSES; i += BLOCK)
            room.base[i] = room.counted[i] ? atomicAdd(env.used + i, (u64)room.counted[i]) : 0;
        __syncthreads();
        if (wanted) env.listed[lists.start[list] + room.base[list] + mine] = (u32)v;
        if (wanted && kind == 3) {
            const u64 chunks = chunks_of(length), table = atomicAdd(env.used + SLOTS + group, slots_of(length));
            const u64 first = lists.chunk_start[group] + atomicAdd(env.used + CHUNKS + group, chunks);
            for (u64 k = 0; k < chunks; k++)
                env.chunk_row[first + k] = (u32)v, env.chunk_index[first + k] = (u32)k, env.chunk_table[first + k] = table;
        }
        __syncthreads();
    }
}

// Rows of a sub-round by whole warps, long ones by eighths of chunks: ``f(v, first arc, last, true for the row's first arcs)``.
template <class F> DEVICE void walk_rows(const Lists& lists, int group, const F& f) {
    const u64 stop = lists.start[group * CLASSES + 3];
    for (u64 i = lists.start[group * CLASSES] + warp_rank(); i < stop; i += warps()) {
        const u32 v = FRESH(env.listed + i);
        f(v, env.offsets[v], env.offsets[v + 1], true);
    }
    for (u64 i = 8 * lists.chunk_start[group] + warp_rank(); i < 8 * lists.chunk_start[group + 1]; i += warps()) {
        const u32 v = FRESH(env.chunk_row + i / 8);
        const i64 before = (i64)FRESH(env.chunk_index + i / 8) * CHUNK + (i64)(i % 8) * (CHUNK / 8);
        const i64 first = env.offsets[v] + before, last = smaller(first + CHUNK / 8, env.offsets[v + 1]);
        if (first < last) f(v, first, last, before == 0);
    }
}
// Rows of more than SHORT arcs, by warps or blocks: ``f(v, this thread's first arc, last, threads)``.
template <class F> DEVICE void walk_longer(const Lists& lists, int group, const F& f) {
    const u64* start = lists.start + group * CLASSES;
    for (u64 i = start[1] + warp_rank(); i < start[2]; i += warps()) {
        const u32 v = FRESH(env.listed + i);
        f(v, env.offsets[v] + lane_id(), env.offsets[v + 1], 32);
    }
    for (u64 i = start[2] + blockIdx.x; i < start[3]; i += gridDim.x) {
        const u32 v = FRESH(env.listed + i);
        f(v, env.offsets[v] + threadIdx.x, env.offsets[v + 1], BLOCK);
    }
    for (u64 j = lists.chunk_start[group] + blockIdx.x; j < lists.chunk_start[group + 1]; j += gridDim.x) {
        const u32 v = FRESH(env.chunk_row + j);
        const i64 first = env.offsets[v] + (i64)FRESH(env.chunk_index + j) * CHUNK;
        f(v, first + threadIdx.x, smaller(first + CHUNK, env.offsets[v + 1]), BLOCK);
    }
}
template <class F> DEVICE void walk_all_rows(const Lists& lists, const F& f) {
    for (int group = 0; group < GROUPS; group++) walk_rows(lists, group, f);
}

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
// A table in global memory: of 32 bits, key and sum are written at once, as most labels of a long row are new at first.
struct Far {
    Slot* slots;
    __device__ void clear(u64 s) const { slots[s] = {NONE, 0}; }
    __device__ u32 key(u64 s) const { return FRESH(&slots[s].key); }
    __device__ weight_t sum(u64 s) const { return FRESH(&slots[s].sum); }
    __device__ u32 take(u64 s, u32 label, weight_t x) const {
        u32 before;
        if (sizeof(weight_t) == 4) before = (u32)atomicCAS((u64*)(slots + s), (u64)NONE, (u64)x << 32 | label);
        else before = atomicCAS(&slots[s].key, NONE, label);
        if (before == label || (before == NONE && sizeof(weight_t) > 4)) atomicAdd(&slots[s].sum, x);
        return before;
    }
};

// Returns true if the label is new.
template <class T> DEVICE bool insert(const T& table, u64 slots, u32 label, weight_t x) {
    for (u64 s = mix(label) & (slots - 1);; s = (s + 1) & (slots - 1)) {
        const u32 before = table.take(s, label, x);
        if (before == NONE || before == label) return before == NONE;
    }
}

// Add arcs to a table, by ``step`` threads; returns this thread's weight to the row's own label, and counts new labels.
template <class M, class T>
DEVICE u64 add_arcs(M& m, const T& table, u64 slots, i64 first, i64 last, u32 me, u32 step, u32& added) {
    u64 own = 0;
    added = 0;
    for (i64 e = first + me; e < last; e += AT_ONCE * step) {
        u32 label[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) label[k] = e + k * step < last ? env.targets[e + k * step] : NONE;
        for (int k = 0; k < AT_ONCE; k++) label[k] = label[k] == NONE ? NONE : m.label(label[k]);
        for (int k = 0; k < AT_ONCE; k++) {
            if (label[k] == NONE) continue;
            const u64 x = weight(e + k * step);
            if (label[k] == m.own) own += x;
            else added += insert(table, slots, label[k], (weight_t)x);
        }
    }
    return own;
}

// Best label of a range of slots for one thread of ``step``; M may take the sums elsewhere. By whole warps.
template <class M, class T> DEVICE Score visit_slots(M& m, const T& table, u64 first, u64 last, u32 me, u32 step) {
    Score best = no_score();
    for (u64 s = first + me; s - me % 32 < last; s += step) {
        const u32 label = s < last ? table.key(s) : NONE;
        m.visit(label, label == NONE ? 0 : (u64)table.sum(s), best);
    }
    return best;
}

// Sum over the lanes of a mask, each lane's own; by whole warps.
DEVICE u64 sum_over(u64 x, u32 lanes) {
    u64 sum = 0;
    for (u32 left = lanes; ballot(left != 0); left &= left - 1) {
        const u64 other = shuffle(x, left ? __ffs(left) - 1 : lane_id());
        if (left) sum += other;
    }
    return sum;
}

// Rows that a warp takes at once of so many: few of few, so that more warps take some.
DEVICE u32 rows_each(u64 rows) { return (u32)smaller((rows + warps() - 1) / warps(), (u64)32); }

// Rows of up to 32 arcs from ``begin`` of the list on: a warp takes 32 rows, and as many of these at once as have 32 arcs.
// Lanes of a row lie side by side, and the first of them ends it. ``each``: rows of a warp, at most 32.
template <class M> DEVICE void fold_packed(const M& maker, u64 begin, u64 end, u32 each = 32) {
    for (u64 i = begin + each * warp_rank() + lane_id(); i - lane_id() < end; i += each * warps()) {
        M row = maker;
        const bool opened = i < end && lane_id() < each && row.open(FRESH(env.listed + i));
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
}

template <class M> DEVICE void fold_short(M& m) {
    const i64 first = env.offsets[m.v], count = env.offsets[m.v + 1] - first;
    const bool mine = lane_id() < count;
    u32 label = mine ? m.label(env.targets[first + lane_id()]) : NONE;
    const u64 x = mine ? weight(first + lane_id()) : 0, own = warp_sum(label == m.own ? x : 0);
    if (label == m.own) label = NONE;
    Score best = no_score();
    if (ballot(label != NONE)) {
        const u32 same = alike(label), lanes = label == NONE ? 0 : same;
        const u64 sum = env.weights ? sum_over(x, lanes) : (u64)__popc(lanes);
        m.visit(lanes && __ffs(lanes) - 1 == (int)lane_id() ? label : NONE, sum, best);
        best = warp_best(best);
    }
    if (lane_id() == 0) m.close(own, best);
}

template <class M> DEVICE void fold_by_warp(M& m, Room& room) {
    const i64 first = env.offsets[m.v], last = env.offsets[m.v + 1];
    const Near table = {room.keys + warp_in_block() * WARP_SLOTS, room.sums + warp_in_block() * WARP_SLOTS};
    u32 slots = 64;
    while (slots < 2 * (last - first)) slots *= 2;
    for (u32 s = lane_id(); s < slots; s += 32) table.clear(s);
    __syncwarp();
    u32 added;
    const u64 own = warp_sum(add_arcs(m, table, slots, first, last, lane_id(), 32, added));
    __syncwarp();
    const Score best = warp_best(visit_slots(m, table, 0, slots, lane_id(), 32));
    if (lane_id() == 0) m.close(own, best);
    __syncwarp();
}

// The cleared table of a block.
DEVICE Near block_table(Room& room, u32 slots) {
    const Near table = {room.keys, room.sums};
    for (u32 s = threadIdx.x; s < slots; s += BLOCK) table.clear(s);
    __syncthreads();
    return table;
}

template <class M> DEVICE void fold_by_block(M& m, Room& room) {
    const i64 first = env.offsets[m.v], last = env.offsets[m.v + 1];
    u32 slots = WARP_SLOTS;
    while (slots < BLOCK_SLOTS && slots < 2 * (last - first)) slots *= 2;
    const Near table = block_table(room, slots);
    u32 added;
    u64 own = add_arcs(m, table, slots, first, last, threadIdx.x, BLOCK, added);
    __syncthreads();
    Score best = visit_slots(m, table, 0, slots, threadIdx.x, BLOCK);
    block_best(room, best, own);
    if (threadIdx.x == 0) m.close(own, best);
    __syncthreads();
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

DEVICE void clear_chunk(const Chunk& c) {
    for (u64 s = c.first_slot + threadIdx.x; s < c.last_slot; s += BLOCK) c.table.clear(s);
    if (c.k == 0 && threadIdx.x == 0) env.own_sums[c.j] = 0;
}
// Add a chunk to its row's table, through a table of the block that is emptied when a tile might overflow it.
template <class M> DEVICE void add_chunk(M& m, const Chunk& c, Room& room) {
    if (threadIdx.x == 0) room.filled = 0;
    const Near table = block_table(room, BLOCK_SLOTS);
    const i64 first = env.offsets[c.v] + (i64)c.k * CHUNK, last = smaller(first + CHUNK, env.offsets[c.v + 1]);
    u64 own = 0;
    for (i64 tile = first; tile < last; tile += TILE_ARCS) {
        const i64 end = smaller(tile + TILE_ARCS, last);
        u32 added;
        own += add_arcs(m, table, BLOCK_SLOTS, tile, end, threadIdx.x, BLOCK, added);
        added = warp_sum(added);
        if (lane_id() == 0 && added) atomicAdd(&room.filled, added);
        __syncthreads();
        if (end < last && FRESH(&room.filled) <= BLOCK_SLOTS / 4) {
            __syncthreads();
            continue;
        }
        for (u32 s = threadIdx.x; s < BLOCK_SLOTS; s += BLOCK) {
            if (table.key(s) == NONE) continue;
            insert(c.table, c.slots, table.key(s), table.sum(s));
            table.clear(s);
        }
        __syncthreads();
        if (threadIdx.x == 0) room.filled = 0;
        __syncthreads();
    }
    own = warp_sum(own);
    if (lane_id() == 0 && own) atomicAdd(env.own_sums + c.j - c.k, own);
}
template <class M> DEVICE void visit_chunk(M& m, const Chunk& c, Room& room) {
    Score best = visit_slots(m, c.table, c.first_slot, c.last_slot, threadIdx.x, BLOCK);
    u64 own = 0;
    block_best(room, best, own);
    if (threadIdx.x == 0) env.best_high[c.j] = best.high, env.best_low[c.j] = best.low, env.best_label[c.j] = best.label;
}
template <class M> DEVICE void close_chunks(M& m, const Chunk& c) { // by a warp, for the first chunk
    Score best = no_score();
    for (u64 i = c.j + lane_id(); i < c.j + c.chunks; i += 32) {
        const Score other = {FRESH(env.best_high + i), FRESH(env.best_low + i), FRESH(env.best_label + i)};
        if (beats(other, best)) best = other;
    }
    best = warp_best(best);
    if (lane_id() == 0) m.close(FRESH(env.own_sums + c.j), best);
}

// Fold the rows of a list by M: ``open(v)`` is false for rows to skip. By all blocks of a cooperative launch.
template <class M> DEVICE void fold_rows(const M& maker, Room& room, int group, u32& due) {
    const Lists& lists = room.lists;
    const u64* start = lists.start + group * CLASSES;
    M m = maker;
    if constexpr (M::packed) fold_packed(maker, start[0], start[1], rows_each(start[1] - start[0]));
    else
        for (u64 i = start[0] + warp_rank(); i < start[1]; i += warps())
            if (m.open(FRESH(env.listed + i))) fold_short(m);
    for (u64 i = start[1] + warp_rank(); i < start[2]; i += warps())
        if (m.open(FRESH(env.listed + i))) fold_by_warp(m, room);
    __syncthreads();
    for (u64 i = start[2] + blockIdx.x; i < start[3]; i += gridDim.x)
        if (m.open(FRESH(env.listed + i))) fold_by_block(m, room);
    const u64 first = lists.chunk_start[group], last = lists.chunk_start[group + 1];
    if (first == last) return;
    for (u64 j = first + blockIdx.x; j < last; j += gridDim.x) {
        const Chunk c(j);
        if (m.open(c.v)) clear_chunk(c);
    }
    grid_barrier(env.gate, due);
    for (u64 j = first + blockIdx.x; j < last; j += gridDim.x) {
        const Chunk c(j);
        if (m.open(c.v)) add_chunk(m, c, room);
    }
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

// Count rows for lists: all, or active ones.
KERNEL tally_rows(i64 all) {
    SHARED(Room, room);
    tally_rows_of(room, env.next_salt, all != 0);
}

KERNEL list_rows(i64 all) {
    SHARED(Room, room);
    load_lists(room);
    list_rows_of(room, env.salt, all != 0);
}
