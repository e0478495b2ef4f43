// Most similar vertices by the number of common neighbours, on one GPU that holds the rows of all vertices.
//
// A block of threads takes a vertex, hubs first. Vertices stand by rising degree in windows of SPAN. Shared memory has a
// word for each place of a window, of 1, 2, 4 or 8 counters: windows that are counted at once, as many as counters of the
// vertex's degree fit a word. Windows follow from the first vertex of the same degree on, upwards and then downwards, until
// no degree there admits the k-th similarity so far. Rows of neighbours are cut into segments by window: a thread looks the
// segments of a neighbour up; the lanes of a warp share the entries of short ones, the block those of long ones. Counters
// that reach the fewest common neighbours that their window's smallest degree needs are evaluated, and thread 0 puts them
// into the list. Blocks share nothing but ``taken``.

struct Env {
    const i64* starts; // of rows by place
    const u32* rows; // places of neighbours
    const u32* order; // vertex at each place
    const u32* widths; // degree at each place
    const i64* firsts; // first segment of each row
    const u32* windows; // of each segment
    const i64* begins; // first entry of each segment
    u32* best; // (n, k): vertices by falling similarity, then number
    double* values;
    u64* taken;
    i64 alone, n, k, measure; // ``alone``: vertices of no edge, which stand first
};
CONSTANT Env env;

#define SPAN (1 << SHIFT)
#define HELD 32 // lists up to this length stand in shared memory
#define AHEAD 4 // entries that a thread reads before it counts them: reads do not pass atomics
#define LONG (SPAN / 64 + 2) // entries from which a block counts segments together

struct SimilarRoom {
    u32 counts[SPAN];
    union {
        i64 firsts[BLOCK]; // of long segments
        double similar[BLOCK];
    };
    union {
        u32 lengths[BLOCK];
        u32 listed[BLOCK];
    };
    u32 best[HELD];
    double values[HELD];
    u64 number;
    double least;
    u32 last, size, segments;
    i64 filled;
};

// Windows from ``first`` on that are counted at once, in counters of ``bits``.
struct Windows {
    i64 first;
    u32 count, bits;
    u32 lacks; // of each counter, what its needed number lacks of the highest bit
};

DEVICE double scaled(i64 common, i64 one, i64 two) {
    const double total = (double)common;
    if (env.measure == 0) return total / ((double)(one + two) - total);
    if (env.measure == 1) return total / (double)smaller(one, two);
    if (env.measure == 2) return 2 * total / (double)(one + two);
    return total / sqrt((double)one * (double)two);
}

// Fewest common neighbours, from 1 to ``degree`` + 1, that reach a similarity; near ``need``.
DEVICE i64 needed(i64 need, i64 degree, i64 width, double least) {
    while (need > 1 && scaled(need - 1, degree, width) >= least) need--;
    while (need <= degree && scaled(need, degree, width) < least) need++;
    return need;
}

// The first segment of vertex u's row in a window or after it. Rows of hubs have segments in most windows.
DEVICE i64 segment_from(u32 u, i64 window) {
    const i64 low = env.firsts[u];
    i64 high = env.firsts[u + 1];
    const i64 after = low < high ? window - (i64)env.windows[low] : 0;
    if (after <= 0) return low;
    if (low + after < high) {
        high = low + after;
        if ((i64)env.windows[high] == window) return high;
    }
    return first_where(low, high, [&](i64 segment) { return (i64)env.windows[segment] >= window; });
}

// Count the vertices at the places that each lane read, of which ``valid`` has bits.
DEVICE void add(SimilarRoom& room, const Windows& windows, const u32* places, u32 valid) {
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++) {
        const u32 place = places[i] - (u32)(windows.first << SHIFT);
        if (valid >> i & 1) atomicAdd(room.counts + (place & (SPAN - 1)), 1u << windows.bits * (place >> SHIFT));
    }
}

