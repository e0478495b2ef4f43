// MODE: the most frequent key, the smallest of equally frequent ones. A key that more than half of a row's edges have is
// found by a vote: the most frequent key of a sample is counted. Otherwise rows count keys in a hash table of open addressing.
// A slot's key stands for one edge and its count for the others, so a key that comes once needs no addition. Tables of warps
// and of blocks (``mode_tables.cuh``) lie in shared memory, and a scan finds their best. Those of the longest rows, which
// several warps share, do not: a count only grows, and the addition that completes it returns the total, so that the mode is
// the best of all additions and no thread reads the table afterwards.
// [vote: as Boyer & Moore 1991, with a sample for the first pass]

#define FOLD_SLOTS MODE_SLOTS
#define FOLD_MOST FOLD_LONG
#define FOLD_PIECE FOLD_CHUNK
#define FOLD_VOTES 1
#define FOLD_BLOCKS 1
#define SUPPORTS 0
#define ROW_WAITS 0 // a negative key postpones the vertex

// A key is put to the vote if at least this many of the sample's 32 are equal.
#define FEWEST_ALIKE 8

struct FoldRoom {
    u64 words[3 * FOLD_LONG];
};

// Whether ``key`` with ``times`` comes before the best so far.
DEVICE void take_better(FoldPart& best, i64 key, i64 times) {
    if (times > best.times || (times == best.times && key < best.key)) best = {key, times};
}

DEVICE FoldPart warp_best(FoldPart best) {
    for (u32 mask = 16; mask; mask >>= 1) {
        const i64 key = shuffle_xor(best.key, mask), times = shuffle_xor(best.times, mask);
        take_better(best, key, times);
    }
    return best;
}

// The mode of 32 K keys that all differ, K a lane: the smallest.
template <int K> DEVICE FoldPart smallest_of(const i64* keys) {
    FoldPart best = {LEFT_OUT, 0};
    for (u32 k = 0; k < K; k++) take_better(best, keys[k], keys[k] != LEFT_OUT);
    return warp_best(best);
}

// The mode of a key a lane.
DEVICE FoldPart mode_of_lanes(i64 mine) {
    const u32 same = alike((u64)mine);
    return warp_best({mine, mine == LEFT_OUT ? 0 : (i64)__popc(same)});
}

// The mode of a sample of a row of 32 edges or more, evenly spread.
template <class K> DEVICE FoldPart likely_key(const K& row, u64 degree) {
    return mode_of_lanes(row((u32)(degree / 32) * lane_id()));
}

// How many of 32 K keys are the likely one; 0 if too few of the sample were for more than half of the row.
template <int K> DEVICE u32 votes_of(const FoldPart& likely, const i64* keys) {
    if (likely.times < FEWEST_ALIKE) return 0;
    u32 votes = 0;
    for (int k = 0; k < K; k++) votes += __popc(ballot(keys[k] == likely.key));
    return votes;
}

template <class K> DEVICE u32 votes_for(const FoldPart& likely, const K& key, u32 count) {
    if (likely.times < FEWEST_ALIKE) return 0;
    i64 keys[FOLD_CHUNK / 32];
    key.template load<FOLD_CHUNK / 32>(count, keys);
    return votes_of<FOLD_CHUNK / 32>(likely, keys);
}

// Votes of a chunk for its row's likely key, which settle the row if they are more than half; the key then.
template <class K> DEVICE u32 votes_of_chunk(const K& row, const K& keys, u64 degree, u32 count) {
    return votes_for(likely_key(row, degree), keys, count);
}
DEVICE bool settles(u32, u64 degree, u32 votes) { return 2 * (u64)votes > degree; }
template <class K> DEVICE i64 settled_value(const K& row, u64 degree, u32) { return likely_key(row, degree).key; }

DEVICE u64 slots_used(const FoldTable& table) { return table.slots; }

// By a thread; count <= FOLD_ALONE.
template <class K> DEVICE i64 fold_alone(const K& key, u32 count) {
    i64 keys[FOLD_ALONE];
    FoldPart best = {LEFT_OUT, 0};
    for (u32 i = 0; i < FOLD_ALONE; i++) keys[i] = i < count ? key(i) : LEFT_OUT;
    for (u32 i = 0; i < FOLD_ALONE; i++) {
        i64 times = 0;
        for (u32 j = 0; j < FOLD_ALONE; j++) times += keys[j] == keys[i];
        if (keys[i] != LEFT_OUT) take_better(best, keys[i], times);
    }
    return best.key;
}

