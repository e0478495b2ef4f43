// Rows of a level of communities: what kernels read and write, lists of rows by sub-round and by length, and walks of them.
// Kernels with grid barriers read with FRESH what they write.

#define CLASSES 4
#define SHORT 32 // arcs of a row that the lanes of a warp hold
#define BLOCK_SLOTS (WARP_SLOTS * (BLOCK / 32))
#define BLOCK_MOST (BLOCK_SLOTS / 4 * 3)
#define TILE_ARCS (BLOCK_SLOTS / 4) // arcs of a chunk that a block adds before it looks whether its table is filled
#define ROW_CHUNK (env.tiles * TILE_ARCS)
#define AT_ONCE 4 // arcs that a thread reads before it uses the first
#define POURED 4 // slots of its table that a thread adds to a row's at once
#define NONE 0xffffffffu

#define SIDES (SHARED_ROWS ? 2 : 1) // of lists: rows that this GPU folds, and those of others

// Words of ``tally`` and ``used``: rows by sub-round and class, then chunks and slots of long rows by sub-round.
#define CHUNKS (MOST_GROUPS * CLASSES)
#define SLOTS (CHUNKS + MOST_GROUPS)
#define COUNTS (SLOTS + MOST_GROUPS)

struct alignas(2 * sizeof(weight_t)) Slot { // of a table in global memory
    u32 key;
    weight_t sum;
};

