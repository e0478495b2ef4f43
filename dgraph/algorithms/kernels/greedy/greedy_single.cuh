// Greedy colouring of a graph on one GPU, without rounds.   [Jones & Plassmann 1993; Alabandi, Powers & Burtscher 2020: ECL-GC]
//
// A vertex takes the smallest colour that no neighbour ahead of it has: of larger degree, then of larger key. It waits until
// all of these have colours, which are read past L1; a colour is written once. First the vertices of long rows, a warp each,
// taken one after the other in the order of priority: a warp waits only for vertices that others took before, so the first
// one never waits. Then all others, whose neighbours with long rows have colours: a thread looks at every n-th vertex, and its
// warp then goes on with those that wait until all have colours. All blocks of that launch must be resident; the first
// uncoloured vertex waits for none.

#define ALONE_EDGES 32 // of a row that a thread colours: one bit each
#define ROW_AT_ONCE 4 // neighbours of a row that a thread colours, loaded at once
#define WINDOW_WORDS 64 // of colours that a warp looks for at a time

struct Env {
    const offset_t* offsets;
    const u32* neighbours;
    const degree_t* degree;
    const original_t* original;
    int* color;
    u32 *waits, *taken; // neighbours ahead of a short row without a colour, by place in the row; colours of the others
    u32* waiting; // vertices of short rows that wait, a list of each warp
    const u32* order; // vertices of long rows by priority
    i64* keys; // that order them within a degree
    u32* next; // number of those that were taken
    const degree_t* most_from; // the largest degree from a tile's first position on; null unless positions ascend in rows
    i64 n, seed, order_count, tile_bits;
};
CONSTANT Env env;

DEVICE i64 key_of(u32 v) { return mixed((i64)env.original[v], env.seed); }

DEVICE bool is_ahead(u32 u, u32 v, degree_t own, degree_t theirs) {
    return theirs > own || (theirs == own && u != v && key_of(u) > key_of(v));
}

KERNEL write_keys(i64) {
    for (u64 i = thread_rank(); i < (u64)env.order_count; i += threads()) env.keys[i] = ~key_of(env.order[i]);
}

KERNEL begin_colors(i64) {
    for (u64 v = thread_rank(); v < ((u64)env.n + 3) / 4 * 4; v += threads()) env.color[v] = v < (u64)env.n ? -1 : 0;
}

struct Neighbour {
    u32 u;
    degree_t degree;
    int color;
    bool ends; // no later position of a row has a degree as large as the row's own
};

// Call ``f(ahead, u, color)`` for a row's neighbours u, by the lanes of a warp, with the colour that u had a step ago. A sorted
// row is read while degrees can be large enough. Neighbours are loaded two steps ahead, and what is read of them one, if their
// step is taken: when the last neighbour that v waits for has its colour, the rest of the row is there.
template <class F> DEVICE void each_ahead(u32 v, const F& f) {
    const u64 last = env.offsets[v + 1];
    const degree_t own = env.degree[v];
    const auto neighbour = [&](u64 e) { return e < last ? env.neighbours[e] : v; };
    const auto read = [&](u32 u) {
        return Neighbour{u, env.degree[u], fresh(env.color + u), env.most_from && env.most_from[u >> env.tile_bits] < own};
    };
    u64 e = env.offsets[v] + lane_id();
    Neighbour now = read(neighbour(e)), then;
    for (u32 next = neighbour(e + 32), after = v;; e += 32) {
        const bool ends = ballot(e < last && now.ends) || e - lane_id() + 32 >= last;
        if (!ends) after = neighbour(e + 64), then = read(next);
        f(e < last && is_ahead(now.u, v, own, now.degree), now.u, now.color);
        if (ends) return;
        now = then, next = after;
    }
}

struct ColorRoom {
    u32 seen[BLOCK / 32][WINDOW_WORDS];
};