DEVICE u64 stored_key(i64 key) { return (u64)(key ^ LEFT_OUT); } // an empty slot holds 0, which LEFT_OUT alone is stored as

DEVICE u32 slot_of_key(i64 key, u32 slots) { return (u32)((mix((u64)key) >> 32) * slots >> 32); }

DEVICE u32 next_slot(u32 at, u32 slots) { return at + 1 < slots ? at + 1 : 0; }

// Table in shared memory, of keys stored in 32 or 64 bits, 0 in an empty slot.
template <class Stored> struct ModeTable {
    Stored* keys;
    u32* counts;
    u32 slots;

    __device__ ModeTable(u64* words, u32 bytes, u64 degree) {
        const u32 most = bytes / (sizeof(Stored) + 4);
        keys = (Stored*)words, counts = (u32*)(keys + most), slots = (u32)smaller((u64)most, 2 * degree);
    }

    static __device__ Stored stored_as(i64 key) { return (Stored)(key ^ (sizeof(Stored) == 4 ? 0x7fffffff : LEFT_OUT)); }
    static __device__ i64 key_of(Stored stored) {
        return sizeof(Stored) == 4 ? (i64)(int)((u32)stored ^ 0x7fffffffu) : (i64)((u64)stored ^ (u64)LEFT_OUT);
    }
    static __device__ bool fits(i64 key) { return stored_as(key) && key_of(stored_as(key)) == key; }

    // Count a key that fits; false if the table is full.
    __device__ bool add(i64 key, u64 hash) const {
        const Stored stored = stored_as(key);
        u32 at = (u32)((hash >> 32) * slots >> 32);
        for (u32 tried = 0; tried < slots; tried++, at = next_slot(at, slots)) {
            const Stored found = fresh(keys + at), before = found ? found : (Stored)atomicCAS(keys + at, (Stored)0, stored);
            if (before == stored) atomicAdd(counts + at, 1u);
            if (before == stored || !before) return true;
        }
        return false;
    }

    __device__ void empty(u32 at) const { keys[at] = 0, counts[at] = 0; }
    __device__ void take(u32 at, FoldPart& best) const {
        if (keys[at]) take_better(best, key_of(keys[at]), 1 + (i64)counts[at]);
    }
};

// Count ``more`` of a key beside the one that the slot's key stands for. Returns how many there are now.
DEVICE i64 counted(u32* count, u32 more) { return 1 + (more ? (i64)atomicAdd(count, more) + more : 0); }

// Add ``times`` of a key, from slot ``at`` on. Returns how many there are now.
DEVICE i64 add_key(u64* keys, u32* counts, u32 slots, u32 at, i64 key, u32 times) {
    const u64 stored = stored_key(key);
    for (;; at = next_slot(at, slots)) {
        const u64 found = fresh(keys + at);
        const u64 before = found ? found : (u64)atomicCAS(keys + at, (u64)0, stored);
        if (before == 0 || before == stored) return counted(counts + at, times - (before == 0));
    }
}

// Add FOLD_AT_ONCE keys a lane, those that lanes have in common once. Each step is taken for all keys before the next one, so
// that as many accesses are in flight; keys whose first slot has another go on alone.
DEVICE void add_some(FoldPart& best, const i64* key, u64* keys, u32* counts, u32 slots) {
    u32 times[FOLD_AT_ONCE], at[FOLD_AT_ONCE], left = 0;
    u64 found[FOLD_AT_ONCE];
    for (u32 k = 0; k < FOLD_AT_ONCE; k++) {
        const u32 same = alike((u64)key[k]);
        left |= (u32)(key[k] != LEFT_OUT && __ffs(same) - 1 == (int)lane_id()) << k;
        times[k] = __popc(same), at[k] = slot_of_key(key[k], slots);
    }
    for (u32 k = 0; k < FOLD_AT_ONCE; k++) found[k] = left >> k & 1 ? fresh(keys + at[k]) : ~(u64)0;
    for (u32 k = 0; k < FOLD_AT_ONCE; k++) {
        if (!found[k]) found[k] = (u64)atomicCAS(keys + at[k], (u64)0, stored_key(key[k]));
        if (!found[k]) found[k] = stored_key(key[k]), times[k]--;
    }
    for (u32 k = 0; k < FOLD_AT_ONCE; k++)
        if (left >> k & 1 && found[k] == stored_key(key[k])) {
            take_better(best, key[k], counted(counts + at[k], times[k]));
            left &= ~(1u << k);
        }
    for (u32 k = 0; k < FOLD_AT_ONCE; k++)
        if (left >> k & 1)
            take_better(best, key[k], add_key(keys, counts, slots, next_slot(at[k], slots), key[k], times[k]));
}

