// MODE by a block, in one pass over a row whose table fits shared memory: rows of FOLD_LONG to FOLD_TABLES edges.
//
// Threads read FOLD_DEEP edges each, all loads in flight. The most frequent key of a sample is counted in registers, so that
// a key that most edges have never meets itself in the table; where most of the sample have it, a vote comes before, which
// mostly spares the table. The other keys are counted by shared atomics, without a result. A
// scan of the table then finds the best and empties it for the next row. Keys of 32 bits make slots of 8 bytes; a row that has
// wider ones starts again with slots of 12. A row with more keys than a table takes, by the share of different ones in a sample,
// is read once for each part of its keys, by hash, unless the first pass finds a majority; if a part has no room after all,
// the row starts again with more parts.   [parts: as hybrid hash aggregation, Graefe 1993]

// Edges that a thread reads at once, keys of a sample, and how many of them must be equal for the row to vote first.
#define FOLD_DEEP 2
#define FOLD_SAMPLE 32
#define VOTES_FIRST 18

struct ModeRoom : AwakeRoom {
    i64 sample[FOLD_SAMPLE];
    FoldPart best[BLOCK / 32];
    u32 votes, votes_of_warp[BLOCK / 32];
};

// Rows that a block folds, of which ``marks``, unless null, has those to fold.
struct RowList {
    const u32* rows;
    u64 count;
    const u32* marks;

    __device__ bool has(u32 v) const { return !marks || marks[v >> 5] >> (v & 31) & 1; }
};

// Shared memory of a table; empty between rows.
struct TableMemory {
    u64* words;
    u32 bytes;
};

// FOLD_DEEP edges of a row from ``first`` on, BLOCK apart; LEFT_OUT behind its end.
struct ModeKeys {
    u32 u[FOLD_DEEP];
    i64 keys[FOLD_DEEP];

    __device__ void load(const RowKeys& row, u64 first, u64 degree) {
        for (u32 k = 0; k < FOLD_DEEP; k++) u[k] = first + k * BLOCK < degree ? env.in_neighbours[row.first + first + k * BLOCK] : 0;
        for (u32 k = 0; k < FOLD_DEEP; k++)
            keys[k] = first + k * BLOCK < degree ? row.of((u32)(first + k * BLOCK), u[k]) : LEFT_OUT;
    }
    __device__ bool active(const Puller& puller, u64 first, u64 degree) const {
        if (ALL) return true;
        bool some = false;
        for (u32 k = 0; k < FOLD_DEEP; k++) some |= first + k * BLOCK < degree && puller.bits[u[k] >> 5] >> (u[k] & 31) & 1;
        return some;
    }
};

struct Sampled {
    FoldPart likely; // the most frequent key
    u32 distinct;    // keys that differ

    __device__ explicit Sampled(i64 mine) {
        likely = mode_of_lanes(mine);
        distinct = __popc(ballot(__ffs(alike((u64)mine)) - 1 == (int)lane_id()));
    }
};

// A sample of a row's keys: of edges evenly spread over a long row, whose number of keys matters, else of every warp's first ones.
DEVICE Sampled sample_of(const RowKeys& row, u64 degree, const ModeKeys& some, bool spread, ModeRoom& room) {
    const u32 each = FOLD_SAMPLE / (BLOCK / 32);
    if (!spread && lane_id() < each) room.sample[warp_in_block() * each + lane_id()] = some.keys[0];
    __syncthreads();
    return Sampled(spread ? row((u32)(degree / FOLD_SAMPLE) * lane_id()) : room.sample[lane_id()]);
}

// How many edges have a key, by the first keys of all threads and those behind; in all threads.
DEVICE u32 votes_of_row(const RowKeys& row, u64 degree, ModeKeys& some, i64 likely, ModeRoom& room) {
    u32 votes = 0;
    for (u64 first = threadIdx.x; first < degree; first += FOLD_DEEP * BLOCK) {
        if (first >= BLOCK) some.load(row, first, degree);
        for (u32 k = 0; k < FOLD_DEEP; k++) votes += some.keys[k] == likely;
    }
    __syncwarp();
    votes = warp_sum(votes);
    if (lane_id() == 0) room.votes_of_warp[warp_in_block()] = votes;
    __syncthreads();
    u32 all = 0;
    for (u32 i = 0; i < BLOCK / 32; i++) all += room.votes_of_warp[i];
    return all;
}

// Fold a row in ``parts`` passes; whether all keys had a slot. ``some`` holds the first keys of all threads if keys are narrow.
// The row's best is the best of all threads' and of ``likely``, which room.votes edges have.
template <class Stored>
DEVICE bool count_keys(const RowKeys& row, u64 degree, ModeKeys& some, i64 likely, u32 parts, const TableMemory& memory,
                       ModeRoom& room, FoldPart& best) {
    const ModeTable<Stored> table(memory.words, memory.bytes, degree);
    bool fits = true;
    best = {LEFT_OUT, 0};
    for (u32 part = 0; part < parts && fits && 2 * (u64)room.votes <= degree; part++) {
        u32 votes = 0;
        for (u64 first = threadIdx.x; first < degree; first += FOLD_DEEP * BLOCK) {
            if (part || first >= BLOCK || sizeof(Stored) > 4) some.load(row, first, degree);
            for (u32 k = 0; k < FOLD_DEEP; k++) {
                const i64 key = some.keys[k];
                if (key == LEFT_OUT) continue;
                if (key == likely) {
                    votes += part == 0;
                    continue;
                }
                const u64 hash = mix((u64)key);
                if ((u32)((hash & 0xffffffffu) * parts >> 32) == part) fits &= table.fits(key) && table.add(key, hash);
            }
        }
        __syncwarp();
        votes = warp_sum(votes);
        if (lane_id() == 0 && votes) atomicAdd(&room.votes, votes);
        fits = !__syncthreads_or(!fits);
        for (u32 at = threadIdx.x; at < table.slots; at += BLOCK) table.take(at, best), table.empty(at);
        __syncthreads();
    }
    return fits;
}

