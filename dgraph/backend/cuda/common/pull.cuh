// Pulls that no schedule was asked for. Every vertex that wants proposals looks back along its edges.

#define ALONE 32

DEVICE Proposal fold_warp(Proposal a) {
    for (u32 mask = 16; mask; mask >>= 1) a = fold(a, from_lane_xor(a, mask));
    return a;
}

// Hubs whose values a block keeps, where it does.
#define HUBS (HUB_BYTES / sizeof(Source))

struct Puller {
    Globals G;
    const u32* bits;
    const Source* hubs = 0;
    mutable i64 seen = 0;

    // The proposal along edge e into v, folded into a; whether its source is active.
    __device__ bool take(offset_t e, u32 v, Proposal& a) const { return take(e, env.in_neighbours[e], v, a); }

    __device__ bool take(offset_t e, u32 u, u32 v, Proposal& a) const {
        if (RECORD) seen++;
        if (!ALL && !(bits[u >> 5] >> (u & 31) & 1)) return false;
        const Source s = hubs && u < HUBS ? hubs[u] : at_source(G, u);
        a = fold(a, propose(G, s, WEIGHTED ? env.in_weights[e] : (weight_t)1, v));
        return true;
    }

    // Edges first … last of v by the whole warp; every lane gets the folded proposal.
    __device__ bool take_together(offset_t first, offset_t last, u32 v, Proposal& a) const {
        Proposal mine = identity();
        bool hit = false;
        for (offset_t at = first; at < last; at += 32) {
            const offset_t e = at + lane_id();
            if (e < last) hit |= take(e, streamed(env.in_neighbours + e), v, mine);
            if (ONCE && ballot(hit)) break;
        }
        a = fold_warp(mine);
        return ballot(hit) != 0;
    }
};

// Vertices that have edges to look back along, 32 a warp: each walks a few of them alone, then the warp walks the rest of the
// long rows together. ``keep(i, v, hit, a)`` by whole warps: whether vertex v of the i-th 32 was proposed to, and what. Of
// vertices behind them ``none(i)``, by one thread.
template <class F, class E> DEVICE void pull_words(const Puller& puller, u64 rows, const F& keep, const E& none) {
    const u64 pulled = smaller(rows, (u64)env.pulled), words = (pulled + 31) / 32;
    for (u64 i = words + thread_rank(); 32 * i < rows; i += threads()) none(i);
    for (u64 i = warp_rank(); i < words; i += warps()) {
        const u32 v = (u32)(32 * i) + lane_id();
        const bool wanted = v < pulled && (SEEN ? !is_seen(v) : !COND || wants(puller.G, v));
        Proposal a = identity();
        bool hit = false, more = wanted;
        const bool heeds = ONCE && !WEIGHTED && env.in_heads;
        if (heeds) { // rows lie far apart, but their first neighbours side by side
            const u32 head = wanted ? env.in_heads[v] : NO_HEAD;
            hit = head != NO_HEAD && puller.take(0, head, v, a);
            more = head != NO_HEAD && !hit;
        }
        offset_t e = more ? env.in_offsets[v] + heeds : 0;
        const offset_t last = more ? env.in_offsets[v + 1] : 0;
        const offset_t alone = last - e > ALONE ? e + ALONE : last;
        for (; e < alone && !(ONCE && hit); e++) hit |= puller.take(e, v, a);
        for (u32 left = ballot(e < last && !(ONCE && hit)); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1;
            Proposal rest;
            const bool more = puller.take_together(shuffle(e, lane), shuffle(last, lane), shuffle(v, lane), rest);
            if (lane == lane_id() && more) a = hit ? fold(a, rest) : rest, hit = true;
        }
        keep(i, v, hit, a);
    }
}

struct AwakeRoom {
    i64 awake[BLOCK / 32], degrees[BLOCK / 32];
};

