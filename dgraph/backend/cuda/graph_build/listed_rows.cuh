// Listed edges, and how they become rows where they lie: every entry gets a place, then entries move there, along the
// cycles of that permutation. For both directions, entries that are grouped so are copied. Any grid.

// Sums over listed arcs and over their reverses, which are equal where every arc has its reverse of the same weight.
KERNEL hash_list(i64) {
    u64 sum = 0, back = 0;
    for (u64 item = THREAD; item < env.items; item += THREADS) {
        const u64 u = env.sources[item], v = env.entered[item], weight = weight_bits(env.listed, item);
        if (u == v) continue;
        sum += hash_of(u, v, weight);
        back += hash_of(v, u, weight);
    }
    atomicAdd(env.counters + HASH, sum);
    atomicAdd(env.counters + HASH_BACK, back);
}

// Replace the source of every edge by its place, and its target by its number. Row r is filled from ``starts[r + 1]``
// on, which moves to the row's end; self-loops that are dropped go behind the ``drawn`` arcs.
KERNEL number_places(i64 drawn) {
    for (u64 item = THREAD; item < env.items; item += THREADS) {
        const u64 u = env.sources[item], v = env.entered[item];
        const u64 loops = u == v ? atomicAdd(env.counters + LOOPS, 1ull) : 0;
        const bool dropped = u == v && !env.keep_loops;
        env.sources[item] =
            (u32)(dropped ? drawn + loops : atomicAdd(env.starts + numbered(position(u)) + 1, 1ull));
        env.entered[item] = (u32)numbered(position(v));
    }
}

// Move targets and weights to their places. A thread takes an entry, which leaves its slot GONE, and carries it to its
// place; if another entry is there, it takes that in turn. A slot is written by one thread, the one that carries its
// entry. The fences order reading a slot before taking it, and taking it before writing it: a thread that takes a slot
// has read its first entry, and a thread that finds it GONE writes after the reader.
KERNEL move_to_places(i64) {
    for (u64 item = THREAD; item < env.items; item += THREADS) {
        u64 slot = item, carried_weight = 0;
        u32 carried = 0;
        for (bool carries = false;; carries = true) {
            const u32 target = env.entered[slot];
            u64 weight = 0;
            if (env.listed) copy_weight(env.listed, slot, &weight, 0);
            __threadfence();
            const u32 place = atomicExch(env.sources + slot, (u32)GONE);
            __threadfence();
            if (carries) {
                env.entered[slot] = carried;
                if (env.listed) copy_weight(&carried_weight, 0, env.listed, slot);
            }
            if (place == GONE) break;
            carried = target, carried_weight = weight, slot = place;
        }
    }
}

// Place of an entry of grouped edges in the rows of both directions, which begin at ``counts[row + 1]``.
DEVICE u64 spread(u64 row, u64 e) { return env.counts[row + 1] + (e - env.starts[row]); }

KERNEL spread_targets(i64) {
    walk(0, env.row_end, 0, env.end, [=](u64 row, u64 e) { env.targets[spread(row, e)] = env.entered[e]; });
}

KERNEL spread_weights(i64) {
    walk(0, env.row_end, 0, env.end, [=](u64 row, u64 e) { copy_weight(env.listed, e, env.weights, spread(row, e)); });
}

// Write the reverse of every entry behind the entries of its row, in any order; ``rows`` counts those of each row.
KERNEL add_reverses(i64) {
    walk(0, env.row_end, 0, env.end, [=](u64 row, u64 e) {
        const u64 from = spread(row, e), v = env.targets[from];
        if (v == row) return;
        const u64 to = spread(v, env.starts[v + 1]) + atomicAdd(env.rows + v, 1u);
        env.targets[to] = (u32)row;
        if (env.weights) copy_weight(env.weights, from, env.weights, to);
    });
}
