// MEX: the smallest integer >= 0 that is not among the keys, found in a bitmap of the keys below the row's length.

#define FOLD_SLOTS MEX_SLOTS
#define FOLD_MOST FOLD_LONG
#define FOLD_PIECE FOLD_CHUNK
#define FOLD_VOTES 0
#define FOLD_BLOCKS 0
#define SUPPORTS 0
#define ROW_WAITS 1 // a negative key postpones the vertex

#define FOLD_WORDS (FOLD_LONG / 32)

struct FoldRoom {
    u32 seen[FOLD_WORDS];
};

// By a thread; count <= FOLD_ALONE.
template <class K> DEVICE i64 fold_alone(const K& key, u32 count) {
    u32 seen = 0;
    for (u32 i = 0; i < count && !key.waits; i++) {
        const i64 mine = key(i);
        if (mine >= 0 && mine < 32) seen |= 1u << mine;
    }
    return __ffs(~seen) - 1;
}

// Bits of keys below 32 ``words``. A vertex that waits is given up at once.
template <class K> DEVICE void add_keys(const K& key, u32 count, u32* seen, i64 words) {
    for (u32 i = 0; i < count && !ballot(key.waits); i += 32) {
        const i64 mine = i + lane_id() < count ? key(i + lane_id()) : LEFT_OUT;
        const u32 bit = 1u << (mine & 31);
        if (mine >= 0 && mine < 32 * words && !(fresh(seen + (mine >> 5)) & bit)) atomicOr(seen + (mine >> 5), bit);
    }
}

// By a warp; count <= FOLD_LONG.
template <class K> DEVICE i64 fold_warp(const K& key, u32 count, FoldRoom& room) {
    if (lane_id() < FOLD_WORDS) room.seen[lane_id()] = 0;
    __syncwarp();
    add_keys(key, count, room.seen, FOLD_WORDS);
    __syncwarp();
    const u32 word = lane_id() < FOLD_WORDS ? fresh(room.seen + lane_id()) : 0;
    const u32 lane = __ffs(ballot(word != EVERY_LANE)) - 1;
    __syncwarp();
    return 32 * (i64)lane + __ffs(~shuffle(word, lane)) - 1;
}

template <class K> DEVICE FoldPart fold_part(const K& key, u32 count, const FoldTable& table) {
    add_keys(key, count, table.counts, (i64)table.slots);
    return {0, 0};
}

DEVICE bool settles(u32, u64, u32) { return false; }

DEVICE u64 slots_used(const FoldTable& table) { return table.slots; }

// The row's chunks have more slots than its length has words: the last ones are empty.
DEVICE i64 close_row(const FoldTable& table, const i64*, u64) {
    for (u64 i = 0; i < table.slots; i += 32) {
        const u64 at = i + lane_id();
        const u32 word = at < table.slots ? fresh(table.counts + at) : EVERY_LANE;
        const u32 open = ballot(word != EVERY_LANE), lane = open ? __ffs(open) - 1 : 0, first = shuffle(word, lane);
        if (open) return 32 * (i64)(i + lane) + __ffs(~first) - 1;
    }
    return -1;
}
