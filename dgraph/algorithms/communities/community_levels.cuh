// Level 0 from the graph's rows, connected pieces, and the contraction of a level: rows of each group side by side, then one fold of each.

#define FIRST_ARCS 4
#define PROBES 4 // slots of a block's table that a pair of groups tries
#define ROW_WORK 128 // arcs that take a fold as long as a row does by itself
#define TINY 64 // arcs of a group up to which they are looked at

// Number the labels by their smallest vertices; MOVES: how many there are. ``flags``, 0 before, gets NONE less the smallest vertex
// of each label. Cooperative.
KERNEL_OF(4) number_groups(i64) {
    SHARED(Hall, room);
    u32 due = 0;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        u32* first = env.flags + env.labels[v];
        if (FRESH(first) < NONE - (u32)v) atomicMax(first, NONE - (u32)v);
    }
    grid_barrier(env.gate, due);
    const auto begins = [](u32 v) { return FRESH(env.flags + env.labels[v]) == NONE - v; };
    const u64 count = number_wanted(room, (u64)env.n, due, begins, [](u32 v, u32 number) { env.swept[v] = number; });
    if (thread_rank() == 0) env.results[MOVES] = count;
    grid_barrier(env.gate, due);
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads())
        env.groups[v] = FRESH(env.swept + NONE - FRESH(env.flags + env.labels[v]));
}
// Number the labels below ``bound`` in their order. ``flags`` is 0 before. Cooperative.
KERNEL_OF(4) number_labels(i64 bound) {
    SHARED(Hall, room);
    u32 due = 0;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.flags[env.labels[v]] = 1;
    grid_barrier(env.gate, due);
    const auto taken = [](u32 label) { return FRESH(env.flags + label) != 0; };
    number_wanted(room, (u64)bound, due, taken, [](u32 label, u32 number) { env.swept[label] = number; });
    grid_barrier(env.gate, due);
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.groups[v] = FRESH(env.swept + env.labels[v]);
}
// Place of each row in its group's, and the group's mass: one addition for all lanes of a group. ``lengths``, if given: of rows.
KERNEL place_rows(i64) {
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.n; v += threads()) {
        const bool mine = v < (u64)env.n;
        const u32 group = mine ? env.groups[v] : NONE, same = alike(group), lanes = mine ? same : 0;
        const u64 length = !mine ? 0 : (u64)(env.lengths ? env.lengths[v] : env.offsets[v + 1] - env.offsets[v]);
        const u64 before = sum_over(length, lanes & ((1u << lane_id()) - 1));
        const u64 all = shuffle(before + length, lanes ? 31 - __clz(lanes) : lane_id()); // to the group's last lane
        const u64 mass = sum_over(mine ? (u64)env.mass[v] : 0, lanes);
        const u32 leader = lanes ? __ffs(lanes) - 1 : lane_id();
        const bool leads = lanes && leader == lane_id();
        u64 first = leads && all ? atomicAdd((u64*)env.group_rows + group, all) : 0;
        if (leads) atomicAdd((u64*)env.group_mass + group, mass);
        first = shuffle(first, leader);
        if (mine) env.row_starts[v] = (i64)(first + before);
    }
}
// Number the groups of which arcs lead to others, of ``count`` groups, in ``swept``; MOVES: how many. A group of more than TINY arcs
// counts without a look. If they are few: the group of each number in ``kept``, and ``filled``. ``flags`` is 0 before. Cooperative.
KERNEL_OF(4) number_filled(i64 count) {
    SHARED(Hall, room);
    u32 due = 0;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const u32 group = env.groups[v];
        i64 e = env.offsets[v];
        const i64 last = env.group_rows[group] > TINY ? e : env.offsets[v + 1];
        while (e < last && env.groups[env.targets[e]] == group) e++;
        if (e < last) env.flags[group] = 1;
    }
    grid_barrier(env.gate, due);
    const auto leads_out = [](u32 group) { return env.group_rows[group] > TINY || FRESH(env.flags + group); };
    const u64 all = number_wanted(room, (u64)count, due, leads_out, [](u32 group, u32 number) {
        env.swept[group] = number;
        if (number < FEW_FILLED) env.kept[number] = group;
    });
    if (thread_rank() == 0) env.results[MOVES] = all;
    if (all > FEW_FILLED) return;
    grid_barrier(env.gate, due);
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) // of a group without a number: the same for all of its vertices
        if (env.offsets[v + 1] > env.offsets[v]) env.filled[v] = (unsigned short)FRESH(env.swept + env.groups[v]);
}
// Weights from a few numbered groups, ``count`` of them, to those of smaller vertices: most in a table of the block, others in ``pairs``,
// 0 before. LOOPS: weight within groups. Most arcs lie between few pairs, so the lanes of a pair add once.
KERNEL_OF(4) add_pairs(i64 count) {
    SHARED(Room, room);
    load_lists(room);
    const Near table = {room.keys, room.sums};
    clear_by_block(table, BLOCK_SLOTS);
    u64 inner = 0;
    walk_all_rows(room.lists, [&](u32 v, i64 first, i64 last, bool) {
        if (!is_own(v)) return;
        const u32 own = env.filled[v], row = own * (u32)count;
        for (i64 e = first + lane_id(); e - lane_id() < last; e += 32 * AT_ONCE) {
            u32 pair[AT_ONCE];
            for (int k = 0; k < AT_ONCE; k++) pair[k] = e + 32 * k < last ? env.targets[e + 32 * k] : NONE;
            for (int k = 0; k < AT_ONCE; k++) pair[k] = pair[k] < v ? env.filled[pair[k]] : NONE;
            for (int k = 0; k < AT_ONCE; k++) {
                if (pair[k] == own) inner += weight(e + 32 * k);
                const bool leaves = pair[k] != own && pair[k] != NONE;
                if (!ballot(leaves)) continue;
                const u32 same = alike(leaves ? pair[k] : NONE), lanes = leaves ? same : 0;
                const u64 sum = env.weights ? sum_over(leaves ? weight(e + 32 * k) : 0, lanes) : (u64)__popc(lanes);
                if (!lanes || __ffs(lanes) - 1 != (int)lane_id()) continue;
                const u32 key = row + pair[k];
                u32 s = (u32)place_of(key, BLOCK_SLOTS), before = 0;
                for (u32 probe = 0; probe < PROBES; probe++, s = (s + 1) % BLOCK_SLOTS) {
                    before = table.take(s, key, (weight_t)sum);
                    if (before == NONE || before == key) break;
                }
                if (before != NONE && before != key) atomicAdd(env.pairs + key, sum);
            }
        }
    });
    inner = warp_sum(inner);
    if (lane_id() == 0 && inner) atomicAdd(env.results + LOOPS, 2 * inner);
    __syncthreads();
    for (u32 s = threadIdx.x; s < BLOCK_SLOTS; s += BLOCK)
        if (table.key(s) != NONE) atomicAdd(env.pairs + table.key(s), (u64)table.sum(s));
}
// The arcs of the ``pairs`` of all GPUs, in both directions: how many each group has in ``lengths``, or, if these have offsets, the arcs.
KERNEL take_pairs(i64 count) {
    for (u64 i = warp_rank(); i < (u64)count; i += warps()) {
        const u32 group = env.kept[i];
        u64 length = 0;
        for (u64 k = lane_id(); k - lane_id() < (u64)count; k += 32) {
            const u64 cells = (u64)(count * count), end = k < (u64)count ? (u64)env.gpus * cells : 0;
            u64 sum = 0;
            for (u64 gpu = 0; gpu < end; gpu += cells) sum += env.pairs[gpu + i * (u64)count + k] + env.pairs[gpu + k * (u64)count + i];
            const u32 all = ballot(sum != 0);
            if (sum && env.out_offsets) {
                const i64 at = env.out_offsets[group] + (i64)length + __popc(all & ((1u << lane_id()) - 1));
                env.out_targets[at] = env.kept[k], env.out_weights[at] = (weight_t)sum;
            }
            length += __popc(all);
        }
        if (lane_id() == 0 && !env.out_offsets) env.lengths[group] = (i64)length;
    }
}
// The groups from which on each GPU folds the rows, so that all have about as much work, in ``block_counts``.
KERNEL cut_groups(i64 count) {
    const auto work = [](i64 group) { return env.group_starts[group] + ROW_WORK * group; }; // before a group
    for (u64 gpu = thread_rank(); gpu < (u64)env.gpus; gpu += threads()) {
        const i64 wanted = (i64)(work(count) * gpu / env.gpus);
        const i64 first = first_where(0ll, count, [&](i64 group) { return work(group) >= wanted; });
        const bool nearer = first > 0 && wanted - work(first - 1) < work(first) - wanted;
        env.block_counts[gpu] = (u64)(nearer ? first - 1 : first);
    }
}
KERNEL_OF(6) map_arcs(i64) {
    SHARED(Hall, room);
    load_lists(room);
    const auto map = [](u32 v, i64 first, i64 last, bool) {
        const i64 shift = env.group_starts[env.groups[v]] + env.row_starts[v] - env.offsets[v];
        for (i64 e = first + lane_id(); e < last; e += 32) {
            env.out_targets[e + shift] = env.groups[env.targets[e]];
            if (env.weights) env.out_weights[e + shift] = env.weights[e];
        }
    };
    const auto is_own_group = [](u32 v) { return (i64)env.groups[v] >= env.first_group && (i64)env.groups[v] < env.end_group; };
    if (SHARED_ROWS && env.gpus > 1) walk_some(room.lists, is_own_group, map);
    else walk_all_rows(room.lists, map);
}
// The arcs of each row that leave its group, from the row's start on; ``lengths``, 0 before, gets their number.
KERNEL_OF(6) map_leaving(i64) {
    SHARED(Hall, room);
    load_lists(room);
    u64 inner = 0;
    walk_all_rows(room.lists, [&](u32 v, i64 first, i64 last, bool begins) {
        const u32 own = env.groups[v];
        const bool whole = begins && last == env.offsets[v + 1];
        u64 kept = 0;
        for (i64 e = first + lane_id(); e - lane_id() < last; e += 32) {
            const u32 group = e < last ? env.groups[env.targets[e]] : own;
            if (e < last && group == own) inner += weight(e);
            const u32 leaving = ballot(group != own);
            u64 at = kept;
            if (!whole && leaving) {
                at = lane_id() == 0 ? atomicAdd((u64*)env.lengths + v, (u64)__popc(leaving)) : 0;
                at = shuffle(at, 0);
            }
            kept += __popc(leaving);
            at += env.offsets[v] + __popc(leaving & ((1u << lane_id()) - 1));
            if (group == own) continue;
            env.out_targets[at] = group;
            if (env.weights) env.out_weights[at] = env.weights[e];
        }
        if (whole && lane_id() == 0) env.lengths[v] = (i64)kept;
    });
    inner = warp_sum(inner);
    if (lane_id() == 0 && inner) atomicAdd(env.results + LOOPS, inner);
}

