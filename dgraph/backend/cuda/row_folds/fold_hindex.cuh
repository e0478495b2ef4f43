// HINDEX: the largest h such that h keys are at least h, but no more than ``fold_ceiling``. A row's bound is that
// ceiling or its length. Keys that reach the bound are counted first. If as many do as the bound says, it is the
// result. If only c do, the result is at least c and less than the bound, and only keys in between matter. A warp keeps
// the keys of its row in registers and bisects; a row in chunks counts keys in a table. Rows begin with hubs: where
// degrees bound the keys, a row is read up to the first neighbour from which on no key matters.
//
// SUPPORTS: results only fall, towards core numbers. A fold keeps how many keys are as large as its result (support),
// and the bound that it began with. ``mark_rows`` takes keys that fall below a row's bound off its support, and only
// rows whose support gets less than their bound are folded again.   [Montresor et al. 2013]

#define FOLD_SLOTS HINDEX_SLOTS
#define FOLD_MOST HINDEX_LONG
#define FOLD_PIECE HINDEX_CHUNK
#define FOLD_VOTES 1
#define FOLD_BLOCKS 0
#define SUPPORTS (FALLS && FUSED)
#define ROW_WAITS 0 // a negative key postpones the vertex

// Keys of a lane that are loaded together, and bins of a lane that are summed together.
#define KEYS_AT_ONCE 8

struct FoldRoom {};

// The largest result for a row of v, 0 at least.
DEVICE u32 row_bound(u32 v, u64 degree) { return (u32)larger(smaller(fold_ceiling(v), (i64)degree), 0ll); }

// A key clamped to 0 … bound; 0 for a key that is left out.
DEVICE u32 height(i64 key, u32 bound) { return key == LEFT_OUT ? 0 : (u32)larger(smaller(key, (i64)bound), 0ll); }

// Store the support of v and, in the upper half of the word, the ceiling that its fold began with, which ``apply`` then
// lowers. By one thread.
DEVICE void keep_support(u32 v, u64 support) {
    if (!SUPPORTS) return;
    const u64 was = (u64)larger(smaller(fold_ceiling(v), (i64)EVERY_LANE), 0ll);
    env.fold_support[v] = was << 32 | (u32)support;
}

// By a thread; count <= FOLD_ALONE.
template <class K> DEVICE i64 fold_alone(const K& key, u32 count) {
    const u32 bound = row_bound(key.v, count);
    u32 keys[FOLD_ALONE], h = 0, support = 0;
    for (u32 i = 0; i < FOLD_ALONE; i++) keys[i] = i < count ? height(key(i), bound) : 0;
    for (u32 least = 1; least <= FOLD_ALONE; least++) {
        u32 above = 0;
        for (u32 j = 0; j < FOLD_ALONE; j++) above += keys[j] >= least;
        if (above >= least) h = least, support = above;
    }
    keep_support(key.v, support);
    return h;
}

// How many of 32 K keys, K a lane, are ``least`` or more.
template <int K> DEVICE u32 count_from(const u32* keys, u32 least) {
    u32 count = 0;
    for (int k = 0; k < K; k++) count += K <= 4 ? __popc(ballot(keys[k] >= least)) : keys[k] >= least;
    return K <= 4 ? count : warp_sum(count);
}

// By a warp, K keys a lane. Without SUPPORTS a row ends where enough keys have reached the bound.
template <int K, class R> DEVICE i64 fold_kept(const R& row, u32 count) {
    const int deep = K < KEYS_AT_ONCE ? K : KEYS_AT_ONCE;
    const u32 bound = row_bound(row.v, count);
    u32 mine[K], low = 0;
    for (int first = 0; first < K; first += deep) {
        const bool more = 32 * first < count && (SUPPORTS || low < bound) && !(first && row.ends(32 * first, low));
        i64 keys[deep];
        const R rest = {row.puller, row.first + 32 * first, row.v, false};
        if (more) rest.template load<deep>(count - 32 * first, keys);
        for (int k = 0; k < deep; k++) mine[first + k] = more ? height(keys[k], bound) : 0;
        if (more) low += count_from<deep>(mine + first, bound);
    }
    u32 support = low;
    if (low < bound) {
        for (u32 high = bound; high - low > 1;) {
            const u32 middle = low + (high - low) / 2, above = count_from<K>(mine, middle);
            if (above >= middle) low = middle;
            else high = middle, low = larger(low, above);
        }
        support = SUPPORTS ? count_from<K>(mine, low) : 0;
    }
    if (lane_id() == 0) keep_support(row.v, support);
    return smaller(low, bound);
}

