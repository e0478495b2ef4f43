// warp_shares: equal pieces of the frontier's edges for every warp [after 001's local warp search].
//
// A warp finds its first vertex by a search in the prefix sum with 32 probes at a time. Then a window of 32 vertices is
// held in registers, and lanes find their edges' vertices by shuffles. In a small round the pieces are just large
// enough for all loads of a warp to be in flight at once.

struct WarpSharesRoom {};

#define WARP_PIECE 256
#define AT_ONCE 2

// Return the last item that starts at ``edge`` or before, by the whole warp.
DEVICE u64 search_by_warp(const Work& work, u64 edge) {
    u64 low = 0, high = work.count;
    while (high - low > 1) {
        const u64 step = (high - low + 31) / 32, probe = low + lane_id() * step;
        const u32 before = ballot(probe < high && work.start(probe) <= edge);
        low += (u64)(31 - __clz(before)) * step;
        high = smaller(high, low + step);
    }
    return low;
}

template <int K, class V> DEVICE void search_pieces(V& visit, const Work& work, u64 piece) {
    for (u64 edge = warp_rank() * piece; edge < work.edges; edge += warps() * piece) {
        const u64 end = smaller(edge + piece, work.edges);
        u64 window = search_by_warp(work, edge), at = edge;
        while (at < end) {
            const u64 i = window + lane_id();
            const bool mine = i < work.count;
            const u32 u = mine ? work.item(i) : 0;
            const u64 start = mine ? work.start(i) : work.edges;
            const offset_t base = mine ? work.first(u) - (offset_t)start : 0;
            const Source s = visit.source(mine, u);
            const u64 stop = smaller(end, shuffle(start, 31));
            for (; at < stop; at += 32 * K) {
                bool has[K];
                offset_t e[K];
                u32 owners[K];
                Source sources[K];
                for (int k = 0; k < K; k++) {
                    const u64 edge_here = at + 32 * k + lane_id();
                    u32 owner = 0;
                    for (u32 step = 16; step; step >>= 1)
                        if (shuffle(start, owner + step) <= edge_here) owner += step;
                    has[k] = edge_here < stop;
                    e[k] = shuffle(base, owner) + (offset_t)edge_here;
                    owners[k] = shuffle(u, owner), sources[k] = from_lane(s, owner);
                }
                visit.template batch<K>(has, e, owners, sources);
            }
            at = stop;
            window += 31;
        }
    }
}

// In a small round of fewer edges than lanes, each lane takes one edge.
template <class V> DEVICE void warp_shares(V& visit, const Work& work, WarpSharesRoom&) {
    const u64 least = 32 * AT_ONCE, each = work.edges / warps() / least * least;
    if (PERSISTENT && work.edges <= 32 * warps()) search_pieces<1>(visit, work, 32);
    else search_pieces<AT_ONCE>(visit, work, PERSISTENT ? smaller(larger(each, least), (u64)WARP_PIECE) : WARP_PIECE);
}