// One arc for each neighbouring group, in the place of the row's own arcs, all of which are read before.
struct Merging {
    static constexpr bool packed = false;
    u64* loops; // of the block: rows of all blocks would wait for one word
    u32 v, own;
    __device__ bool open(u32 group) {
        v = group, own = group + (u32)env.first_group;
        return true;
    }
    __device__ u32 label(u32 u) const { return u; }
    __device__ bool single(u32) const { return false; }
    __device__ void visit(u32 group, u64 sum, Score&) const { // by whole warps
        const u32 all = ballot(group != NONE);
        u64 first = lane_id() == 0 && all ? atomicAdd((u64*)env.lengths + v, (u64)__popc(all)) : 0;
        first = shuffle(first, 0) + env.offsets[v] + __popc(all & ((1u << lane_id()) - 1));
        if (group != NONE) env.targets[first] = group, env.out_weights[first] = (weight_t)sum;
    }
    __device__ void close(u64 own_sum, const Score&) const {
        if (own_sum) atomicAdd(loops, own_sum);
    }
};
KERNEL_OF(4) merge_rows(i64 groups) { // after each other; cooperative
    SHARED(Room, room);
    u32 due = 0;
    if (threadIdx.x == 0) room.loops = 0;
    load_lists(room, (u32)groups);
    list_rows_of(room, env.salt, true);
    grid_barrier(env.gate, due);
    for (int group = 0; group < room.lists.groups; group++) {
        fold_rows(Merging{&room.loops}, room, group, due);
        grid_barrier(env.gate, due); // tables are used again
    }
    if (threadIdx.x == 0 && room.loops) atomicAdd(env.results + LOOPS, room.loops);
    if (SHARED_ROWS && env.gpus > 1) meet_peers(env.results + LOOPS, true, env.exchange + 1, due);
}
// The first ``lengths`` arcs of each row, at its new offset, or at its place in its group's row.
KERNEL_OF(6) pack_rows(i64 groups) {
    SHARED(Hall, room);
    load_lists(room, (u32)groups);
    walk_all_rows(room.lists, [&](u32 v, i64 first, i64 last, bool) {
        const i64 start = env.out_offsets ? env.out_offsets[v] : env.group_starts[env.groups[v]] + env.row_starts[v];
        const i64 shift = start - env.offsets[v], end = smaller(last, env.offsets[v] + env.lengths[v]);
        for (i64 e = first + lane_id(); e < end; e += 32) {
            env.out_targets[e + shift] = env.targets[e];
            if (env.weights) env.out_weights[e + shift] = env.weights[e];
        }
    });
}