// By a warp; count <= FOLD_MOST.
template <class K> DEVICE i64 fold_warp(const K& key, u32 count, FoldRoom&) {
    if (count <= 32) return fold_kept<1>(key, count);
    if (count <= 128) return fold_kept<4>(key, count);
    return count <= 256 ? fold_kept<8>(key, count) : fold_kept<FOLD_MOST / 32>(key, count);
}

// Call ``f(height)`` by whole warps for a chunk's keys, up to where no key is more than ``least``.
template <class R, class F> DEVICE void each_height(const R& row, u32 count, u32 bound, i64 least, const F& f) {
    for (u32 first = 0; first < count; first += 32 * KEYS_AT_ONCE) {
        const R rest = {row.puller, row.first + first, row.v, false};
        i64 keys[KEYS_AT_ONCE];
        if (rest.ends(0, least)) return;
        rest.template load<KEYS_AT_ONCE>(count - first, keys);
        for (int k = 0; k < KEYS_AT_ONCE; k++) f(height(keys[k], bound));
    }
}

// Keys of a chunk that reach its row's bound.
template <class R> DEVICE u32 votes_of_chunk(const R&, const R& keys, u64 degree, u32 count) {
    const u32 bound = row_bound(keys.v, degree);
    u32 votes = 0;
    each_height(keys, count, bound, (i64)bound - 1, [&](u32 mine) { votes += __popc(ballot(mine >= bound)); });
    return votes;
}

DEVICE bool settles(u32 v, u64 degree, u32 votes) { return votes >= row_bound(v, degree); }

template <class R> DEVICE i64 settled_value(const R& row, u64 degree, u32 votes) {
    if (lane_id() == 0) keep_support(row.v, votes);
    return row_bound(row.v, degree);
}

// Slot i of a table counts keys of ``votes`` + i.
DEVICE u64 slots_used(const FoldTable& table) { return row_bound(table.v, table.degree) - table.votes; }

// Count the keys of a chunk. Neighbours side by side often have the same key, so lanes with the same key share one
// atomic.
template <class R> DEVICE FoldPart fold_part(const R& row, u32 count, const FoldTable& table) {
    const u32 bound = row_bound(table.v, table.degree);
    each_height(row, count, bound, table.votes, [&](u32 mine) {
        const bool counts = mine > table.votes && mine < bound;
        if (!ballot(counts)) return;
        const u32 same = alike(counts ? mine : bound);
        const bool first = counts && __ffs(same) - 1 == (int)lane_id();
        if (first) atomicAdd(table.counts + (mine - table.votes), (u32)__popc(same));
    });
    return {0, 0};
}

// The result of a row in chunks. By a warp, which sums slots from the bound down, KEYS_AT_ONCE a lane. It ends at
// ``votes`` at the latest: as many keys reach the bound.
DEVICE i64 close_row(const FoldTable& table, const i64*, u64) {
    const i64 low = table.votes;
    u64 above = table.votes;
    for (i64 top = (i64)row_bound(table.v, table.degree) - 1;; top -= 32 * KEYS_AT_ONCE) {
        const i64 high = top - KEYS_AT_ONCE * lane_id();
        u32 bins[KEYS_AT_ONCE], sum = 0;
        for (int j = 0; j < KEYS_AT_ONCE; j++) {
            bins[j] = high - j > low ? fresh(table.counts + (high - j - low)) : 0;
            sum += bins[j];
        }
        const u64 through = above + sum_up_to_lane((u64)sum);
        const u32 found = ballot((i64)through > high - KEYS_AT_ONCE);
        above = shuffle(through, 31);
        if (!found) continue;
        i64 h = high;
        u64 support = through - sum + bins[0];
        for (int j = 1; j < KEYS_AT_ONCE; j++)
            if ((i64)support < h) h--, support += bins[j];
        if (__ffs(found) - 1 == (int)lane_id()) keep_support(table.v, support);
        return larger(shuffle(h, __ffs(found) - 1), low);
    }
}
