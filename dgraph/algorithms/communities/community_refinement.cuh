// Refinement of communities; ``refinement.py`` says what it does.

DEVICE double noise(u32 v, u32 part) {
    return env.draws[mixed(mixed((i64)v, env.salt) ^ (i64)part, env.salt + 1) & (DRAWS - 1)];
}

// Join of a lone vertex to a part.
struct Refining {
    int group;
    u32 v, own, community;
    i64 cost, whole;
    static constexpr bool packed = true;
    __device__ Refining of_lane(u32 lane) const {
        const u32 row = shuffle(v, lane);
        return {group, row, row, shuffle(community, lane), shuffle(cost, lane), shuffle(whole, lane)};
    }
    __device__ bool open(u32 vertex) {
        v = own = vertex;
        if (KNOWN(env.parts + v) != v || KNOWN(env.part_sizes + v) != 1) return false;
        community = env.labels[v], whole = env.mass_of[community], cost = env.price * env.mass[v];
        return gain(env.scale, (u64)KNOWN(env.inside + v), cost, whole - env.mass[v], v).high >= 0;
    }
    __device__ u32 label(u32 u) const { return env.labels[u] == community ? KNOWN(env.parts + u) : NONE; }
    __device__ bool single(u32 part) const { return env.distinct && KNOWN(env.part_sizes + part) == 1; }
    __device__ Score scored(Score exact) const {
        const double factor = value_of((u64)env.factor);
        if (!(factor > 0)) return exact;
        const double high = (double)exact.high, low = (double)exact.low;
        const double value = (high * 18446744073709551616.0 + low) * factor + noise(v, exact.label) + 0.0;
        const i64 bits = (i64)bits_of(value);
        return {bits < 0 ? bits ^ 0x7fffffffffffffffll : bits, 0, exact.label};
    }
    __device__ void visit(u32 part, u64 sum, Score& best) const {
        if (part == NONE) return;
        const i64 mass = KNOWN(env.part_mass + part);
        const Score exact = gain(env.scale, sum, cost, mass, part);
        if (exact.high < 0 || (KNOWN(env.part_sizes + part) == 1 && group_of(part, env.salt, GROUPS) == group)) return;
        if (gain(env.scale, (u64)KNOWN(env.inside + part), env.price * mass, whole - mass, part).high < 0) return;
        const Score score = scored(exact);
        if (beats(score, best)) best = score;
    }
    __device__ void close(u64, const Score& best) const {
        const Score stays = scored({0, 0, v});
        if (beats(best, stays)) env.proposed[v] = best.label;
    }
};

// All sub-rounds of a refinement. The tally has all rows. Cooperative.
KERNEL_OF(4) refine_rows(i64) {
    SHARED(Room, room);
    u32 due = 0;
    i64 exchange = env.exchange;
    load_lists(room);
    list_rows_of(room, env.salt, true);
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        env.parts[v] = env.proposed[v] = (u32)v, env.part_mass[v] = env.mass[v], env.part_sizes[v] = 1, env.inside[v] = 0;
    }
    grid_barrier(env.gate, due);
    walk_all_rows(room.lists, [&](u32 v, i64 first, i64 last, bool) {
        const u32 own = env.labels[v];
        u64 inner = 0;
        for (i64 e = first + lane_id(); e < last; e += 32)
            if (env.labels[env.targets[e]] == own) inner += weight(e);
        inner = warp_sum(inner);
        if (lane_id() == 0 && inner) atomicAdd((u64*)env.inside + v, inner);
    });
    grid_barrier(env.gate, due);
    for (int group = 0; group < room.lists.groups; group++) {
        const Refining refining = {group};
        fold_rows(refining, room, group, due);
        grid_barrier(env.gate, due);
        if (is_shared() && !exchange_movers(room.lists, group, env.parts, ++exchange, due)) return;
        walk_rows(room.lists, group, [&](u32 v, i64 first, i64 last, bool begins) {
            const u32 part = FRESH(env.proposed + v);
            if (part == FRESH(env.parts + v)) return;
            u64 change = begins && lane_id() == 0 ? (u64)FRESH(env.inside + v) : 0;
            for (i64 e = first + lane_id(); e < last; e += 32) {
                const u32 u = env.targets[e];
                if (FRESH(env.parts + u) == part) change -= 2 * weight(e);
                else if (FRESH(env.proposed + u) == part) change -= weight(e);
            }
            change = warp_sum(change);
            if (lane_id() != 0) return;
            atomicAdd((u64*)env.inside + part, change);
            if (!begins) return;
            env.part_sizes[v] = 0, env.part_mass[v] = 0;
            atomicAdd(env.part_sizes + part, 1u), atomicAdd((u64*)env.part_mass + part, (u64)env.mass[v]);
        });
        grid_barrier(env.gate, due);
        take_proposals(room.lists, group, env.parts, false);
        grid_barrier(env.gate, due);
    }
    if (is_shared()) end_own_lists();
}
