// Most similar vertices by the number of common neighbours, on one GPU that holds the rows of all vertices.
//
// A block of threads takes a vertex, hubs first. Vertices stand by rising degree in windows of SPAN, whose counters lie in
// shared memory. Windows follow from the vertex on, upwards and then downwards, until no degree there admits the k-th
// similarity so far. Rows of neighbours are cut into segments by window: a lane looks the segment of a neighbour up and
// counts short ones alone; a warp counts long ones. Counters that reach the fewest common neighbours that the window's
// smallest degree needs are evaluated, and thread 0 puts them into the list. Blocks share nothing but ``taken``.

struct Env {
    const i64* starts; // of rows by place
    const u32* rows; // places of neighbours
    const u32* order; // vertex at each place
    const u32* widths; // degree at each place
    const i64* firsts; // first segment of each row
    const u32* windows; // of each segment
    const i64* begins; // first entry of each segment
    const u32* mine; // places whose lists are wanted
    u32* best; // (mine, k): vertices by falling similarity, then number
    double* values;
    u64* taken;
    i64 count, n, k, measure;
};
CONSTANT Env env;

#define SPAN (1 << SHIFT)
#define HELD 32 // lists up to this length stand in shared memory
#define SHORT 32

struct SimilarRoom {
    u32 counts[SPAN];
    u32 listed[BLOCK];
    double similar[BLOCK];
    u32 best[HELD];
    double values[HELD];
    u64 number;
    double least;
    u32 last, size;
    i64 filled;
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

// Count the neighbours of a row's entries in a window; true if there are some. All threads of a warp call it.
DEVICE bool count(SimilarRoom& room, const u32* row, i64 degree, i64 window) {
    const u32 begin = (u32)(window << SHIFT);
    bool counted = false;
    for (i64 base = 32 * warp_in_block(); base < degree; base += BLOCK) {
        const i64 i = base + lane_id();
        i64 first = 0, length = 0;
        if (i < degree) {
            const u32 u = row[i];
            const i64 end = env.firsts[u + 1];
            i64 low = env.firsts[u], high = end;
            while (low < high) {
                const i64 middle = (low + high) / 2;
                if ((i64)env.windows[middle] < window) low = middle + 1;
                else high = middle;
            }
            if (low < end && (i64)env.windows[low] == window) first = env.begins[low], length = env.begins[low + 1] - first;
        }
        counted |= length > 0;
        if (length < SHORT)
            for (i64 j = 0; j < length; j++) atomicAdd(room.counts + (env.rows[first + j] - begin), 1u);
        for (u32 others = ballot(length >= SHORT); others; others &= others - 1) {
            const u32 lane = __ffs(others) - 1;
            const i64 from = shuffle(first, lane), end = from + shuffle(length, lane);
            for (i64 j = from + lane_id(); j < end; j += 32) atomicAdd(room.counts + (env.rows[j] - begin), 1u);
        }
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

// Evaluate the counters of a window; all threads of a block.
DEVICE void enter(SimilarRoom& room, u32 v, i64 degree, i64 begin, u32 size, i64 need, u32* best, double* values) {
    for (u32 base = 0; base < size; base += BLOCK) {
        const u32 i = base + threadIdx.x;
        const u32 common = i < size ? room.counts[i] : 0;
        const u32 w = (u32)begin + i;
        bool passes = common >= need && w != v;
        if (passes) {
            const double value = scaled(common, degree, env.widths[w]);
            const u32 vertex = env.order[w];
            passes = room.filled < env.k || value > room.least || (value == room.least && vertex < room.last);
            if (passes) {
                const u32 slot = atomicAdd(&room.size, 1u);
                room.listed[slot] = vertex, room.similar[slot] = value;
            }
        }
        if (!__syncthreads_or(passes)) continue;
        if (threadIdx.x == 0) insert(room, best, values);
        __syncthreads();
    }
}

DEVICE void search(SimilarRoom& room, u64 number) {
    const u32 v = env.mine[number];
    const u32* row = env.rows + env.starts[v];
    const i64 degree = env.widths[v], windows = (env.n + SPAN - 1) >> SHIFT;
    const bool held = env.k <= HELD;
    u32* best = held ? room.best : env.best + number * env.k;
    double* values = held ? room.values : env.values + number * env.k;
    i64 need = 1;
    for (i64 step = 1; step >= -1; step -= 2)
        for (i64 window = ((i64)v >> SHIFT) + (step >> 1); window >= 0 && window < windows; window += step) {
            const i64 begin = window << SHIFT, end = smaller(begin + SPAN, env.n);
            const i64 narrow = env.widths[begin], wide = env.widths[end - 1];
            const double least = room.filled == env.k ? room.least : 0;
            need = needed(need, degree, narrow, least);
            if (step > 0 ? need > degree : wide == 0 || scaled(wide, degree, wide) < least) break;
            if (!__syncthreads_or(count(room, row, degree, window))) continue;
            bool reached = false;
            for (i64 i = threadIdx.x; i < end - begin; i += BLOCK) reached |= room.counts[i] >= need && begin + i != v;
            if (__syncthreads_or(reached)) enter(room, v, degree, begin, (u32)(end - begin), need, best, values);
            for (i64 i = threadIdx.x; i < end - begin; i += BLOCK) room.counts[i] = 0;
            __syncthreads();
        }
    if (held)
        for (i64 i = threadIdx.x; i < room.filled; i += BLOCK) {
            env.best[number * env.k + i] = best[i];
            env.values[number * env.k + i] = values[i];
        }
}

KERNEL most_similar(i64) {
    SHARED(SimilarRoom, room);
    for (u32 i = threadIdx.x; i < SPAN; i += BLOCK) room.counts[i] = 0;
    for (;;) {
        __syncthreads(); // all have read the last list
        if (threadIdx.x == 0) {
            room.number = atomicAdd(env.taken, 1ull);
            room.filled = 0, room.size = 0;
        }
        __syncthreads();
        const u64 number = room.number;
        if (number >= (u64)env.count) return;
        search(room, number);
    }
}