template <int K> DEVICE FoldPart add_keys(const i64* key, u64* keys, u32* counts, u32 slots) {
    FoldPart best = {LEFT_OUT, 0};
    for (u32 k = 0; k < K; k += FOLD_AT_ONCE) add_some(best, key + k, keys, counts, slots);
    return warp_best(best);
}

// The mode of all lanes' keys, of which a table in ``room`` has twice as many slots.
template <class Stored> DEVICE i64 mode_in_table(const i64* mine, u32 count, FoldRoom& room) {
    const ModeTable<Stored> table(room.words, sizeof(room.words), count);
    FoldPart best = {LEFT_OUT, 0};
    for (u32 at = lane_id(); at < table.slots; at += 32) table.empty(at);
    __syncwarp();
    for (u32 k = 0; k < FOLD_LONG / 32; k++)
        if (mine[k] != LEFT_OUT) table.add(mine[k], mix((u64)mine[k]));
    __syncwarp();
    for (u32 at = lane_id(); at < table.slots; at += 32) table.take(at, best);
    best = warp_best(best);
    __syncwarp();
    return best.key;
}

// By a warp; count <= FOLD_LONG. Of a row's keys the first, a hub's, is tried before a sample: it needs fewer instructions.
template <class K> DEVICE i64 fold_warp(const K& key, u32 count, FoldRoom& room) {
    i64 mine[FOLD_LONG / 32];
    if (count <= 32) key.template load<1>(count, mine);
    else key.template load<FOLD_LONG / 32>(count, mine);
    const FoldPart first = {shuffle(mine[0], 0), FEWEST_ALIKE};
    if (key.puller.distinct) return count <= 32 ? smallest_of<1>(mine).key : smallest_of<FOLD_LONG / 32>(mine).key;
    if (count <= 32) {
        if (first.key != LEFT_OUT && 2 * votes_of<1>(first, mine) > count) return first.key;
        return mode_of_lanes(mine[0]).key;
    }
    if (first.key != LEFT_OUT && 2 * votes_of<FOLD_LONG / 32>(first, mine) > count) return first.key;
    const FoldPart likely = mode_of_lanes(mine[0]);
    if (2 * votes_of<FOLD_LONG / 32>(likely, mine) > count) return likely.key;
    bool narrow = true;
    for (u32 k = 0; k < FOLD_LONG / 32; k++) narrow &= mine[k] == LEFT_OUT || ModeTable<u32>::fits(mine[k]);
    return ballot(!narrow) ? mode_in_table<u64>(mine, count, room) : mode_in_table<u32>(mine, count, room);
}

template <class K> DEVICE FoldPart fold_part(const K& key, u32 count, const FoldTable& table) {
    i64 mine[FOLD_CHUNK / 32];
    key.template load<FOLD_CHUNK / 32>(count, mine);
    if (key.puller.distinct) return smallest_of<FOLD_CHUNK / 32>(mine);
    return add_keys<FOLD_CHUNK / 32>(mine, table.keys, table.counts, (u32)table.slots);
}

DEVICE i64 close_row(const FoldTable&, const i64* parts, u64 count) {
    FoldPart best = {LEFT_OUT, 0};
    for (u64 i = lane_id(); i < count; i += 32) take_better(best, parts[2 * i], parts[2 * i + 1] >> 1);
    return warp_best(best).key;
}