// Vertices of long rows. Colours are looked for in windows; few rows need the second.
KERNEL color_long(i64) {
    SHARED(ColorRoom, room);
    u32* seen = room.seen[warp_in_block()];
    for (;;) {
        u32 at = lane_id() == 0 ? atomicAdd(env.next, 1u) : 0;
        at = shuffle(at, 0);
        if (at >= (u64)env.order_count) return;
        const u32 v = env.order[at];
        int found = -1;
        for (int base = 0; found < 0; base += 32 * WINDOW_WORDS) {
            for (u32 i = lane_id(); i < WINDOW_WORDS; i += 32) seen[i] = 0;
            __syncwarp();
            each_ahead(v, [&](bool mine, u32 u, int color) {
                if (!mine) color = 0;
                while (ballot(color < 0)) {
                    if (color < 0) color = fresh(env.color + u);
                    WAIT();
                }
                const u32 bit = (u32)(color - base);
                if (mine && bit < 32 * WINDOW_WORDS && !(fresh(seen + (bit >> 5)) >> (bit & 31) & 1))
                    atomicOr(seen + (bit >> 5), 1u << (bit & 31));
            });
            __syncwarp();
            for (u32 i = 0; i < WINDOW_WORDS && found < 0; i += 32) {
                const u32 word = fresh(seen + i + lane_id()), open = ballot(word != EVERY_LANE);
                const u32 lane = open ? __ffs(open) - 1 : 0, least = shuffle(word, lane);
                if (open) found = base + 32 * (int)(i + lane) + __ffs(~least) - 1;
            }
            __syncwarp();
        }
        if (lane_id() == 0) *(volatile int*)(env.color + v) = found;
    }
}

// Neighbours ahead of v in its short row: a bit each.
DEVICE u32 ahead_in_row(u32 v, offset_t first, offset_t last) {
    const degree_t own = env.degree[v];
    u32 waits = 0;
    for (u32 at = 0; at < last - first; at += ROW_AT_ONCE) {
        u32 u[ROW_AT_ONCE];
        degree_t theirs[ROW_AT_ONCE];
        for (u32 k = 0; k < ROW_AT_ONCE; k++) u[k] = at + k < last - first ? env.neighbours[first + at + k] : v;
        for (u32 k = 0; k < ROW_AT_ONCE; k++) theirs[k] = env.degree[u[k]];
        for (u32 k = 0; k < ROW_AT_ONCE; k++) waits |= (u32)is_ahead(u[k], v, own, theirs[k]) << (at + k);
    }
    return waits;
}

// Note the colours that neighbours of ``waits`` have by now. Returns whether v, which has one if none is left, still waits.
DEVICE bool still_waits(u32 v, offset_t first, u32& waits, u32& taken) {
    for (u32 at = 0; at < ALONE_EDGES && waits >> at; at += ROW_AT_ONCE) {
        int color[ROW_AT_ONCE];
        for (u32 k = 0; k < ROW_AT_ONCE; k++)
            color[k] = waits >> (at + k) & 1 ? fresh(env.color + env.neighbours[first + at + k]) : -1;
        for (u32 k = 0; k < ROW_AT_ONCE; k++) {
            if (color[k] < 0) continue;
            waits &= ~(1u << (at + k));
            if (color[k] < 32) taken |= 1u << color[k];
        }
    }
    if (waits) return true;
    *(volatile int*)(env.color + v) = taken == EVERY_LANE ? 32 : __ffs(~taken) - 1;
    return false;
}

// Vertices of short rows: a thread owns every n-th vertex, and a warp lists those of its own that wait, in their places of
// ``waiting``. Whole warps go from vertex to vertex, so that lanes with rows of different lengths meet again after each.
// All blocks must be resident at once.
KERNEL color_short(i64) {
    const auto place = [](u64 i) { return i / 32 * threads() + 32 * warp_rank() + i % 32; };
    u64 count = 0;
    const auto list = [&](bool waits, u32 v) { // by whole warps
        const u32 all = ballot(waits);
        if (waits) env.waiting[place(count + __popc(all & ((1u << lane_id()) - 1)))] = v;
        count += __popc(all);
    };
    for (u64 i = thread_rank(); i - lane_id() < (u64)env.n; i += threads()) {
        const u32 v = (u32)i;
        const offset_t first = i < (u64)env.n ? env.offsets[v] : 0, last = i < (u64)env.n ? env.offsets[v + 1] : 0;
        const bool mine = i < (u64)env.n && last - first <= ALONE_EDGES;
        u32 waits = mine ? ahead_in_row(v, first, last) : 0, taken = 0;
        bool waiting = mine && still_waits(v, first, waits, taken);
        if (waiting) waiting = still_waits(v, first, waits, taken); // once more before its warp lists it
        if (waiting) env.waits[v] = waits, env.taken[v] = taken;
        list(waiting, v);
    }
    while (count) {
        const u64 all = count;
        count = 0;
        __syncwarp(); // what other lanes have stored
        for (u64 from = lane_id(); from - lane_id() < all; from += 32) {
            const u32 v = from < all ? env.waiting[place(from)] : 0, before = from < all ? env.waits[v] : 0;
            u32 waits = before, taken = from < all ? env.taken[v] : 0;
            const bool waiting = before && still_waits(v, from < all ? env.offsets[v] : 0, waits, taken);
            if (waiting && waits != before) env.waits[v] = waits, env.taken[v] = taken;
            list(waiting, v); // no further than what has been read
        }
        WAIT();
    }
}
