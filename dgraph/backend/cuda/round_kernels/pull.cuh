// Pulls that no schedule was asked for. Every vertex that wants proposals pulls back along its edges.

#define LANE_EDGES 32

// Whether nothing farther on in the row matters: of neighbours in ascending order the first has the smallest id.
DEVICE bool is_final(const Proposal& a) { return SMALLEST == FIRST_IS_SMALLEST && !is_identity(a); }

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
    bool distinct = false; // for MODE: the keys of a row all differ

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
            if ((ONCE && ballot(hit)) || (SMALLEST == FIRST_IS_SMALLEST && ballot(is_final(mine)))) break;
        }
        a = fold_warp(mine);
        return ballot(hit) != 0;
    }
};

// Who pulls back, before ``end``: each of ``many`` lanes has a word of vertices, the first lane's is the ``first``-th.
DEVICE u32 pulling_bits(const Puller& puller, u64 first, u32 many, u64 end) {
    const u64 i = first + lane_id();
    const u32 inside = lane_id() < many ? bits_before(i, end) : 0;
    const u32 able = inside && env.in_nonempty ? inside & env.in_nonempty[i] : inside;
    if (SEEN) return able ? able & ~LOAD(env.seen + i) : 0;
    u32 own = 0;
    for (u32 k = 0; k < many; k++) {
        const u32 v = (u32)(32 * (first + k)) + lane_id(), all = shuffle(able, k);
        const u32 word = ballot(all >> lane_id() & 1 && wants(puller.G, v));
        if (lane_id() == k) own = word;
    }
    return own;
}

// Words of vertices that a warp takes at a time, if each warp then has some turns.
#define PULLED_WORDS 32
#define PULLED_TURNS 4

// Vertices of a word that look, of those words where some do, from which on lanes take those of one word.
#define DENSE_WORD 24

// All bits of the lanes' words, by whole warps: ``f(lane, bit, pulls, dense)`` of one word's, which stand side by side, or,
// where words have few, of several words'.
template <class F> DEVICE void each_pulling(u32 own, const F& f) {
    const u32 some = ballot(own != 0), through = sum_up_to_lane((u32)__popc(own)), all = shuffle(through, 31);
    const bool dense = all > DENSE_WORD * __popc(some);
    for (u32 done = 0, left = some; dense ? left != 0 : done < all; done += 32, left &= left - 1) {
        const u32 at = done + lane_id(), lane = dense ? __ffs(left) - 1 : lane_past(through, at);
        const u32 word = shuffle(own, lane);
        const u32 bit = dense ? lane_id() : nth_bit(word, at - shuffle(through, lane) + __popc(word));
        f(lane, bit, dense ? word >> bit & 1 : at < all, dense);
    }
}

// Each lane walks a few edges of its vertex alone, then the warp walks the rest of the long rows together. Whether this
// lane's was proposed to, and what. ``after``: how many of its first edges were looked at.
DEVICE bool scan_in_edges(const Puller& puller, bool pulls, u32 v, u32 after, Proposal& a) {
    a = identity();
    bool hit = false;
    const offset_t last = pulls ? env.in_offsets[v + 1] : 0;
    offset_t e = pulls ? smaller(env.in_offsets[v] + after, last) : 0;
    const offset_t alone = last - e > LANE_EDGES ? e + LANE_EDGES : last;
    for (; e < alone && !(ONCE && hit); e++) hit |= puller.take(e, v, a);
    for (u32 left = ballot(e < last && !(ONCE && hit)); left; left &= left - 1) {
        const u32 lane = __ffs(left) - 1;
        Proposal rest;
        const bool more = puller.take_together(shuffle(e, lane), shuffle(last, lane), shuffle(v, lane), rest);
        if (lane == lane_id() && more) a = hit ? fold(a, rest) : rest, hit = true;
    }
    return hit;
}

struct PullRoom {
    u32 found[BLOCK / 32][32];
};