// Count the neighbours of a row's entries in windows; return true if there are some. All threads of a block call it.
DEVICE bool count(SimilarRoom& room, const u32* row, i64 degree, const Windows& windows) {
    bool counted = false;
    for (i64 base = 0; base < degree; base += BLOCK) {
        i64 first = 0;
        u32 length = 0;
        const i64 i = base + lane_id() * (BLOCK / 32) + warp_in_block(); // few neighbours have all warps
        if (i < degree) {
            const u32 u = row[i];
            first = env.begins[segment_from(u, windows.first)];
            length = (u32)(env.begins[segment_from(u, windows.first + windows.count)] - first);
        }
        counted |= length > 0;
        const bool together = length >= LONG;
        if (together) {
            const u32 slot = atomicAdd(&room.segments, 1u);
            room.firsts[slot] = first, room.lengths[slot] = length;
            length = 0;
        }
        const u32 through = sum_up_to_lane(length), entries = shuffle(through, 31);
        for (u32 begin = 0; begin < entries; begin += 32 * AHEAD) {
            u32 places[AHEAD] = {}, valid = 0;
#pragma unroll
            for (u32 i = 0; i < AHEAD; i++) {
                if (begin + 32 * i >= entries) break;
                const u32 entry = begin + 32 * i + lane_id();
                const i64 before = shuffle(first - (i64)(through - length), lane_past(through, entry));
                if (entry < entries) places[i] = env.rows[before + entry], valid |= 1u << i;
            }
            add(room, windows, places, valid);
        }
        if (!__syncthreads_or(together)) continue;
        for (u32 slot = 0; slot < room.segments; slot++) {
            const u32* segment = env.rows + room.firsts[slot];
            for (u32 j = threadIdx.x, size = room.lengths[slot]; j < size; j += BLOCK * AHEAD) {
                u32 places[AHEAD] = {}, valid = 0;
#pragma unroll
                for (u32 i = 0; i < AHEAD; i++)
                    if (j + i * BLOCK < size) places[i] = segment[j + i * BLOCK], valid |= 1u << i;
                add(room, windows, places, valid);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) room.segments = 0;
        __syncthreads();
    }
    return counted;
}

// Put the listed vertices into the list; thread 0.
DEVICE void insert(SimilarRoom& room, u32* best, double* values) {
    i64 filled = room.filled;
    for (u32 i = 0; i < room.size; i++) {
        const u32 w = room.listed[i];
        const double value = room.similar[i];
        i64 place = filled;
        while (place && (values[place - 1] < value || (values[place - 1] == value && best[place - 1] > w))) place--;
        if (place == env.k) continue;
        filled = smaller(filled + 1, env.k);
        for (i64 j = filled - 1; j > place; j--) best[j] = best[j - 1], values[j] = values[j - 1];
        best[place] = w, values[place] = value;
    }
    room.filled = filled, room.size = 0;
    if (filled == env.k) room.least = values[filled - 1], room.last = best[filled - 1];
}

// Evaluate the counters of windows and clear them; all threads of a block.
DEVICE void enter(SimilarRoom& room, u32 v, i64 degree, const Windows& windows, u32* best, double* values) {
    const u32 most = (u32)((1ull << windows.bits) - 1), highest = (u32)(0xffffffffull / most) << (windows.bits - 1);
    u32 i = threadIdx.x, at = 0, word = 0, reached = 0;
    for (;;) {
        bool passes = false;
        while (!passes && (reached || i < SPAN)) {
            if (!reached) {
                at = i, word = room.counts[i], reached = word + windows.lacks & highest;
                room.counts[i] = 0, i += BLOCK;
                continue;
            }
            const u32 counter = (__ffs(reached) - 1) / windows.bits;
            reached &= reached - 1;
            const u32 w = ((u32)windows.first + counter << SHIFT) + at;
            if (w == v) continue;
            const double value = scaled(word >> windows.bits * counter & most, degree, env.widths[w]);
            const u32 vertex = env.order[w];
            passes = room.filled < env.k || value > room.least || (value == room.least && vertex < room.last);
            if (passes) {
                const u32 slot = atomicAdd(&room.size, 1u);
                room.listed[slot] = vertex, room.similar[slot] = value;
            }
        }
        if (!__syncthreads_or(passes)) return;
        if (threadIdx.x == 0) insert(room, best, values);
        __syncthreads();
    }
}

// Set the windows that follow ``next``, up to ``most``, and move it behind them; false if no degree there admits the list.
DEVICE bool follow(const SimilarRoom& room, Windows& windows, i64& next, i64 step, u32 most, i64 degree, i64& need) {
    const double least = room.filled == env.k ? room.least : 0;
    const u32 half = 1u << (windows.bits - 1);
    windows.count = windows.lacks = 0;
    while (windows.count < most && next >= 0 && next << SHIFT < env.n) {
        const i64 begin = next << SHIFT, end = smaller(begin + SPAN, env.n);
        const i64 narrow = env.widths[begin], wide = env.widths[end - 1];
        need = needed(need, degree, narrow, least);
        if (step > 0 ? need > degree : wide == 0 || scaled(wide, degree, wide) < least) break;
        // Of one degree, vertices of larger numbers than the last of the list must exceed its similarity.
        const bool exceeds = least > 0 && narrow == wide && env.order[begin] > room.last;
        const i64 fewest = need + (exceeds && scaled(need, degree, narrow) <= least);
        const u32 lack = half - (u32)smaller(fewest, (i64)half);
        windows.lacks = step > 0 ? windows.lacks | lack << windows.bits * windows.count
                                 : (windows.count ? windows.lacks << windows.bits : 0) | lack;
        windows.count++, next += step;
    }
    windows.first = step > 0 ? next - windows.count : next + 1;
    return windows.count > 0;
}

DEVICE void search(SimilarRoom& room, u32 v) {
    const u32* row = env.rows + env.starts[v];
    const i64 degree = env.widths[v];
    const u32 vertex = env.order[v], packed = degree < 8 ? 8 : degree < 128 ? 4 : degree < 32768 ? 2 : 1;
    const bool held = env.k <= HELD;
    u32* best = held ? room.best : env.best + vertex * env.k;
    double* values = held ? room.values : env.values + vertex * env.k;
    Windows windows;
    windows.bits = 32 / packed;
    i64 first = v >> SHIFT, need = 1;
    while (first && env.widths[(first << SHIFT) - 1] == degree) first--;
    for (i64 step = 1; step >= -1; step -= 2) {
        i64 next = step > 0 ? first : first - 1;
        for (u32 most = 1; follow(room, windows, next, step, most, degree, need); most = smaller(2 * most, packed))
            if (__syncthreads_or(count(room, row, degree, windows))) enter(room, v, degree, windows, best, values);
    }
    if (held)
        for (i64 i = threadIdx.x; i < room.filled; i += BLOCK) {
            env.best[vertex * env.k + i] = best[i];
            env.values[vertex * env.k + i] = values[i];
        }
}

KERNEL most_similar(i64) {
    SHARED(SimilarRoom, room);
    for (u32 i = threadIdx.x; i < SPAN; i += BLOCK) room.counts[i] = 0;
    if (threadIdx.x == 0) room.segments = 0;
    for (;;) {
        __syncthreads(); // all have read the last list
        if (threadIdx.x == 0) {
            room.number = atomicAdd(env.taken, 1ull);
            room.filled = 0, room.size = 0;
        }
        __syncthreads();
        const u64 number = room.number;
        if (number >= (u64)(env.n - env.alone)) return;
        search(room, (u32)(env.n - 1 - number));
    }
}
