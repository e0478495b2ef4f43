// BEST: of the values summed by key, the key of the largest sum, the smallest of equal ones. The second field that edges
// propose has the values, and gets that sum. Keys are found in a table of open addressing whose entries are two words:
// the key as stored, 0 in an empty entry, and its sum. The table of a short row lies in shared memory of its warp, that of a
// row in chunks in ``env.fold_counts``. Sums of int64 do not depend on the order of additions, so any number of threads,
// blocks and ranks finds the same key. A scan of the table finds the best.

#define FOLD_SLOTS (8 * FOLD_CHUNK) // 32-bit words of a chunk's share of its row's table: two entries an edge
#define FOLD_MOST FOLD_LONG
#define FOLD_PIECE FOLD_CHUNK
#define FOLD_VOTES 0
#define FOLD_BLOCKS 0
#define SUPPORTS 0
#define ROW_WAITS 0 // a negative key postpones the vertex

#define WARP_ENTRIES (3 * FOLD_LONG / 2)

struct FoldRoom {
    u64 words[2 * WARP_ENTRIES];
};

// A key and the sum of its values; LEFT_OUT and 0 for none.
struct KeySum {
    i64 key, sum;
};

DEVICE void take_larger(KeySum& best, const KeySum& other) {
    if (other.key == LEFT_OUT) return;
    if (best.key == LEFT_OUT || other.sum > best.sum || (other.sum == best.sum && other.key < best.key)) best = other;
}

// Key and value of edge i of a row.
template <class K> DEVICE KeySum pair_of(const K& row, u32 i) {
    if (RECORD) row.puller.seen++;
    const Source s = at_source(row.puller.G, env.in_neighbours[row.first + i]);
    const Proposal p = propose(row.puller.G, s, WEIGHTED ? env.in_weights[row.first + i] : (weight_t)1, row.v);
    return {p.p0, p.p1};
}

// By a thread; count <= FOLD_ALONE.
template <class K> DEVICE i64 fold_alone(const K& row, u32 count) {
    KeySum pairs[FOLD_ALONE], best = {LEFT_OUT, 0};
    for (u32 i = 0; i < FOLD_ALONE; i++) {
        pairs[i] = {LEFT_OUT, 0};
        if (i < count) pairs[i] = pair_of(row, i);
    }
    for (u32 i = 0; i < FOLD_ALONE; i++) {
        KeySum whole = {pairs[i].key, 0};
        for (u32 j = 0; j < FOLD_ALONE; j++)
            if (pairs[j].key == whole.key) whole.sum = (i64)((u64)whole.sum + (u64)pairs[j].sum); // sums wrap
        take_larger(best, whole);
    }
    put_sum(row.v, best.sum);
    return best.key;
}

// Add the values of the first ``count`` edges to the sums of their keys. By a warp; entries > different keys.
template <class K> DEVICE void add_pairs(const K& row, u32 count, u64* table, u32 entries) {
    for (u32 i = lane_id(); i < count; i += 32) {
        const KeySum mine = pair_of(row, i);
        if (mine.key == LEFT_OUT) continue;
        const u64 stored = (u64)(mine.key ^ LEFT_OUT);
        for (u32 at = (u32)((mix((u64)mine.key) >> 32) * entries >> 32);; at = at + 1 < entries ? at + 1 : 0) {
            const u64 found = fresh(table + 2 * at), before = found ? found : (u64)atomicCAS(table + 2 * at, (u64)0, stored);
            if (before && before != stored) continue;
            atomicAdd(table + 2 * at + 1, (u64)mine.sum);
            break;
        }
    }
}

// The best of a table, in all lanes.
DEVICE KeySum best_of(const u64* table, u64 entries) {
    KeySum best = {LEFT_OUT, 0};
    for (u64 at = lane_id(); at < entries; at += 32) {
        const u64 stored = fresh(table + 2 * at);
        if (stored) take_larger(best, {(i64)(stored ^ (u64)LEFT_OUT), (i64)fresh(table + 2 * at + 1)});
    }
    for (u32 mask = 16; mask; mask >>= 1) {
        const i64 key = shuffle_xor(best.key, mask), sum = shuffle_xor(best.sum, mask);
        take_larger(best, {key, sum});
    }
    return best;
}

// By a warp; count <= FOLD_LONG.
template <class K> DEVICE i64 fold_warp(const K& row, u32 count, FoldRoom& room) {
    for (u32 at = lane_id(); at < 2 * WARP_ENTRIES; at += 32) room.words[at] = 0;
    __syncwarp();
    add_pairs(row, count, room.words, WARP_ENTRIES);
    __syncwarp();
    const KeySum best = best_of(room.words, WARP_ENTRIES);
    __syncwarp();
    if (lane_id() == 0) put_sum(row.v, best.sum);
    return best.key;
}

template <class K> DEVICE FoldPart fold_part(const K& row, u32 count, const FoldTable& table) {
    add_pairs(row, count, (u64*)table.counts, (u32)(table.slots / 4));
    return {0, 0};
}

DEVICE bool settles(u32, u64, u32) { return false; }

DEVICE u64 slots_used(const FoldTable& table) { return table.slots; }

DEVICE i64 close_row(const FoldTable& table, const i64*, u64) {
    const KeySum best = best_of((const u64*)table.counts, table.slots / 4);
    if (lane_id() == 0) put_sum(table.v, best.sum);
    return best.key;
}