// Level 0: arcs that are no loops and weigh something, by the number of each vertex. First they are counted, and in MOVES those that
// do not ascend: if none, no row has two arcs to one vertex.
DEVICE u32 number_of(u32 v) { return env.place ? env.place[v] : v; }
KERNEL_OF(6) count_arcs(i64) {
    SHARED(Hall, room);
    load_lists(room);
    u64 loops = 0, unordered = 0;
    walk_all_rows(room.lists, [&](u32 v, i64 first, i64 last, bool) {
        u64 degree = 0, count = 0;
        for (i64 e = first + lane_id(); e < last; e += 32) {
            const u64 x = weight(e);
            const u32 u = env.targets[e];
            const bool loop = u == v;
            unordered += e > env.offsets[v] && u <= env.targets[e - 1];
            degree += loop ? 2 * x : x, loops += loop ? 2 * x : 0, count += !loop && x;
        }
        degree = warp_sum(degree), count = warp_sum(count);
        const u32 number = number_of(v);
        if (lane_id() == 0) atomicAdd((u64*)env.degrees + number, degree), atomicAdd((u64*)env.lengths + number, count);
    });
    loops = warp_sum(loops), unordered = warp_sum(unordered);
    if (lane_id() == 0 && loops) atomicAdd(env.results + LOOPS, loops);
    if (lane_id() == 0 && unordered) atomicAdd(env.results + MOVES, unordered);
}
// Number the vertices that have arcs, ascending: ``swept``: number of each vertex, NONE without arcs; ``kept``: vertex of each number,
// with its degree in ``group_mass`` and its length in ``group_rows``; MOVES: how many. Cooperative.
KERNEL_OF(4) number_linked(i64) {
    SHARED(Hall, room);
    u32 due = 0;
    const auto linked = [](u32 v) {
        if (!env.lengths[v]) env.swept[v] = NONE;
        return env.lengths[v] != 0;
    };
    const u64 count = number_wanted(room, (u64)env.n, due, linked, [](u32 v, u32 number) {
        env.swept[v] = number, env.kept[number] = v;
        env.group_mass[number] = env.degrees[v], env.group_rows[number] = env.lengths[v];
    });
    if (thread_rank() == 0) env.results[MOVES] = count;
}
// ``lengths``: arcs of each row so far, to own rows if ``others`` counts those to rows of other GPUs, from the row's end on.
KERNEL_OF(6) copy_arcs(i64) {
    SHARED(Hall, room);
    load_lists(room);
    walk_all_rows(room.lists, [&](u32 v, i64 first, i64 last, bool) {
        const u32 number = number_of(v);
        for (i64 e = first + lane_id(); e - lane_id() < last; e += 32) {
            const u32 u = e < last ? env.targets[e] : v;
            const bool kept = u != v && weight(e);
            const u32 target = kept ? number_of(u) : NONE;
            const bool own = !env.others || (kept && is_own(target));
            const u32 front = ballot(kept && own), back = ballot(kept && !own);
            u64 at = lane_id() == 0 && front ? atomicAdd((u64*)env.lengths + number, (u64)__popc(front)) : 0;
            u32 behind = lane_id() == 0 && back ? atomicAdd(env.others + number, (u32)__popc(back)) : 0;
            const u32 before = __popc((own ? front : back) & ((1u << lane_id()) - 1));
            at = shuffle(at, 0) + before, behind = shuffle(behind, 0) + before;
            if (!kept) continue; // a row of loops has no number
            at = own ? env.out_offsets[number] + at : env.out_offsets[number + 1] - 1 - behind;
            env.out_targets[at] = target;
            if (env.weights) env.out_weights[at] = env.weights[e];
        }
    });
}