// ``pull_words`` where the first hit is the end.
template <class F, class E>
DEVICE void pull_first_hits(const Puller& puller, PullRoom& room, u64 pulled, const F& found, const E& keep) {
    const u64 words = (pulled + 31) / 32;
    const bool use_heads = !WEIGHTED && env.in_heads;
    u32* kept = room.found[warp_in_block()];
    u32 many = 1;
    while (many < PULLED_WORDS && 2 * PULLED_TURNS * many * warps() <= words) many *= 2;
    for (u64 first = warp_rank() * many; first < words; first += warps() * many) {
        const auto mark = [&](u32 lane, u32 bit, bool dense, bool hit) {
            const u32 hits = ballot(hit);
            if (dense && lane_id() == 0) kept[lane] |= hits;
            if (!dense && hit) atomicOr(kept + lane, 1u << bit);
        };
        kept[lane_id()] = 0;
        __syncwarp();
        u32 rest = pulling_bits(puller, first, many, pulled);
        if (use_heads) { // rows lie far apart, but their first neighbours side by side
            each_pulling(rest, [&](u32 lane, u32 bit, bool pulls, bool dense) {
                const u32 v = (u32)(32 * (first + lane)) + bit, head = pulls ? env.in_heads[v] : NO_HEAD;
                Proposal a = identity();
                mark(lane, bit, dense, head != NO_HEAD && puller.take(0, head, v, a) && found(v, a));
            });
            __syncwarp();
            rest &= rest ? ~kept[lane_id()] & env.in_multiple[first + lane_id()] : 0;
        }
        each_pulling(rest, [&](u32 lane, u32 bit, bool pulls, bool dense) {
            const u32 v = (u32)(32 * (first + lane)) + bit;
            Proposal a;
            mark(lane, bit, dense, scan_in_edges(puller, pulls, v, use_heads, a) && found(v, a));
        });
        __syncwarp();
        if (lane_id() < many && first + lane_id() < words) keep(first + lane_id(), kept[lane_id()]);
        __syncwarp();
    }
}

// ``pull_words`` elsewhere: all look to the ends of their rows, and those of one word have most in common.
template <class F, class E> DEVICE void pull_whole_rows(const Puller& puller, u64 pulled, const F& found, const E& keep) {
    for (u64 i = warp_rank(); 32 * i < pulled; i += warps()) {
        const u32 v = (u32)(32 * i) + lane_id();
        const bool able = v < pulled && (!env.in_nonempty || env.in_nonempty[i] >> lane_id() & 1);
        Proposal a;
        const bool hit = scan_in_edges(puller, able && wants(puller.G, v), v, 0, a);
        const u32 word = ballot(hit && found(v, a));
        if (lane_id() == 0) keep(i, word);
    }
}

// Vertices that have edges to look back along. ``found(v, a)`` by one lane: whether vertex v, which was proposed to, is
// kept; ``keep(i, word)`` by one lane: who of the i-th 32 is.
template <class F, class E>
DEVICE void pull_words(const Puller& puller, PullRoom& room, u64 rows, const F& found, const E& keep) {
    const u64 pulled = smaller(rows, (u64)env.pulled);
    for (u64 i = (pulled + 31) / 32 + thread_rank(); 32 * i < rows; i += threads()) keep(i, 0);
    if (ONCE) pull_first_hits(puller, room, pulled, found, keep);
    else pull_whole_rows(puller, pulled, found, keep);
}

// Edges that leave a master in the whole graph.
DEVICE i64 degree_of(u32 v) { return v < env.leaving ? (i64)env.degree[v] : 0; }

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

struct PullBitsRoom : PullRoom, AwakeRoom {};

// Who changed is a bit of ``next``.
DEVICE void pull_bits(const Puller& puller, u32* next, i64* slot, PullBitsRoom& room) {
    i64 awake = 0, edges = 0;
    pull_words(puller, room, (u64)env.rows, [&](u32 v, const Proposal& a) {
        if (SEEN) put(v, a); // who pulls has none
        else if (!commit(v, a)) return false;
        if (FUSED) awake++, edges += degree_of(v);
        return true;
    }, [&](u64 i, u32 word) {
        next[i] = word;
        if (SEEN && word) env.seen[i] |= word;
    });
    if (FUSED) count_awake(slot, awake, edges, room);
}

