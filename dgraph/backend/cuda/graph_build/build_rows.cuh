// Clean-up of drawn rows: sort, merge, weigh and count. Every kernel runs on any grid; no memory order is needed, since
// kernels follow each other on one stream.

// Row of an entry, among ``low .. high``, by binary search.
DEVICE u64 row_of(u64 e, u64 low, u64 high) {
    return last_where(low, high, [&](u64 row) { return env.starts[row] <= e; });
}

// Row of an entry that is near ``low`` or behind many empty rows (rows of mirrors are often empty), by galloping
// search.
DEVICE u64 row_behind(u64 e, u64 low, u64 last) {
    u64 step = 1, high = low + 1;
    while (high < last && env.starts[high] <= e) low = high, high = smaller(low + step, last), step *= 2;
    return row_of(e, low, high);
}

// Call ``take(row, at)`` for the entries ``begin .. end`` of rows ``first .. last``; a thread takes STRETCH consecutive
// ones.
template <class F> DEVICE void walk(u64 first, u64 last, u64 begin, u64 end, F take) {
    for (u64 at = begin + THREAD * STRETCH; at < end; at += THREADS * STRETCH) {
        u64 row = row_of(at, first, last);
        for (u64 e = at; e < smaller(at + STRETCH, end); e++) {
            row = row_behind(e, row, last);
            take(row, e);
        }
    }
}

DEVICE i64 whole_weight(const void* weights, u64 e) {
    return env.weight_bytes == 8 ? ((const i64*)weights)[e] : (i64)((const int*)weights)[e];
}

// Replace degrees by keys in whose order they fall, each with its vertex below; 32 bits hold the degrees.
KERNEL key_degrees(i64) {
    for (u64 v = THREAD; v < env.n; v += THREADS) env.counts[v] = ~env.counts[v] << 32 | v;
}

// Number the vertices in the order of the sorted keys, which become the degrees in that order.
KERNEL renumber(i64) {
    for (u64 lid = THREAD; lid < env.n; lid += THREADS) {
        const u64 key = env.counts[lid], v = (u32)key;
        env.original[lid] = (vertex_id)v;
        env.lids[v] = (u32)lid;
        env.counts[lid] = (u32)~(key >> 32);
    }
}

// Rows of the entries 0, ``to``, 2 · ``to``, …, and their starts.
KERNEL find_rows(i64 pieces) {
    for (u64 i = THREAD; i < (u64)pieces; i += THREADS) {
        const u64 row = row_of(i * env.to, 0, env.row_end);
        env.kept[i] = (u32)row;
        env.keys[i] = env.starts[row];
    }
}

// Starts of rows in 32 bits.
KERNEL narrow(i64) {
    for (u64 row = THREAD; row <= env.row_end; row += THREADS) env.narrowed[row] = (u32)env.starts[row];
}

// Write the row of every entry into ``targets``: the sources of listed rows.
KERNEL list_rows(i64) {
    walk(0, env.row_end, 0, env.end, [=](u64 row, u64 e) { env.targets[e] = (u32)row; });
}

// Load a piece of the entries as keys that sort by row, then by target, then by listed weight where a key has bits for
// it (``packed``; ``least`` is the smallest weight). ``keys[-1]`` is the key before the piece.
KERNEL load(i64) {
    walk(env.row, env.row_end, env.begin, env.end, [=](u64 row, u64 e) {
        const u64 key = row - env.row << 32 | env.targets[e];
        env.keys[e - env.begin] = env.packed ? key << env.packed | (u64)(whole_weight(env.weights, e) - env.least) : key;
    });
}

// Mark the keys to keep, and count those equal to the key before. Loops that are not kept are here only where rows were
// placed as they are listed.
KERNEL choose(i64 keep_parallel) {
    u64 equal = 0, loops = 0;
    for (u64 i = THREAD; i < env.end - env.begin; i += THREADS) {
        const u64 key = env.keys[i] >> env.packed;
        const bool loop = (u32)key == (u32)(env.row + (key >> 32)), dropped = loop && !env.keep_loops;
        const bool again = !dropped && key == env.keys[(i64)i - 1] >> env.packed;
        env.kept[i] = !dropped && (!again || keep_parallel);
        equal += again;
        loops += again && loop;
    }
    if (equal) atomicAdd(env.counters + EQUAL, equal);
    if (loops) atomicAdd(env.counters + EQUAL_LOOPS, loops);
}