// The best of all threads and of ``likely``; in the block's first thread.
DEVICE FoldPart best_of_block(FoldPart best, i64 likely, ModeRoom& room) {
    best = warp_best(best);
    if (lane_id() == 0) room.best[warp_in_block()] = best;
    __syncthreads();
    best = {LEFT_OUT, 0};
    for (u32 i = 0; threadIdx.x == 0 && i < BLOCK / 32; i++) take_better(best, room.best[i].key, room.best[i].times);
    if (threadIdx.x == 0 && room.votes) take_better(best, likely, room.votes);
    return best;
}

// Whether a row has an active source; its first edges are loaded. All threads return the same.
DEVICE bool is_reached(const RowKeys& row, u64 degree, const ModeKeys& some) {
    bool active = __syncthreads_or(some.active(row.puller, threadIdx.x, degree));
    for (u64 first = FOLD_DEEP * BLOCK; first < degree && !active; first += FOLD_DEEP * BLOCK) {
        ModeKeys more;
        more.load(row, first + threadIdx.x, degree);
        active = __syncthreads_or(more.active(row.puller, first + threadIdx.x, degree));
    }
    return active;
}

// The mode of a row whose keys all differ: the smallest; in the block's first thread.
DEVICE i64 smallest_of_row(const RowKeys& row, u64 degree, ModeKeys& some, ModeRoom& room) {
    FoldPart best = {LEFT_OUT, 0};
    for (u64 first = threadIdx.x; first < degree; first += FOLD_DEEP * BLOCK) {
        if (first >= BLOCK) some.load(row, first, degree);
        for (u32 k = 0; k < FOLD_DEEP; k++) take_better(best, some.keys[k], some.keys[k] != LEFT_OUT);
    }
    if (threadIdx.x == 0) room.votes = 0;
    __syncthreads(); // the first thread has read room.best of the row before
    return best_of_block(best, LEFT_OUT, room).key;
}

// The mode of a row; in the block's first thread.
DEVICE i64 mode_of_row(const RowKeys& row, u64 degree, ModeKeys& some, const TableMemory& memory, ModeRoom& room) {
    if (row.puller.distinct) return smallest_of_row(row, degree, some, room);
    const u64 slots = memory.bytes / 12;
    const Sampled sample = sample_of(row, degree, some, degree > slots, room);
    if (sample.likely.times >= VOTES_FIRST && sample.likely.key != LEFT_OUT) {
        if (2 * (u64)votes_of_row(row, degree, some, sample.likely.key, room) > degree) return sample.likely.key;
        if (degree > FOLD_DEEP * BLOCK) some.load(row, threadIdx.x, degree);
    }
    const i64 likely = sample.likely.times > 1 ? sample.likely.key : LEFT_OUT;
    FoldPart best;
    bool done = false, narrow = true;
    for (u32 parts = 1 + (u32)((degree * sample.distinct / FOLD_SAMPLE) / (slots + 1)); !done; parts *= 2, narrow = false) {
        if (threadIdx.x == 0) room.votes = 0;
        __syncthreads();
        if (narrow) done = count_keys<u32>(row, degree, some, likely, parts, memory, room, best);
        else done = count_keys<u64>(row, degree, some, likely, parts, memory, room, best);
    }
    return best_of_block(best, likely, room).key;
}

// Fold the rows of a list, a block each; vertices that were proposed to are bits of ``next``. The table lies behind ``room``.
DEVICE void fold_in_tables(const Puller& puller, const RowList& list, u32* next, i64* slot, ModeRoom& room, u32 bytes) {
    const TableMemory memory = {(u64*)(&room + 1), bytes - (u32)sizeof(ModeRoom)};
    i64 awake = 0, edges = 0;
    for (u32 i = threadIdx.x; i < memory.bytes / 8; i += BLOCK) memory.words[i] = 0;
    for (u64 i = blockIdx.x; i < list.count; i += gridDim.x) {
        const u32 v = list.rows[i];
        if (!wants(puller.G, v) || !list.has(v)) continue;
        const RowKeys row = {puller, env.in_offsets[v], v, false};
        const u64 degree = (u64)(env.in_offsets[v + 1] - row.first);
        ModeKeys some;
        some.load(row, threadIdx.x, degree);
        if (!list.marks && !is_reached(row, degree, some)) continue;
        const i64 mode = mode_of_row(row, degree, some, memory, room);
        if (threadIdx.x || !commit(v, {mode})) continue;
        if (!ALL) atomicOr(next + (v >> 5), 1u << (v & 31));
        awake++, edges += degree_of(v);
    }
    __syncthreads();
    if (FUSED && !ALL) count_awake(slot, awake, edges, room);
}