// How many vertices all threads woke, and their edges: a block each, since all warps come to an end together.
DEVICE void count_awake(i64* slot, i64 awake, i64 degrees, AwakeRoom& room) {
    awake = warp_sum(awake), degrees = warp_sum(degrees);
    if (lane_id() == 0) room.awake[warp_in_block()] = awake, room.degrees[warp_in_block()] = degrees;
    __syncthreads();
    if (warp_in_block()) return;
    const bool mine = lane_id() < BLOCK / 32;
    awake = warp_sum(mine ? room.awake[lane_id()] : 0), degrees = warp_sum(mine ? room.degrees[lane_id()] : 0);
    if (!awake || lane_id()) return;
    count(slot + AWAKE, awake);
    count(slot + EDGE_SUM, degrees);
}

// Who changed is a bit of ``next``.
DEVICE void pull_bits(const Puller& puller, u32* next, i64* slot, AwakeRoom& room) {
    i64 awake = 0, edges = 0;
    pull_words(puller, (u64)env.rows, [&](u64 i, u32 v, bool hit, const Proposal& a) {
        const bool changed = hit && commit(v, a);
        const u32 word = ballot(changed);
        if (lane_id() == 0) {
            next[i] = word;
            if (SEEN && word) env.seen[i] |= word;
        }
        if (changed && (FUSED || v < env.masters)) awake++, edges += (i64)(env.out_offsets[v + 1] - env.out_offsets[v]);
    }, [&](u64 i) { next[i] = 0; });
    if (FUSED) count_awake(slot, awake, edges, room);
}

// Of rows, or of a list of them, those that a pull takes: mirrors begin at ``mirrors``.
struct Stretch {
    u64 first, last;
};

DEVICE Stretch stretch(i64 of, i64 mirrors, i64 count) {
    if (FUSED || of == OF_ALL) return {0, (u64)count};
    if (of == OF_MIRRORS) return {(u64)mirrors, (u64)count};
    return {0, (u64)mirrors};
}

// Rows by their length: chunks of the longest, a warp a long one, a thread a short one; by ``all`` threads, this one the
// ``at``-th. Sums are added in an order that no grid changes, nor whose rows are taken together.
DEVICE void pull_rows(const Puller& puller, i64 of, u64 at, u64 all) {
    const Stretch chunks = stretch(of, env.chunk_mirrors, env.chunk_count);
    for (u64 i = chunks.first + at / 32; i < chunks.last; i += all / 32) {
        const u32 v = env.chunk_rows[i];
        const offset_t first = env.chunk_first[i], last = smaller(first + CHUNK, env.in_offsets[v + 1]);
        Proposal a = identity();
        if (!COND || wants(puller.G, v)) puller.take_together(first, last, v, a);
        if (lane_id() == 0) env.chunk_parts[i] = a;
    }
    const Stretch longs = stretch(of, env.long_mirrors, env.long_count);
    for (u64 i = longs.first + at / 32; i < longs.last; i += all / 32) {
        const u32 v = env.long_rows[i];
        Proposal a;
        if ((!COND || wants(puller.G, v)) && puller.take_together(env.in_offsets[v], env.in_offsets[v + 1], v, a) &&
            lane_id() == 0)
            commit(v, a);
    }
    const Stretch rows = stretch(of, env.masters, env.rows);
    for (u64 v = rows.first + at; v < rows.last; v += all) {
        const offset_t first = env.in_offsets[v], last = env.in_offsets[v + 1];
        if (last - first > SHORT_ROW || first == last || (COND && !wants(puller.G, (u32)v))) continue;
        Proposal a = identity();
        for (offset_t e = first; e < last; e++) puller.take(e, (u32)v, a);
        commit((u32)v, a);
    }
}

// The parts of the longest rows, in order.
DEVICE void join_chunks(const Puller& puller, i64 of) {
    const Stretch chunks = stretch(of, env.chunk_mirrors, env.chunk_count);
    for (u64 i = chunks.first + thread_rank(); i < chunks.last; i += threads()) {
        const u32 v = env.chunk_rows[i];
        if (i > 0 && env.chunk_rows[i - 1] == v) continue;
        Proposal a = env.chunk_parts[i];
        for (u64 j = i + 1; j < chunks.last && env.chunk_rows[j] == v; j++) a = fold(a, env.chunk_parts[j]);
        if (!COND || wants(puller.G, v)) commit(v, a);
    }
}