// Move targets and listed weights to their places, from the inclusive prefix sums in ``kept``. A place is never behind
// the entry it is read from, so this works in place. ``moved``: the piece's weights in the order of its keys.
KERNEL store(i64) {
    for (u64 i = THREAD; i < env.end - env.begin; i += THREADS) {
        const u32 before = i ? env.kept[i - 1] : 0;
        if (env.kept[i] == before) continue;
        const u64 key = env.keys[i], e = env.to + before;
        env.targets[e] = (u32)(key >> env.packed);
        if (env.moved) copy_weight(env.moved, i, env.weights, e);
        else if (env.packed) {
            const i64 weight = env.least + (i64)(key & (1ull << env.packed) - 1);
            if (env.weight_bytes == 8) ((i64*)env.weights)[e] = weight;
            else ((int*)env.weights)[e] = (int)weight;
        }
    }
}

// Set the rows' new starts.
KERNEL shift(i64) {
    for (u64 row = env.row + THREAD; row < env.row_end; row += THREADS) {
        const u64 at = env.starts[row] - env.begin;
        env.starts[row] = env.to + (at ? env.kept[at - 1] : 0);
    }
}

// Count the longest row, empty rows and self-loops, and mark vertices with an arc.
KERNEL survey(i64) {
    u64 most = 0, loops = 0, empty = 0;
    for (u64 row = THREAD; row < env.row_end; row += THREADS) {
        const u64 length = env.starts[row + 1] - env.starts[row];
        most = larger(most, length);
        empty += !length;
        if (length && env.touched) set_bit(env.touched, row);
    }
    if (env.touched || env.keep_loops)
        walk(0, env.row_end, 0, env.end, [&](u64 row, u64 e) {
            const u32 target = env.targets[e];
            loops += target == row;
            if (env.touched) set_bit(env.touched, target);
        });
    if (most) atomicMax(env.counters + MOST, most);
    if (loops) atomicAdd(env.counters + KEPT_LOOPS, loops);
    if (empty) atomicAdd(env.counters + EMPTY, empty);
}

// gid of a row; the row itself if all vertices are here in order.
DEVICE u64 gid_of(u64 row) { return env.original ? (u64)env.original[row] : row; }

// Compute the weight of every arc.
KERNEL weigh(i64) {
    walk(0, env.row_end, 0, env.end, [=](u64 row, u64 e) {
        const u64 u = gid_of(row), v = gid_of(env.targets[e]);
        i64 whole;
        if (env.rule == RULE_REALS) weight_of(u, v, ((double*)env.weights)[e]);
        else if (env.weight_bytes == 8) weight_of(u, v, ((i64*)env.weights)[e]);
        else weight_of(u, v, whole), ((int*)env.weights)[e] = (int)whole;
    });
}

DEVICE u64 hash_of(u64 u, u64 v, u64 weight) { return mix(mix(mix(0x9e3779b97f4a7c15ull + u) + v) + weight); }

// Bits of a weight, as in graph/build/fingerprint.py; null: every weight is 1.
DEVICE u64 weight_bits(const void* weights, u64 e) {
    if (!weights) return 1;
    if (env.rule != RULE_REALS) return (u64)whole_weight(weights, e);
    return bits_of((env.weight_bytes == 4 ? (double)((const float*)weights)[e] : ((const double*)weights)[e]) + 0.0);
}

// Sums over arcs, and over their reverses where they are asked for, of graph/build/fingerprint.py.
KERNEL hash(i64 reverses) {
    u64 sum = 0, back = 0;
    walk(0, env.row_end, 0, env.end, [&](u64 row, u64 e) {
        const u64 u = gid_of(row), v = gid_of(env.targets[e]);
        const u64 weight = weight_bits(env.weights, e);
        sum += hash_of(u, v, weight);
        if (reverses) back += hash_of(v, u, weight);
    });
    atomicAdd(env.counters + HASH, sum);
    if (reverses) atomicAdd(env.counters + HASH_BACK, back);
}