// Connected pieces of communities, and of their parts if ``groups`` are given. ``parts``: parents, each its own before.
DEVICE bool is_one_piece(u32 u, u32 v) {
    return env.labels[u] == env.labels[v] && (!env.groups || env.groups[u] == env.groups[v]);
}
// By the first arcs of each own row, which unite most vertices.   [Sutton, Ben-Nun & Barak, IPDPS 2018: Afforest]
KERNEL connect_some(i64) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const i64 first = env.offsets[v], last = is_own((u32)v) ? smaller(env.offsets[v + 1], first + FIRST_ARCS) : first;
        for (i64 e = first; e < last; e++)
            if (is_one_piece(env.targets[e], (u32)v)) join_in(env.parts, env.targets[e], (u32)v);
    }
}
// By all arcs of own vertices outside the chosen piece of their label, until they are in it: of two pieces that an arc unites, one is
// not chosen, and its end reads the arc. Chosen is that of a vertex of most arcs, most likely the largest piece.
KERNEL connect_rows(i64) {
    SHARED(Hall, room);
    load_lists(room);
    const auto outside = [](u32 v) { return is_own(v) && FRESH(env.parts + v) != (u32)env.chosen[env.labels[v]]; };
    walk_some(room.lists, outside, [&](u32 v, i64 first, i64 last, bool) {
        const u32 piece = FRESH(env.parts + v), chosen = (u32)env.chosen[env.labels[v]];
        for (i64 e = first + lane_id(); e < last; e += 32) {
            if (root_now_in(env.parts, v) == root_now_in(env.parts, chosen)) return;
            const u32 u = env.targets[e];
            if (env.parts[u] != piece && is_one_piece(u, v)) join_in(env.parts, u, v);
        }
    });
}
// By the pieces of another GPU, in ``labels``, of vertices from ``first`` on.
KERNEL join_pieces(i64 first) {
    for (u64 i = thread_rank(); i < (u64)env.n; i += threads()) {
        const u32 v = (u32)(first + i), piece = env.labels[i];
        if (FRESH(env.parts + v) != piece) join_in(env.parts, v, piece);
    }
}
KERNEL flatten_pieces(i64) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.parts[v] = root_now_in(env.parts, (u32)v);
}