struct Mover { // vertex that is to move to a community, and by how much that gains more than to stay
    u32 v, label;
    i64 margin;
};
struct Peer { // another GPU with these rows: two mailboxes to and from it, and words that announce what is in them
    void* outbox[2];
    const void* inbox[2];
    u64* signal;
    const u64* signals;
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
    unsigned short* filled; // number, of groups that have arcs, of each vertex's group
    u64* pairs; // weight from each of these groups to each
    double* slack; // bounds of moves, as in ``community_totals.py``
    i64 *crossed, *outflow; // crossed of a vertex that moves: bits of the margin of its gain
    i64* inflow; // balanced rounds: mass that is to enter each community in this sub-round, less that to leave it
    u64* drift;
    u32 *flags, *swept; // marks of labels or vertices, and their numbers
    u64* block_counts;
    u64* chosen; // pieces: one of each label
    const u32 *place, *vertex; // level 0: number of each position of the graph, and position of each number; null: equal
    const u32* ids; // original ids by position, of 32 bits or else of 64
    const i64* wide_ids;
    i64* degrees;
    u32* gate;
    u32* kept; // rounds of moves: labels of the best quality
    u64* owners; // other labels of communities: the old community that each new one stands for
    u64* search; // the quality between launches, words below
    u64* actives; // active vertices of each round of a launch
    i64 n, scale, price, salt, next_salt, factor, least_high, least_low, share;
    i64 fewest, most_rows, most_chunks, most_slots; // a launch goes on while its lists are of these sizes
    i64 tiles, balanced, distinct; // tiles of a chunk; distinct: no row has two arcs to one vertex
    // Rows shared out to GPUs that hold all of them: ``community_shares.cuh``.
    i64 gpus, gpu, exchange, peer_timeout, most_sent; // GPUs, this one's number; exchanges so far, nanoseconds and movers of one at most
    const Peer* peers;
    u64 *owned, *sent; // cursors of own rows, as ``used`` of the others; movers of an exchange
    i64 first_group, end_group, most_labels; // contraction: groups of this GPU, whose rows are numbered from 0, and all groups
    u32* others; // arcs at the end of each row that lead to rows of other GPUs; null: arcs are mixed
    i64 patience, many; // bounds of rows of more than ``many`` arcs count 1/2^patience of the weight that neighbours have moved
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
#define STALLED 7
#define TAKEN 8 // of each sub-round, three words: units of work that blocks have taken, and rows that warps have, of two classes

// True if rows are shared out to several GPUs, and if this one folds that of v: labels of a GPU lie side by side in cache lines.
DEVICE bool is_shared() { return SHARED_ROWS && env.owned; }
DEVICE bool is_own(u32 v) { return !is_shared() || (mix(v / SIDE_BY_SIDE) >> 32) * (u64)env.gpus >> 32 == (u64)env.gpu; }

// End of the arcs of v that may lead to own rows.
DEVICE i64 own_end(u32 v) { return env.offsets[v + 1] - (is_shared() && env.others ? env.others[v] : 0); }

DEVICE u64 weight(i64 e) { return env.weights ? (u64)env.weights[e] : 1; }
DEVICE int group_of(u32 v, i64 salt, int groups) { return (int)(mixed((i64)v, salt) & (groups - 1)); }
DEVICE int class_of(i64 length) { return length <= SHORT ? 0 : length <= WARP_SLOTS / 2 ? 1 : length <= BLOCK_MOST ? 2 : 3; }
DEVICE u64 chunks_of(i64 length) { return ((u64)length + ROW_CHUNK - 1) / ROW_CHUNK; }
DEVICE u64 slots_of(i64 length) { // up to 75 % are used: every slot is read, and most labels of a row are few
    const u64 keys = (u64)smaller(length, SHARED_ROWS && env.most_labels ? env.most_labels : env.n);
    return 64 + keys + keys / 3;
}

// Words of ``search``: the quality at first and the best since, less that; weight gained within communities; then the quality at
// the end, less that at first, and the number of rounds.
#define START 0
#define BEST 2
#define GAINED 4
#define LAST 5
#define ROUNDS 7

struct Lists {
    u64 start[CHUNKS + 1], chunk_start[MOST_GROUPS + 1], slots;
    int groups; // sub-rounds
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

struct Hall { // of a block that counts, lists or walks rows
    Lists lists;
    u32 counted[SIDES * CHUNKS];
    u64 base[SIDES * CHUNKS];
    u64 own[BLOCK / 32];
};
struct Room : Hall {
    u32 keys[BLOCK_SLOTS];
    weight_t sums[BLOCK_SLOTS];
    Score best[BLOCK / 32];
    double drift, earlier;
    u32 least, filled; // filled: slots of the table
    Wide first, most, last; // rounds of moves: qualities as in ``search``
    i64 gained;
    u64 loops; // contraction: weight within groups
    bool improved, ends;
};

// Sum over the threads of a block.
DEVICE u64 block_sum(Hall& room, u64 x) {
    x = warp_sum(x);
    if (lane_id() == 0) room.own[warp_in_block()] = x;
    __syncthreads();
    u64 sum = 0;
    for (int w = 0; w < BLOCK / 32; w++) sum += room.own[w];
    __syncthreads();
    return sum;
}

// Sub-rounds of a round by its number of active rows; ``group_count`` in ``community_totals.py``.
DEVICE int group_count(u64 rows) {
    if (rows * SPARSE <= (u64)env.n) return FEW_GROUPS;
    int groups = GROUPS;
    while (groups < MOST_GROUPS && rows > (u64)groups * CROWD) groups *= 2;
    return groups;
}

// Load the tally, whose sub-rounds are united to ``groups``; 0: those of a round.
DEVICE void load_lists(Hall& room, u32 groups = GROUPS) {
    Lists& lists = room.lists;
    u64 rows = 0;
    for (u32 i = threadIdx.x; i < COUNTS; i += BLOCK) {
        const u64 count = FRESH(env.tally + i);
        if (i < CHUNKS) lists.start[i + 1] = count, rows += count;
        else if (i < SLOTS) lists.chunk_start[i - CHUNKS + 1] = count;
        else room.base[i - SLOTS] = count;
    }
    rows = block_sum(room, rows);
    if (!groups) groups = (u32)group_count(rows);
    for (u32 i = threadIdx.x; i < groups * CLASSES; i += BLOCK)
        for (u32 k = i + groups * CLASSES; k < CHUNKS; k += groups * CLASSES) lists.start[i + 1] += lists.start[k + 1];
    for (u32 i = threadIdx.x; i < groups; i += BLOCK)
        for (u32 k = i + groups; k < MOST_GROUPS; k += groups)
            lists.chunk_start[i + 1] += lists.chunk_start[k + 1], room.base[i] += room.base[k];
    __syncthreads();
    if (threadIdx.x == 0) {
        lists.start[0] = lists.chunk_start[0] = lists.slots = 0, lists.groups = (int)groups;
        for (u32 i = 0; i < groups * CLASSES; i++) lists.start[i + 1] += lists.start[i];
        for (u32 i = 0; i < groups; i++) {
            lists.chunk_start[i + 1] += lists.chunk_start[i];
            lists.slots = larger(lists.slots, room.base[i]);
        }
    }
    __syncthreads();
}

// True for a row that a list takes: of ``all``, those that have arcs, or else active ones.
DEVICE bool is_listed(u64 v, bool all) { return all ? env.offsets[v + 1] > env.offsets[v] : (FRESH(env.active + v) & ACTIVE) != 0; }

// Count rows into ``next_tally``, each by the thread that marks it. By all blocks.
DEVICE void tally_rows_of(Hall& room, i64 salt, bool all) {
    for (u32 i = threadIdx.x; i < CHUNKS; i += BLOCK) room.counted[i] = 0;
    __syncthreads();
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        if (!is_listed(v, all)) continue;
        const i64 length = env.offsets[v + 1] - env.offsets[v];
        const int group = group_of((u32)v, salt, MOST_GROUPS), kind = class_of(length);
        atomicAdd(room.counted + group * CLASSES + kind, 1u);
        if (kind < 3) continue;
        atomicAdd(env.next_tally + CHUNKS + group, chunks_of(length));
        atomicAdd(env.next_tally + SLOTS + group, slots_of(length));
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < CHUNKS; i += BLOCK)
        if (room.counted[i]) atomicAdd(env.next_tally + i, (u64)room.counted[i]);
}

// Write the lists that were counted: of each, own rows from its start on, others from its end. By all blocks; no unit of work of
// their rows is taken then.
DEVICE void list_rows_of(Hall& room, i64 salt, bool all) {
    if (blockIdx.x == 0)
        for (u32 i = threadIdx.x; i < 3 * MOST_GROUPS; i += BLOCK) env.results[TAKEN + i] = 0;
    const Lists& lists = room.lists;
    const int list_count = lists.groups * CLASSES;
    u64* used = is_shared() ? env.owned : env.used;
    for (u64 tile = (u64)blockIdx.x * BLOCK; tile < (u64)env.n; tile += threads()) {
        const u64 v = tile + threadIdx.x;
        const bool wanted = v < (u64)env.n && is_listed(v, all);
        for (u32 i = threadIdx.x; i < SIDES * list_count; i += BLOCK) room.counted[i] = 0;
        if (!__syncthreads_or(wanted)) continue;
        const i64 length = wanted ? env.offsets[v + 1] - env.offsets[v] : 0;
        const int group = group_of((u32)v, salt, lists.groups), kind = class_of(length), list = group * CLASSES + kind;
        const bool own = is_own((u32)v);
        const int side = own ? list : list_count + list;
        const u32 mine = wanted ? atomicAdd(room.counted + side, 1u) : 0;
        __syncthreads();
        for (u32 i = threadIdx.x; i < SIDES * list_count; i += BLOCK) {
            u64* cursor = i < list_count ? used + i : env.used + i - list_count;
            room.base[i] = room.counted[i] ? atomicAdd(cursor, (u64)room.counted[i]) : 0;
        }
        __syncthreads();
        const u64 before = room.base[side] + mine;
        if (wanted) env.listed[own ? lists.start[list] + before : lists.start[list + 1] - 1 - before] = (u32)v;
        if (wanted && kind == 3) {
            u64* cursors = own ? used : env.used;
            const u64 chunks = chunks_of(length), table = atomicAdd(cursors + SLOTS + group, slots_of(length));
            const u64 placed = atomicAdd(cursors + CHUNKS + group, chunks);
            const u64 first = own ? lists.chunk_start[group] + placed : lists.chunk_start[group + 1] - placed - chunks;
            for (u64 k = 0; k < chunks; k++)
                env.chunk_row[first + k] = (u32)v, env.chunk_index[first + k] = (u32)k, env.chunk_table[first + k] = table;
        }
        __syncthreads();
    }
}

// Ends of the rows of a list, and of the chunks of a sub-round, that this GPU folds.
DEVICE u64 rows_end(const Lists& lists, int list) {
    return is_shared() ? lists.start[list] + FRESH(env.owned + list) : lists.start[list + 1];
}
DEVICE u64 chunks_end(const Lists& lists, int group) {
    return is_shared() ? lists.chunk_start[group] + FRESH(env.owned + CHUNKS + group) : lists.chunk_start[group + 1];
}

// Long rows of a sub-round by eighths of chunks, each by a warp: ``f(v, first arc, last, true for the row's first arcs)``.
// ``own``: only up to ``own_end``.
template <bool own = false, class F> DEVICE void walk_chunks(const Lists& lists, int group, const F& f) {
    for (u64 i = 8 * lists.chunk_start[group] + warp_rank(); i < 8 * lists.chunk_start[group + 1]; i += warps()) {
        const u32 v = FRESH(env.chunk_row + i / 8);
        const i64 before = (i64)FRESH(env.chunk_index + i / 8) * ROW_CHUNK + (i64)(i % 8) * (ROW_CHUNK / 8);
        const i64 first = env.offsets[v] + before, last = smaller(first + ROW_CHUNK / 8, own ? own_end(v) : env.offsets[v + 1]);
        if (first < last) f(v, first, last, before == 0);
    }
}
// Every ``step``-th row of a list from the one at ``begin`` on, of which the lanes look up 32 at once: ``f(v, first arc, last)``.
template <bool own = false, class F> DEVICE void walk_each(u64 begin, u64 end, u64 step, const F& f) {
    for (u64 i = begin; i < end; i += 32 * step) {
        const u64 j = i + lane_id() * step;
        const u32 v = j < end ? FRESH(env.listed + j) : 0, count = __popc(ballot(j < end));
        const i64 first = j < end ? env.offsets[v] : 0, last = j >= end ? 0 : own ? own_end(v) : env.offsets[v + 1];
        for (u32 k = 0; k < count; k++) f(shuffle(v, k), shuffle(first, k), shuffle(last, k));
    }
}
// Rows of a sub-round by whole warps, long ones by ``walk_chunks``, and ``f`` as there.
template <class F> DEVICE void walk_rows(const Lists& lists, int group, const F& f) {
    const u64* start = lists.start + group * CLASSES;
    walk_each(start[0] + warp_rank(), start[3], warps(), [&](u32 v, i64 first, i64 last) { f(v, first, last, true); });
    walk_chunks(lists, group, f);
}
// Arcs up to ``own_end`` of rows of more than SHORT arcs, by warps or blocks: ``f(v, this thread's first arc, last, threads)``.
template <class F> DEVICE void walk_longer(const Lists& lists, int group, const F& f) {
    const u64* start = lists.start + group * CLASSES;
#pragma unroll 1
    for (u32 kind = 1; kind < 3; kind++) {
        const bool warp = kind == 1;
        const u64 mine = warp ? warp_rank() : blockIdx.x, all = warp ? warps() : gridDim.x;
        const u32 me = warp ? lane_id() : threadIdx.x, step = warp ? 32 : BLOCK;
        walk_each<true>(start[kind] + mine, start[kind + 1], all, [&](u32 v, i64 first, i64 last) { f(v, first + me, last, step); });
    }
    walk_chunks<true>(lists, group, [&](u32 v, i64 first, i64 last, bool) { f(v, first + lane_id(), last, 32); });
}
template <class F> DEVICE void walk_all_rows(const Lists& lists, const F& f) {
    for (int group = 0; group < lists.groups; group++) walk_rows(lists, group, f);
}

// Rows of few vertices, for which ``wanted(v)``: a thread looks at each, a warp walks a row. The lists have all rows.
template <class W, class F> DEVICE void walk_some(const Lists& lists, const W& wanted, const F& f) {
    for (u64 i = thread_rank(); i - lane_id() < (u64)env.n; i += threads()) {
        const bool mine = i < (u64)env.n && env.offsets[i + 1] - env.offsets[i] <= BLOCK_MOST && wanted((u32)i);
        for (u32 left = ballot(mine); left; left &= left - 1) {
            const u32 v = (u32)(i - lane_id()) + __ffs(left) - 1;
            f(v, env.offsets[v], env.offsets[v + 1], true);
        }
    }
    for (int group = 0; group < lists.groups; group++)
        walk_chunks(lists, group, [&](u32 v, i64 first, i64 last, bool begins) {
            if (wanted(v)) f(v, first, last, begins);
        });
}

// Number those of ``end`` vertices or labels that are ``wanted``, ascending from 0: ``f(vertex, number)``; returns how many there are.
// By all blocks of a cooperative launch, each for a range and each thread for the same ones in both passes.
template <class W, class F> DEVICE u64 number_wanted(Hall& room, u64 end, u32& due, const W& wanted, const F& f) {
    const u64 first = end * blockIdx.x / gridDim.x, last = end * (blockIdx.x + 1) / gridDim.x;
    u64 mine = 0, before = 0, all = 0;
    for (u64 v = first + threadIdx.x; v < last; v += BLOCK) mine += wanted((u32)v);
    mine = block_sum(room, mine);
    if (threadIdx.x == 0) env.block_counts[blockIdx.x] = mine;
    grid_barrier(env.gate, due);
    for (u32 b = threadIdx.x; b < gridDim.x; b += BLOCK) {
        const u64 count = FRESH(env.block_counts + b);
        before += b < blockIdx.x ? count : 0, all += count;
    }
    before = block_sum(room, before), all = block_sum(room, all);
    for (u64 tile = first; tile < last; tile += BLOCK) {
        const u64 v = tile + threadIdx.x;
        const bool counts = v < last && wanted((u32)v);
        const u32 lanes = ballot(counts);
        if (lane_id() == 0) room.own[warp_in_block()] = (u64)__popc(lanes);
        __syncthreads();
        u64 number = before + __popc(lanes & ((1u << lane_id()) - 1));
        for (u32 w = 0; w < BLOCK / 32; w++) {
            number += w < warp_in_block() ? room.own[w] : 0;
            before += room.own[w];
        }
        __syncthreads();
        if (counts) f((u32)v, (u32)number);
    }
    return all;
}

// Count all rows for lists, and list them.
KERNEL tally_rows(i64) {
    SHARED(Hall, room);
    tally_rows_of(room, env.next_salt, true);
}
KERNEL list_rows(i64) {
    SHARED(Hall, room);
    load_lists(room);
    list_rows_of(room, env.salt, true);
}
