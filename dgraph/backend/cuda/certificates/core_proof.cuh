// Check of core numbers by the rules of dgraph/validate/cores.py. ``values``: core numbers by position, or, if ``core`` is
// not -1, membership of the ``core``-core; ``counts``: remaining neighbours of as large a core, as far as this rank knows; ``words``: bits of removed
// vertices; ``queue``: these vertices, ``env.broken[2 * QUEUED]`` of them. Loops are no neighbours, and parallel arcs are one,
// or, if ``multiple``, several.

#define NOBODY 0xffffffffu

DEVICE i64 core_of(u64 i) { return env.core < 0 ? env.values[i] : env.core - 1 + env.values[i]; }
DEVICE bool removable(u64 i) { return env.core < 0 || env.values[i] == 0; }

DEVICE bool counted(u64 row, u64 next, u64 e) { return next != row && (env.multiple || !repeats(row, e)); }

// Count each vertex' neighbours of as large a core. Any grid; a lane adds a row's neighbours up before it adds them.
KERNEL count_neighbours(i64) {
    u64 held = ~0ull;
    u32 found = 0;
    i64 least = 0;
    each_arc([&](u64 row, u64 next, u64 e) {
        if (row != held) {
            if (found) atomicAdd(env.counts + held, found);
            held = row, found = 0, least = core_of(row);
        }
        found += core_of(next) >= least && counted(row, next, e);
    });
    if (found) atomicAdd(env.counts + held, found);
}

DEVICE bool claimed(u64 v) {
    const u32 own = 1u << (v & 31);
    return !(atomicOr(env.words + (v >> 5), own) & own);
}

DEVICE void push(u32 v) { env.queue[atomicAdd(env.broken + 2 * QUEUED, 1ull)] = v; }

// Test rule 1. Any grid.
KERNEL prove_cores(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS) {
        const bool first = env.core < 0 || env.values[i] == 1;
        broken(BROKEN_FLAG, !first && !removable(i), gid(i));
        broken(BROKEN_FEW, first && (i64)env.counts[i] < core_of(i), gid(i));
    }
}

// Queue the vertices that rule 2 lets go, and that are not queued yet. Any grid.
KERNEL begin_peel(i64) {
    for (u64 i = THREAD; i < env.rows; i += THREADS)
        if (removable(i) && (i64)env.counts[i] <= core_of(i) && claimed(i)) push((u32)i);
}

// Remove queued vertices from ``begin`` on, a warp each. The warp goes on with the first neighbour that it makes removable
// itself, and queues others: a chain takes one launch.
KERNEL peel(i64 begin) {
    for (u64 i = begin + warp_rank(); i < env.end; i += warps()) {
        u64 u = env.queue[i];
        for (;;) {
            const i64 core = core_of(u);
            u32 mine = NOBODY;
            for (u64 e = (u64)env.offsets[u] + lane_id(); e < end_of(u); e += 32) {
                const u32 v = env.neighbours[e];
                if (core_of(v) != core || !counted(u, v, e)) continue;
                const i64 left = (i64)(int)atomicAdd(env.counts + v, NOBODY) - 1;
                if (left > core || !claimed(v)) continue;
                if (mine == NOBODY) mine = v;
                else push(v);
            }
            const u32 found = ballot(mine != NOBODY);
            if (!found) break;
            const u32 leader = __ffs(found) - 1;
            if (mine != NOBODY && lane_id() != leader) push(mine);
            u = shuffle(mine, leader);
        }
    }
}

KERNEL prove_removed(i64) {
    for (u64 i = THREAD; i < env.count; i += THREADS)
        broken(BROKEN_LARGER, removable(i) && (i64)env.counts[i] > core_of(i), gid(i));
}