// Small steps on labels.
KERNEL count_changes(i64) {
    u64 count = 0;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) count += env.labels[v] != env.proposed[v];
    count = warp_sum(count);
    if (lane_id() == 0 && count) atomicAdd(env.results + MOVES, count);
}
KERNEL count_labels(i64) { // ``flags`` is 0 before
    u64 count = 0;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        u32* flag = env.flags + env.labels[v];
        count += !FRESH(flag) && !atomicExch(flag, 1u);
    }
    count = warp_sum(count);
    if (lane_id() == 0 && count) atomicAdd(env.results + MOVES, count);
}
KERNEL label_groups(i64) { // the smallest label of each group; ``proposed``, 0 before, gets NONE less it
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const u32 rest = NONE - env.labels[v];
        if (FRESH(env.proposed + env.groups[v]) < rest) atomicMax(env.proposed + env.groups[v], rest);
    }
}
KERNEL complement(i64) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.labels[v] = NONE - env.labels[v];
}
KERNEL name_labels(i64) { // ``degrees``: the original id of the label at each position, its own where no arcs are
    for (u64 i = thread_rank(); i < (u64)env.n; i += threads()) {
        const u32 number = number_of((u32)i), label = number == NONE ? NONE : env.labels[number];
        const u32 position = number == NONE ? (u32)i : env.vertex ? env.vertex[label] : label;
        env.degrees[i] = env.ids ? env.ids[position] : env.wide_ids[position];
    }
}
KERNEL number_alone(i64) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.labels[v] = (u32)v;
}
KERNEL widen(i64) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.degrees[v] = env.labels[v];
}
KERNEL map_labels(i64) { // ``swept``: the new label of each
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.proposed[v] = env.swept[env.labels[v]];
}
