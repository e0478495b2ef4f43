// Triangles of an undirected graph on a GPU. Each edge leads to its end of lower place, where degrees are higher, so each
// triangle u > w > v is found once, in the row of u. Every pair of a row is a wedge, which an arc w -> v closes. Places
// are positions of a whole graph; the part of one of several ranks has an array of places in the order of all vertices.
// [Spaan et al., Euro-Par 2025: a bitmap of the arcs between the vertices of highest degree answers most wedges]

struct Env {
    const offset_t* offsets;
    const u32* neighbours;
    const u32* place; // of each position; null: positions are places
    i64 vertices;
    i64* starts; // lengths of oriented rows behind a 0, then their prefix sums
    u32* degrees; // distinct neighbours
    u32* targets;
    u32* bitmap;
    i64 hubs;
    i64* counts;
    u64* taken;
    double* shares;
    i64 sorted; // positions ascend in rows, and are places
    u64 part, parts; // number of this GPU among those with the same rows, which share them out, and number of them
};
CONSTANT Env env;

// True for an arc of u to another vertex, once where arcs are parallel.
DEVICE bool counts_once(u64 u, u64 first, u64 e) {
    const u32 v = env.neighbours[e];
    return v != u && (e == first || env.neighbours[e - 1] != v);
}

DEVICE u32 place_of(u32 position) { return env.place ? env.place[position] : position; }

// Arcs to lower places, and distinct neighbours; by warps, whose lanes have many loads in flight.
KERNEL count_lower(i64) {
    for (u64 u = warp_rank(); u < (u64)env.vertices; u += warps()) {
        const u64 first = env.offsets[u], end = env.offsets[u + 1];
        const u32 here = place_of((u32)u);
        u32 lower = 0, distinct = 0;
        for (u64 e = first + lane_id(); e < end; e += 32) {
            const bool once = counts_once(u, first, e);
            distinct += once, lower += once && place_of(env.neighbours[e]) < here;
        }
        lower = warp_sum(lower), distinct = warp_sum(distinct);
        if (lane_id() == 0) env.starts[u + 1] = lower, env.degrees[u] = distinct;
    }
}

KERNEL fill_lower(i64) {
    for (u64 u = warp_rank(); u < (u64)env.vertices; u += warps()) {
        const u64 first = env.offsets[u], end = env.offsets[u + 1];
        const u32 here = place_of((u32)u);
        u32* row = env.targets + env.starts[u];
        for (u64 from = first; from < end; from += 32) {
            const u64 e = from + lane_id();
            const u32 v = e < end ? place_of(env.neighbours[e]) : here;
            const bool mine = v < here && counts_once(u, first, e);
            const u32 all = ballot(mine);
            if (mine) row[__popc(all & ((1u << lane_id()) - 1))] = v;
            row += __popc(all);
            if (env.sorted && ballot(v > here)) break; // so are all others
        }
    }
}

// Word of the bitmap with the bit of an arc w -> v, v < w < 2**18: each of the i-th 32 rows takes i + 1 words.
DEVICE u32 hub_word(u32 w, u32 v) { return ((w >> 5) + 1) * (w - 16 * (w >> 5)) + (v >> 5); }

// Set the bits of the arcs between hubs; a block has a row.
KERNEL mark_hubs(i64) {
    for (u64 u = blockIdx.x; u < (u64)env.hubs; u += gridDim.x)
        for (i64 e = env.starts[u] + threadIdx.x; e < env.starts[u + 1]; e += BLOCK) {
            const u32 v = env.targets[e];
            atomicOr(env.bitmap + hub_word((u32)u, v), 1u << (v & 31));
        }
}

// True if the arc w -> v is there; v < w. Rows of vertices beyond the hubs are shorter than the pieces that are sorted.
DEVICE bool joined(u32 w, u32 v) {
    const u32* row = env.targets + env.starts[w];
    const u32 length = (u32)(env.starts[w + 1] - env.starts[w]);
    const u32 place = first_where(0u, length, [&](u32 i) { return row[i] >= v; });
    return place < length && row[place] == v;
}

// Triangles at the first targets of a warp's row, which are in most rows: a lane has every 32nd, and adds them up at the end.
#define ROW_HELD 512
struct CountRoom {
    u32 held[BLOCK / 32][ROW_HELD];
};

// The first rows, mostly the longest, are taken one at a time, the others ROWS_AT_ONCE.
#define ROWS_ALONE 65536
#define ROWS_AT_ONCE 16

// Rows by whole warps, long ones first: a lane takes a v, all lanes the same w at a time.
KERNEL count_triangles(i64) {
    SHARED(CountRoom, room);
    u32* held = room.held[warp_in_block()];
    u64 u = 0, end = 0;
    for (;; u++) {
        if (u >= end) {
            u64 next = lane_id() == 0 ? atomicAdd(env.taken, 1ull) : 0;
            next = shuffle(next, 0) * env.parts + env.part;
            u = next < ROWS_ALONE ? next : ROWS_ALONE + (next - ROWS_ALONE) * ROWS_AT_ONCE;
            end = next < ROWS_ALONE ? u + 1 : u + ROWS_AT_ONCE;
        }
        if (u >= (u64)env.vertices) return;
        const i64 first = env.starts[u];
        const u32 length = (u32)(env.starts[u + 1] - first);
        if (length < 2) continue;
        const u32* row = env.targets + first;
        const auto count = [&](u32 at, u32 vertex, u32 triangles) {
            if (at < ROW_HELD) held[at] += triangles;
            else if (triangles) add(env.counts + vertex, triangles);
        };
        for (u32 at = lane_id(); at < smaller(length, (u32)ROW_HELD); at += 32) held[at] = 0;
        i64 here = 0;
        for (u32 i = 0; i < length; i += 32) {
            const u32 at = i + lane_id();
            const u32 v = at < length ? row[at] : 0;
            u32 found = 0;
            for (u32 j = i; j < length; j += 32) {
                const u32 own = j + lane_id() < length ? row[j + lane_id()] : 0;
                const u32 most = smaller(32u, length - j);
                u32 closed = 0;
                for (u32 k = 0; k < most; k++) {
                    const u32 w = shuffle(own, k), high = larger(v, w), low = smaller(v, w);
                    bool hit = at < j + k;
                    if (hit && high < (u32)env.hubs) hit = env.bitmap[hub_word(high, low)] >> (low & 31) & 1;
                    else if (hit) hit = joined(high, low);
                    const u32 all = ballot(hit);
                    found += hit;
                    if (lane_id() == k) closed = __popc(all);
                }
                if (j + lane_id() < length) count(j + lane_id(), own, closed);
            }
            if (at < length) count(at, v, found);
            here += found;
        }
        for (u32 at = lane_id(); at < smaller(length, (u32)ROW_HELD); at += 32)
            if (held[at]) add(env.counts + row[at], held[at]);
        here = warp_sum(here);
        if (lane_id() == 0 && here) add(env.counts + u, here);
    }
}

// Share of pairs of neighbours that are joined; 0 with less than two neighbours.
KERNEL write_shares(i64) {
    for (u64 v = thread_rank(); v < (u64)env.vertices; v += threads()) {
        const i64 degree = env.degrees[v], pairs = degree * (degree - 1);
        env.shares[v] = pairs > 0 ? 2.0 * (double)env.counts[v] / (double)pairs : 0.0;
    }
}
