// Numbers of vertices, evaluated on the GPU. Kernels run on any grid.

// Rank of a gid among those that are here, ascending; the gid itself on one rank.
DEVICE u32 position(u64 gid) {
    if (!env.before) return (u32)gid;
    return env.before[gid >> 5] + __popc(env.words[gid >> 5] & (1u << (gid & 31)) - 1);
}
DEVICE u32 numbered(u32 position) { return env.lids ? env.lids[position] : position; }

// Count out-degrees (1: in-degrees) of gids ``low .. high``, parallel arcs each time; of listed rows, ``offsets``, all.
KERNEL degrees_of_slice(i64 incoming) {
    if (env.offsets) {
        for (u64 v = THREAD; v < env.n; v += THREADS) env.counts[v] = env.offsets[v + 1] - env.offsets[v];
        return;
    }
    arcs(true, [=](u64 u, u64 v, u64) {
        const u64 gid = incoming ? v : u;
        if (gid >= env.low && gid < env.high) atomicAdd(env.counts + (gid - env.low), 1ull);
    });
}

// Mark sources and targets of this rank's arcs. If rows are masters in a block from ``low`` on, also count their arcs.
KERNEL mark(i64) {
    arcs(false, [=](u64 u, u64 v, u64) {
        if (env.counts) atomicAdd(env.counts + (u - env.low), 1ull);
        set_bit(env.rows, u);
        set_bit(env.columns_here, v);
    });
}

// Make the set of vertices that this rank owns or has an arc of, a word a thread, and count them.
KERNEL gather(i64) {
    u64 here = 0;
    for (u64 w = THREAD; w < env.word_count; w += THREADS) {
        u32 own = 0;
        for (u64 i = 0; i < 32; i++) {
            const u64 gid = w * 32 + i;
            if (gid < env.n && owner(gid) == env.rank) own |= 1u << i;
        }
        env.words[w] = own | env.rows[w] | env.columns_here[w];
        here += env.before[w + 1] = __popc(env.words[w]);
    }
    if (here) atomicAdd(env.counters + VERTICES_HERE, here);
}

// Group of a lid, ordered as in graph/local.py: 0 masters, then for every owner mirrors that are columns, both, and
// rows.
DEVICE u64 group(u64 gid) {
    const u64 part = owner(gid);
    if (part == env.rank) return 0;
    return 1 + 3 * part + (bit(env.columns_here, gid) ? bit(env.rows, gid) : 2);
}

// Pass 0: count the vertices of each group in each run of words. Pass 1: assign lids; ``tally`` has the prefix sums of
// the counts.
KERNEL number_groups(i64 assign) {
    const u64 runs = (env.word_count + RUN - 1) / RUN;
    for (u64 run = THREAD; run < runs; run += THREADS) {
        for (u64 w = run * RUN; w < smaller((run + 1) * RUN, env.word_count); w++) {
            u32 at = env.before[w];
            for (u32 left = env.words[w]; left; left &= left - 1) {
                const u64 gid = w * 32 + (__ffs(left) - 1);
                u32* tally = env.tally + group(gid) * runs + run;
                const u32 before = (*tally)++;
                if (!assign) continue;
                env.lids[at++] = before;
                env.original[before] = (vertex_id)gid;
            }
        }
    }
}

// Translate gids in ``asked``, all of which are here, to lids in ``found``.
KERNEL look_up(i64 count) {
    for (u64 i = THREAD; i < (u64)count; i += THREADS) env.found[i] = numbered(position((u64)env.asked[i]));
}

// Count the arcs of each row.
KERNEL count(i64) {
    if (env.offsets) {
        for (u64 v = THREAD; v < env.n; v += THREADS)
            env.starts[numbered(v) + 2] = env.offsets[v + 1] - env.offsets[v];
        return;
    }
    arcs(false, [=](u64 u, u64 v, u64) { atomicAdd(env.starts + numbered(position(u)) + 2, 1ull); });
}

// Fill row r from ``starts[r + 1]`` on, which moves to the row's end. Weights that are listed go with their arcs.
KERNEL fill(i64) {
    const u64 loops = arcs(false, [=](u64 u, u64 v, u64 edge) {
        const u64 e = atomicAdd(env.starts + numbered(position(u)) + 1, 1ull);
        env.targets[e] = numbered(position(v));
        if (env.listed) copy_weight(env.listed, edge, env.weights, e);
    });
    if (loops) atomicAdd(env.counters + LOOPS, loops);
}