// Of rows, or of a list of them, those that a pull takes: mirrors begin at ``mirrors``.
struct RowRange {
    u64 first, last;
};

DEVICE RowRange row_range(i64 of, i64 mirrors, i64 count) {
    if (FUSED || of == OF_ALL) return {0, (u64)count};
    if (of == OF_MIRRORS) return {(u64)mirrors, (u64)count};
    return {0, (u64)mirrors};
}

// Whether v still looks for a proposal: one of the neighbours that have been tested may have been the right one.
DEVICE bool is_looking(const Globals& G, u32 v) { return wants(G, v) && !(SMALLEST && env.id_heads && is_set(v)); }

// Where the smallest id wins: the neighbours of smallest ids, in their order, so that the first that proposes is the one.
DEVICE void test_id_heads(const Puller& puller) {
    const u64 rows = (u64)env.rows;
    for (u64 v = thread_rank(); v < rows; v += threads()) {
        if (!is_looking(puller.G, (u32)v)) continue;
        Proposal a = identity();
        for (int k = 0; k < ID_HEADS && is_identity(a); k++) {
            const u32 u = env.id_heads[k * rows + v];
            if (u == NO_HEAD) break;
            puller.take(0, u, (u32)v, a);
        }
        commit((u32)v, a);
    }
}

// Rows by their length: chunks of the longest, a warp a long one, a thread a short one; by ``all`` threads, this one the
// ``at``-th. Sums are added in an order that no grid changes, nor whose rows are taken together.
DEVICE void pull_rows(const Puller& puller, i64 of, u64 at, u64 all) {
    const RowRange chunks = row_range(of, env.chunk_mirrors, env.chunk_count);
    for (u64 i = chunks.first + at / 32; i < chunks.last; i += all / 32) {
        const u32 v = env.chunk_rows[i];
        const offset_t first = env.chunk_first[i], last = smaller(first + CHUNK, env.in_offsets[v + 1]);
        Proposal a = identity();
        if (is_looking(puller.G, v)) puller.take_together(first, last, v, a);
        if (lane_id() == 0) env.chunk_parts[i] = a;
    }
    const RowRange longs = row_range(of, env.long_mirrors, env.long_count);
    for (u64 i = longs.first + at / 32; i < longs.last; i += all / 32) {
        const u32 v = env.long_rows[i];
        Proposal a;
        if (is_looking(puller.G, v) && puller.take_together(env.in_offsets[v], env.in_offsets[v + 1], v, a) &&
            lane_id() == 0)
            commit(v, a);
    }
    const RowRange rows = row_range(of, env.masters, env.rows);
    for (u64 v = rows.first + at; v < rows.last; v += all) {
        const offset_t first = env.in_offsets[v], last = env.in_offsets[v + 1];
        if (last - first > SHORT_ROW || first == last || !is_looking(puller.G, (u32)v)) continue;
        Proposal a = identity();
        for (offset_t e = first; e < last && !is_final(a); e++) puller.take(e, (u32)v, a);
        commit((u32)v, a);
    }
}

// The parts of the longest rows, in order.
DEVICE void join_chunks(const Puller& puller, i64 of) {
    const RowRange chunks = row_range(of, env.chunk_mirrors, env.chunk_count);
    for (u64 i = chunks.first + thread_rank(); i < chunks.last; i += threads()) {
        const u32 v = env.chunk_rows[i];
        if (i > 0 && env.chunk_rows[i - 1] == v) continue;
        Proposal a = env.chunk_parts[i];
        for (u64 j = i + 1; j < chunks.last && env.chunk_rows[j] == v; j++) a = fold(a, env.chunk_parts[j]);
        if (wants(puller.G, v)) commit(v, a);
    }
}
