// In-edges from out-edges, ``count`` of them at a time from ``first`` on. Every kernel runs on any grid, and a thread
// takes every n-th entry; no memory order is needed, since kernels follow each other on one stream. Of the entries that
// enter a vertex, those of earlier pieces come first, then those of this piece in their order.

struct Env {
    const void* offsets; // of out-edges; 64-bit if ``wide``
    const u32* neighbours;
    i64 rows, wide, first, count;
    const i64* order; // stable order of the piece's entries by target
    u32* targets;     // in that order
    u64* starts;      // by vertex: in-edges before its own; afterwards the next free place
    u32* sources;
    const void* weights; // of ``weight_bytes`` bytes each
    void* moved;
    i64 weight_bytes;
};
CONSTANT Env env;

DEVICE u64 start_of(u64 row) { return env.wide ? ((const u64*)env.offsets)[row] : ((const u32*)env.offsets)[row]; }

DEVICE u64 row_of(u64 e) {
    return last_where(0ull, (u64)env.rows, [&](u64 row) { return start_of(row) <= e; });
}

// The first of the piece's entries that enter the same vertex as entry i.
DEVICE u64 group_of(u64 i) {
    return first_where(0ull, i, [&](u64 k) { return env.targets[k] >= env.targets[i]; });
}

// starts[v + 1] += in-edges of v.
KERNEL count_entries(i64) {
    for (u64 i = thread_rank(); i < (u64)env.count; i += threads())
        atomicAdd(env.starts + env.neighbours[env.first + i] + 1, 1ull);
}

KERNEL read_targets(i64) {
    for (u64 i = thread_rank(); i < (u64)env.count; i += threads())
        env.targets[i] = env.neighbours[env.first + env.order[i]];
}

KERNEL place_entries(i64) {
    for (u64 i = thread_rank(); i < (u64)env.count; i += threads()) {
        const u64 e = env.first + env.order[i], place = env.starts[env.targets[i]] + (i - group_of(i));
        env.sources[place] = (u32)row_of(e);
        if (env.weight_bytes == 8) ((u64*)env.moved)[place] = ((const u64*)env.weights)[e];
        else if (env.weight_bytes == 4) ((u32*)env.moved)[place] = ((const u32*)env.weights)[e];
    }
}

// Add the piece's entries to the places that are taken.
KERNEL pass_entries(i64) {
    for (u64 i = thread_rank(); i < (u64)env.count; i += threads())
        if (i + 1 == (u64)env.count || env.targets[i + 1] != env.targets[i])
            env.starts[env.targets[i]] += i + 1 - group_of(i);
}

// Starts in 32 bits.
KERNEL narrow_starts(i64) {
    for (u64 row = thread_rank(); row <= (u64)env.rows; row += threads()) env.sources[row] = (u32)env.starts[row];
}
