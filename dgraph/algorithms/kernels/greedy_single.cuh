// Greedy colouring of a graph on one GPU, without rounds.   [Jones & Plassmann 1993; Alabandi, Powers & Burtscher 2020: ECL-GC]
//
// A vertex takes the smallest colour that no neighbour ahead of it has: of larger degree, then of larger key. It waits until
// all of these have colours, which are read past L1; a colour is written once. First the vertices of long rows, a warp each,
// taken one after the other in the order of priority: a warp waits only for vertices that others took before, so the first
// one never waits. Then all others, whose neighbours with long rows have colours: a thread owns every n-th four and
// goes on until these are coloured. All blocks of that launch must be resident; the first uncoloured vertex waits for none.

#define ALONE_EDGES 32 // of a row that a thread colours: one bit each
#define WINDOW_WORDS 64 // of colours that a warp looks for at a time

struct Env {
    const offset_t* offsets;
    const u32* neighbours;
    const degree_t* degree;
    const original_t* original;
    int* color;
    u32 *waits, *taken; // neighbours ahead of a short row without a colour, by place in the row; colours of the others
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

// Call ``f(u)`` with the neighbours ahead of v, by the lanes of a warp. A sorted row is read while degrees can be large enough.
template <class F> DEVICE void each_ahead(u32 v, const F& f) {
    const u64 last = env.offsets[v + 1];
    const degree_t own = env.degree[v];
    for (u64 e = env.offsets[v] + lane_id(); e - lane_id() < last; e += 32) {
        const u32 u = e < last ? env.neighbours[e] : v;
        const degree_t theirs = env.degree[u];
        f(e < last && is_ahead(u, v, own, theirs), u);
        if (env.most_from && ballot(e < last && env.most_from[u >> env.tile_bits] < own)) break;
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
            each_ahead(v, [&](bool mine, u32 u) {
                int color = mine ? fresh(env.color + u) : 0;
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

// Note the colours that neighbours of ``waits`` have by now. Returns whether v, which has one if none is left, still waits.
DEVICE bool still_waits(u32 v, u32& waits, u32& taken) {
    const offset_t first = env.offsets[v];
    for (u32 left = waits; left; left &= left - 1) {
        const u32 at = __ffs(left) - 1;
        const int color = fresh(env.color + env.neighbours[first + at]);
        if (color < 0) continue;
        waits &= ~(1u << at);
        if (color < 32) taken |= 1u << color;
    }
    if (waits) return true;
    *(volatile int*)(env.color + v) = taken == EVERY_LANE ? 32 : __ffs(~taken) - 1;
    return false;
}

// Vertices of short rows: a thread owns every n-th four vertices. All blocks must be resident at once.
KERNEL color_short(i64) {
    const u64 fours = ((u64)env.n + 3) / 4;
    bool again = false;
    for (u64 i = thread_rank(); i < fours; i += threads()) {
        for (u64 v = 4 * i; v < smaller(4 * i + 4, (u64)env.n); v++) {
            const offset_t first = env.offsets[v], last = env.offsets[v + 1];
            if (last - first > ALONE_EDGES) continue;
            const degree_t own = env.degree[v];
            u32 waits = 0, taken = 0;
            for (offset_t e = first; e < last; e++) {
                const u32 u = env.neighbours[e];
                if (is_ahead(u, (u32)v, own, env.degree[u])) waits |= 1u << (e - first);
            }
            if (!still_waits((u32)v, waits, taken)) continue;
            env.waits[v] = waits, env.taken[v] = taken, again = true;
        }
    }
    while (again) {
        WAIT();
        again = false;
        for (u64 i = thread_rank(); i < fours; i += threads()) {
            const Four<int> colors = *(const Four<int>*)(env.color + 4 * i); // only this thread writes them
            for (u32 k = 0; k < 4; k++) {
                if (colors.of[k] >= 0) continue;
                const u64 v = 4 * i + k;
                u32 waits = env.waits[v], taken = env.taken[v];
                const u32 before = waits;
                if (!still_waits((u32)v, waits, taken)) continue;
                if (waits != before) env.waits[v] = waits, env.taken[v] = taken;
                again = true;
            }
        }
    }
}
