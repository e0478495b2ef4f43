// HINDEX: the largest h such that h keys are at least h. Keys are counted by value, those above the row's length as that
// length; sums from the top then find h.

#define FOLD_SLOTS HINDEX_SLOTS
#define FOLD_VOTES 0
#define ROW_WAITS 0 // a negative key postpones the vertex

struct FoldRoom {
    u32 counts[FOLD_LONG + 1];
};

// By a thread; count <= FOLD_ALONE.
template <class K> DEVICE i64 fold_alone(const K& key, u32 count) {
    i64 keys[FOLD_ALONE], h = 0;
    for (u32 i = 0; i < FOLD_ALONE; i++) {
        keys[i] = i < count ? key(i) : LEFT_OUT;
        if (keys[i] == LEFT_OUT) keys[i] = -1;
    }
    for (u32 least = 1; least <= FOLD_ALONE; least++) {
        u32 above = 0;
        for (u32 j = 0; j < FOLD_ALONE; j++) above += keys[j] >= (i64)least;
        if (above >= least) h = least;
    }
    return h;
}

template <class K> DEVICE void add_keys(const K& key, u32 count, u32* counts, i64 most) {
    for (u32 i = 0; i < count; i += 32) {
        const i64 mine = i + lane_id() < count ? key(i + lane_id()) : LEFT_OUT;
        if (mine > 0 && mine != LEFT_OUT) atomicAdd(counts + smaller(mine, most), 1u);
    }
}

// The largest h <= most by a warp.
DEVICE i64 h_of(const u32* counts, i64 most) {
    u64 above = 0;
    for (i64 top = most; top > 0; top -= 32) {
        const i64 h = top - lane_id();
        const u64 sum = above + sum_up_to_lane(h > 0 ? (u64)fresh(counts + h) : (u64)0);
        const u32 found = ballot(h <= 0 || sum >= (u64)h);
        if (found) return larger(top - (__ffs(found) - 1), (i64)0);
        above = shuffle(sum, 31);
    }
    return 0;
}

// By a warp; count <= FOLD_LONG.
template <class K> DEVICE i64 fold_warp(const K& key, u32 count, FoldRoom& room) {
    for (u32 i = lane_id(); i <= count; i += 32) room.counts[i] = 0;
    __syncwarp();
    add_keys(key, count, room.counts, count);
    __syncwarp();
    const i64 h = h_of(room.counts, count);
    __syncwarp();
    return h;
}

template <class K> DEVICE FoldPart fold_part(const K& key, u32 count, const FoldTable& table) {
    add_keys(key, count, table.counts, table.degree);
    return {0, 0};
}

DEVICE i64 close_row(const FoldTable& table, const i64*, u64) { return h_of(table.counts, table.degree); }
