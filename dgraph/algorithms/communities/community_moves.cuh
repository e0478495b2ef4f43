// Local moves in rounds, and the search for vertices that gain; ``moves.py`` says what they do.

#define NO_SLACK -1e300 // the vertex must be evaluated
#define ROUNDING 1e-12
#define DRAWS_OF_MOVES 65536

DEVICE double as_double(const Score& score) { return (double)score.high * 18446744073709551616.0 + (double)score.low; }
DEVICE double absolute_of(double x) { return x < 0 ? -x : x; }

// A total of a community. Where many blocks choose no total changes: a multiprocessor asks for that of a large community once,
// and not each of its warps, which would wait for one another. ``alone``: this block moves vertices between its choices.
template <bool alone, class T> DEVICE T total(const T* p) { return alone ? FRESH(p) : KNOWN(p); }

// True if the bounds of v are an estimate: without drift, and with a share of the weight that neighbours have moved.
DEVICE bool estimated(u32 v) { return env.patience && env.offsets[v + 1] - env.offsets[v] > env.many; }

// True if bounds show that v, of community ``own``, gains by no move. ``drift``: of all rounds, with this one.
template <bool alone> DEVICE bool stays(u32 v, u32 own, i64 cost, double drift) {
    const double slack = FRESH(env.slack + v);
    if (slack <= NO_SLACK) return false;
    double weight = (double)env.scale * (double)FRESH(env.crossed + v);
    if (estimated(v)) weight /= (double)((i64)1 << env.patience), drift = 0;
    const double change = (double)cost * ((double)total<alone>(env.mass_of + own) + drift);
    return weight + change + ROUNDING * (absolute_of(weight) + change) < slack;
}

// Note for u, whose label is ``own``, that a neighbour has moved.
CALLED void cross(u32 u, u32 own, u32 old, u32 taken, u64 x) {
    atomicAdd((u64*)env.crossed + u, taken == own ? 0 - x : old == own ? 2 * x : x);
}

DEVICE i64 next_of(i64 salt) { return salt + 2 & 0x3fffffffffffffff; } // the seed of the next round

// Move of v to a neighbouring community; in sub-round ``group`` of a round, or -1: no other vertex moves at once.
template <bool alone> struct Moving {
    int group, groups;
    bool finds; // only flag v if it gains
    double drift, earlier; // of all rounds, and of those before
    i64 salt;
    u32 v, own, own_size;
    i64 cost;
    i64 longest; // rows of more arcs are left out, if alone
    static constexpr bool packed = true;
    __device__ Moving of_lane(u32 lane) const {
        const u32 row = shuffle(v, lane), label = shuffle(own, lane), size = shuffle(own_size, lane);
        return {group, groups, finds, drift, earlier, salt, row, label, size, shuffle(cost, lane), longest};
    }
    // False if bounds show that the vertex stays.
    CALLED_MEMBER bool open(u32 vertex) {
        if (alone && env.offsets[vertex + 1] - env.offsets[vertex] > longest) return false;
        v = vertex, own = FRESH(env.labels + v), own_size = total<alone>(env.sizes + own), cost = env.price * env.mass[v];
        if (!stays<alone>(v, own, cost, drift)) return true;
        env.active[v] = finds ? 0 : BOUNDED;
        return false;
    }
    __device__ u32 label(u32 u) const { return env.labels[u]; }
    __device__ bool single(u32 c) const { return env.distinct && total<alone>(env.sizes + c) == 1; }
    CALLED_MEMBER void visit(u32 c, u64 sum, Score& best) const {
        if (c == NONE) return;
        if (best.label != NONE && exceeds(best, gain(env.scale, sum, 0, 0, c))) return; // whatever the mass of c
        const Score score = gain(env.scale, sum, cost, total<alone>(env.mass_of + c), c);
        if (!beats(score, best)) return;
        if (group >= 0 && c > own && own_size == 1 && total<alone>(env.sizes + c) == 1 &&
            group_of(total<alone>(env.sole + c), salt, groups) == group)
            return;
        best = score;
    }
    CALLED_MEMBER void close(u64 own_sum, Score best) const {
        const i64 mass = total<alone>(env.mass_of + own);
        const Score stays = gain(env.scale, own_sum, cost, mass - env.mass[v], own), other = best;
        if (best.label == NONE || !exceeds(best, stays)) best = stays;
        u32 chosen = best.label;
        if (own_size > 1 && best.high < 0) chosen = group < 0 ? NONE : total<alone>(env.sizes + v) ? own : v;
        env.active[v] = finds ? chosen != own : chosen != own ? MOVING : BOUNDED;
        if (!finds) env.proposed[v] = chosen;
        else if (chosen != own) atomicAdd(env.results + MOVES, (u64)1);
        const double gained = as_double(stays), rival = other.label == NONE ? 0 : larger(as_double(other), 0.0);
        const bool estimate = estimated(v);
        const double price = (double)cost * ((double)mass + (estimate ? 0 : earlier));
        const double error = ROUNDING * (absolute_of(gained) + rival + price);
        const bool bounded = chosen == own && (!estimate || (own_size > 1 && best.high >= 0));
        env.slack[v] = bounded ? gained - rival + price - error : NO_SLACK;
        env.crossed[v] = chosen == own || group < 0 ? 0 : (i64)bits_of(larger(as_double(best), 0.0) - gained);
    }
};

// Maker of moves, once the drift of this round is read: by one thread of a block, as all others would wait for one address.
template <bool alone> DEVICE Moving<alone> moving_of(Room& room, int group, bool finds, i64 salt = 0) {
    __syncthreads();
    if (threadIdx.x == 0) room.drift = (double)FRESH(env.drift + 1), room.earlier = (double)FRESH(env.drift);
    __syncthreads();
    return {group, room.lists.groups, finds, room.earlier + room.drift, room.earlier, salt, 0, 0, 0, 0, (i64)1 << 62};
}

// Add vertices to the totals of communities, or take them away: once for all lanes of a community. By whole warps. Returns the
// mass that has left this lane's community, if the lane adds it.
CALLED u64 add_members(bool mine, u32 v, u32 community, bool leave) {
    const u32 same = alike(mine ? community : NONE), lanes = mine ? same : 0;
    const u64 x = mine ? (u64)env.mass[v] : 0;
    u64 mass = 0;
    u32 sole = 0;
    for (u32 left = lanes; ballot(left != 0); left &= left - 1) {
        const u32 lane = left ? __ffs(left) - 1 : lane_id(), other = shuffle(v, lane);
        const u64 other_mass = shuffle(x, lane);
        if (left) mass += other_mass, sole ^= other;
    }
    if (!lanes || __ffs(lanes) - 1 != (int)lane_id()) return 0;
    const u32 count = (u32)__popc(lanes);
    atomicAdd((u64*)env.mass_of + community, leave ? 0 - mass : mass);
    atomicAdd(env.sizes + community, leave ? 0 - count : count);
    atomicXor(env.sole + community, sole);
    return leave ? atomicAdd((u64*)env.outflow + community, mass) + mass : 0;
}

// Vertices of a list whose label changes, by whole warps: ``f(true for a lane whose vertex does, it, its label, the next one)``.
template <class F> DEVICE void walk_movers(const Lists& lists, int group, const u32* labels, const F& f) {
    const u64 end = lists.start[group * CLASSES + CLASSES];
    for (u64 i = lists.start[group * CLASSES] + thread_rank(); i - lane_id() < end; i += threads()) {
        const u32 v = i < end ? FRESH(env.listed + i) : 0;
        const u32 old = i < end ? FRESH(labels + v) : NONE, taken = i < end ? FRESH(env.proposed + v) : NONE;
        if (ballot(old != taken)) f(old != taken, v, old, taken);
    }
}

// Take the proposals of a list as the new values of ``labels``; of communities, move the totals. By threads.
CALLED void take_proposals(const Lists& lists, int group, u32* labels, bool totals) {
    u64 most = 0;
    walk_movers(lists, group, labels, [&](bool moves, u32 v, u32 old, u32 taken) {
        if (moves) labels[v] = taken;
        if (!totals) return;
        if (moves) env.active[v] = FRESH(env.active + v) & ~MOVING;
        most = larger(most, add_members(moves, v, old, true));
        add_members(moves, v, taken, false);
    });
    most = warp_most(most);
    if (lane_id() == 0 && most) atomicMax(env.drift + 1, most);
}

CALLED void add_squares() {
    u64 limbs[4] = {0, 0, 0, 0};
    for (u64 c = thread_rank(); c < (u64)env.n; c += threads()) {
        const u64 mass = (u64)FRESH(env.mass_of + c), low = mass * mass, high = __umul64hi(mass, mass);
        limbs[0] += low & 0xffffffffu, limbs[1] += low >> 32, limbs[2] += high & 0xffffffffu, limbs[3] += high >> 32;
    }
    for (int i = 0; i < 4; i++) {
        const u64 sum = warp_sum(limbs[i]);
        if (lane_id() == 0 && sum) atomicAdd(env.results + SQUARES + i, sum);
    }
}

// Begin another round of outflows. By all blocks.
CALLED void end_outflow() {
    for (u64 c = thread_rank(); c < (u64)env.n; c += threads()) env.outflow[c] = 0;
    if (thread_rank() == 0) env.drift[0] += FRESH(env.drift + 1), env.drift[1] = 0;
}

// Arcs up to ``own_end`` of the rows of up to 32 arcs whose vertices move, 32 rows a warp: ``f(neighbour, arc, old label, new label)``.
template <class F> DEVICE void walk_packed(const Lists& lists, int group, const F& f) {
    const u64 begin = lists.start[group * CLASSES], end = lists.start[group * CLASSES + 1];
    const u32 each = rows_each(end - begin);
    for (u64 i = begin + each * warp_rank() + lane_id(); i - lane_id() < end; i += each * warps()) {
        const bool mine = i < end && lane_id() < each;
        const u32 v = mine ? FRESH(env.listed + i) : 0;
        const u32 old = mine ? FRESH(env.labels + v) : 0, taken = mine ? FRESH(env.proposed + v) : 0;
        const i64 start = old != taken ? env.offsets[v] : 0;
        const u32 count = old != taken ? (u32)(own_end(v) - start) : 0, through = sum_up_to_lane(count);
        const u32 all = shuffle(through, 31);
        for (u32 arc = lane_id(); arc - lane_id() < all; arc += 32) {
            const u32 owner = lane_past(through, smaller(arc, all - 1));
            const i64 e = shuffle(start, owner) + arc - shuffle(through - count, owner);
            const u32 old_label = shuffle(old, owner), new_label = shuffle(taken, owner);
            if (arc < all) f(env.targets[e], e, old_label, new_label);
        }
    }
}

// Of vertices that would move between two communities at once, let only as many move as still gain; ``_balance`` in ``moves.py``.
// By all blocks; ends with a grid barrier.
CALLED void balance(const Lists& lists, int group, i64 salt, u32& due) {
    walk_movers(lists, group, env.labels, [&](bool moves, u32 v, u32 old, u32 taken) {
        for (int leave = 0; leave < 2; leave++) {
            const u32 community = leave ? old : taken, same = alike(moves ? community : NONE), lanes = moves ? same : 0;
            const u64 mass = sum_over(moves ? (u64)env.mass[v] : 0, lanes);
            if (lanes && __ffs(lanes) - 1 == (int)lane_id()) atomicAdd((u64*)env.inflow + community, leave ? 0 - mass : mass);
        }
    });
    grid_barrier(env.gate, due);
    walk_movers(lists, group, env.labels, [&](bool moves, u32 v, u32 old, u32 taken) {
        if (!moves) return;
        const i64 mass = env.mass[v], others = FRESH(env.inflow + taken) - FRESH(env.inflow + old) - 2 * mass;
        const double draw = (double)(mixed((i64)v, salt + 1) & (DRAWS_OF_MOVES - 1));
        const double margin = value_of((u64)FRESH(env.crossed + v)) * DRAWS_OF_MOVES;
        const bool goes = others <= 0 || (double)(env.price * mass) * (double)others * draw < margin;
        if (!goes) env.active[v] = ACTIVE;
    });
    grid_barrier(env.gate, due);
    walk_movers(lists, group, env.labels, [&](bool moves, u32 v, u32 old, u32 taken) {
        if (!moves) return;
        env.inflow[old] = env.inflow[taken] = 0;
        if (!(FRESH(env.active + v) & MOVING)) env.proposed[v] = old;
    });
    grid_barrier(env.gate, due);
}

// A round: list active rows; in each sub-round choose, move totals and activate neighbours, take labels. Then count the next.
// INNER: change of the weight of arcs within communities. By all blocks; a grid barrier must follow. False if a GPU is missing.
DEVICE bool move_round(Room& room, i64 salt, i64& exchange, u32& due) {
    list_rows_of(room, salt, false);
    grid_barrier(env.gate, due);
    if (blockIdx.x == 0) {
        for (u32 i = threadIdx.x; i < COUNTS; i += BLOCK) env.used[i] = env.next_tally[i] = 0;
        for (u32 i = threadIdx.x; i <= MOVES; i += BLOCK) env.results[i] = 0;
    }
    i64 change = 0;
    for (int group = 0; group < room.lists.groups; group++) {
        if (room.lists.start[group * CLASSES] == room.lists.start[group * CLASSES + CLASSES]) continue;
        const Moving<false> moving = moving_of<false>(room, group, false, salt);
        fold_rows(moving, room, group, due);
        grid_barrier(env.gate, due);
        if (is_shared() && !exchange_movers(room.lists, group, env.labels, ++exchange, due)) return false;
        if (env.balanced) balance(room.lists, group, salt, due);
        // Weight gained within communities by an arc of a vertex that moves; its end in another community looks again.
        const auto crossed = [&](u32 u, i64 e, u32 old, u32 taken) {
            if (!env.others && !is_own(u)) return;
            const u32 flags = FRESH(env.active + u), before = env.labels[u];
            const u32 after = flags & MOVING ? env.proposed[u] : before;
            const i64 x = (i64)weight(e) * (before == after ? 2 : 1);
            change += (after == taken ? x : 0) - (before == old ? x : 0);
            if (after != taken && !(flags & ACTIVE)) env.active[u] = flags | ACTIVE;
            if (flags & BOUNDED) cross(u, after, old, taken, weight(e));
        };
        walk_packed(room.lists, group, crossed);
        walk_longer(room.lists, group, [&](u32 v, i64 first, i64 last, i64 step) {
            const u32 old = FRESH(env.labels + v), taken = FRESH(env.proposed + v);
            if (old == taken) return;
            for (i64 e = first; e < last; e += step * AT_ONCE) {
                u32 u[AT_ONCE];
                for (int k = 0; k < AT_ONCE; k++) u[k] = e + step * k < last ? env.targets[e + step * k] : NONE;
                for (int k = 0; k < AT_ONCE; k++)
                    if (u[k] != NONE) crossed(u[k], e + step * k, old, taken);
            }
        });
        grid_barrier(env.gate, due);
        take_proposals(room.lists, group, env.labels, true);
        grid_barrier(env.gate, due);
    }
    change = warp_sum(change);
    if (lane_id() == 0 && change) atomicAdd(env.results + INNER, (u64)change);
    if (is_shared() && !exchange_active(INNER, ++exchange, due)) return false;
    add_squares();
    end_outflow();
    tally_rows_of(room, next_of(salt), false);
    return true;
}

// Compare the quality after a round with the best one. Each block computes the same.
DEVICE void compare_quality(Room& room) {
    __syncthreads();
    if (threadIdx.x == 0) {
        room.gained += (i64)FRESH(env.results + INNER);
        Wide squares = {0, 0};
        for (int i = 3; i >= 0; i--) {
            squares = {squares.high << 32 | squares.low >> 32, squares.low << 32};
            squares = plus(squares, {0, FRESH(env.results + SQUARES + i)});
        }
        const Wide inner = {room.gained < 0 ? ~(u64)0 : 0, (u64)room.gained}, least = {(u64)env.least_high, (u64)env.least_low};
        const Wide quality = minus(times(inner, (u64)env.scale), times(squares, (u64)env.price));
        room.last = minus(quality, room.first);
        const Wide gained = minus(room.last, room.most);
        room.improved = is_less({0, 0}, gained);
        if (room.improved) room.most = room.last;
        room.ends = !is_less(least, gained) || (env.share && !is_less(room.most, times(gained, (u64)env.share)));
    }
    __syncthreads();
}

// Rounds until one gains little, or the next one's lists have other sizes than this launch is for; at most ``most``. Cooperative.
KERNEL_OF(4) move_rounds(i64 most) {
    SHARED(Room, room);
    u32 due = 0;
    i64 salt = env.salt, exchange = env.exchange;
    load_lists(room, 0);
    if (threadIdx.x == 0) {
        room.first = {env.search[START], env.search[START + 1]}, room.most = {env.search[BEST], env.search[BEST + 1]};
        room.gained = (i64)env.search[GAINED];
    }
    for (i64 round = 1;; round++) {
        if (thread_rank() == 0) env.actives[round - 1] = room.lists.start[room.lists.groups * CLASSES];
        if (!move_round(room, salt, exchange, due)) return;
        grid_barrier(env.gate, due);
        compare_quality(room);
        if (room.improved)
            for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.kept[v] = FRESH(env.labels + v);
        salt = next_of(salt);
        load_lists(room, 0);
        const i64 rows = (i64)room.lists.start[room.lists.groups * CLASSES];
        const bool fits = rows >= env.fewest && rows <= env.most_rows && (i64)room.lists.slots <= env.most_slots &&
                          (i64)room.lists.chunk_start[room.lists.groups] <= env.most_chunks;
        if (fits && round < most && !room.ends) continue;
        if (thread_rank() != 0) return;
        env.search[BEST] = room.most.high, env.search[BEST + 1] = room.most.low, env.search[GAINED] = (u64)room.gained;
        env.search[LAST] = room.last.high, env.search[LAST + 1] = room.last.low, env.search[ROUNDS] = (u64)round;
        env.search[ROUNDS + 1] = room.ends;
        return;
    }
}

KERNEL end_round(i64) { end_outflow(); }

// Other labels, in ``proposed``, of communities of which most stay; see ``_relabel`` in ``community_totals.py``.
// The vertex of most arcs of each community, or its piece if there are some; ``chosen`` is 0 before, and has lengths in its upper words.
DEVICE u64 key_of(u32 v, u32 number) { return (u64)smaller(env.offsets[v + 1] - env.offsets[v], (i64)NONE) << 32 | number; }
KERNEL choose_members(i64) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const u64 key = key_of((u32)v, env.parts ? env.parts[v] : (u32)v);
        u64* chosen = env.chosen + env.labels[v];
        if (FRESH(chosen) < key) atomicMax(chosen, key);
    }
}
// The community whose place each other label takes: it has the label's chosen vertex of most arcs. ``owners`` is 0 before.
KERNEL choose_owners(i64) {
    for (u64 c = thread_rank(); c < (u64)env.n; c += threads()) {
        if (!env.sizes[c]) continue;
        const u32 v = (u32)env.chosen[c];
        atomicMax(env.owners + env.proposed[v], key_of(v, (u32)c));
    }
}
// Drop the bounds of vertices that no longer are in their community's place, and of their neighbours; add up the mass that leaves.
KERNEL drop_bounds(i64) {
    SHARED(Hall, room);
    load_lists(room);
    const auto changed = [](u32 v) {
        const u32 place = env.proposed[(u32)env.chosen[env.labels[v]]];
        return place != env.proposed[v] || (u32)env.owners[place] != env.labels[v];
    };
    walk_some(room.lists, changed, [&](u32 v, i64 first, i64 last, bool begins) {
        for (i64 e = first + lane_id(); e < last; e += 32) env.slack[env.targets[e]] = NO_SLACK;
        if (!begins || lane_id() != 0) return;
        env.slack[v] = NO_SLACK;
        const u32 old = env.labels[v];
        if (env.proposed[(u32)env.chosen[old]] == env.proposed[v]) return;
        atomicMax(env.drift + 1, atomicAdd((u64*)env.outflow + old, (u64)env.mass[v]) + (u64)env.mass[v]);
    });
}

// Mark vertices that look in the first round: ``all`` that may, or active ones. Count them, and add up the squares of masses.
KERNEL begin_moves(i64 all) {
    SHARED(Hall, room);
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        if (!is_own((u32)v)) env.slack[v] = NO_SLACK;
        const bool looks = all ? env.offsets[v + 1] > env.offsets[v] || env.sizes[env.labels[v]] > 1 : env.active[v];
        env.active[v] = (looks ? ACTIVE : 0) | (env.slack[v] > NO_SLACK ? BOUNDED : 0);
        env.proposed[v] = env.labels[v];
    }
    add_squares();
    tally_rows_of(room, env.next_salt, false);
}

// Totals of the communities, which are 0 before; no bounds of ``slack``, if given.
KERNEL add_totals(i64) {
    for (u64 v = thread_rank(); v - lane_id() < (u64)env.n; v += threads()) {
        const bool mine = v < (u64)env.n;
        if (mine && env.slack) env.slack[v] = NO_SLACK;
        add_members(mine, (u32)v, mine ? env.labels[v] : 0, false);
    }
}

KERNEL add_squares_of(i64) { add_squares(); } // masses

// Mark and count vertices that may gain by a move.
KERNEL mark_candidates(i64) {
    SHARED(Hall, room);
    const double drift = (double)env.drift[0] + (double)env.drift[1];
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const u32 own = env.labels[v];
        const bool alone = env.offsets[v + 1] == env.offsets[v] && env.sizes[own] == 1;
        env.active[v] = is_own((u32)v) && !alone && !stays<false>((u32)v, own, env.price * env.mass[v], drift), env.proposed[v] = own;
    }
    tally_rows_of(room, env.next_salt, false);
}

// Of the active vertices, leave those active that gain by a move, and count them: ``groups`` after each other. Cooperative.
KERNEL_OF(4) find_gaining(i64 groups) {
    SHARED(Room, room);
    u32 due = 0;
    load_lists(room, (u32)groups);
    list_rows_of(room, env.salt, false);
    grid_barrier(env.gate, due);
    const Moving<false> finding = moving_of<false>(room, -1, true);
    for (int group = 0; group < room.lists.groups; group++) {
        fold_rows(finding, room, group, due);
        if (room.lists.chunk_start[group] < room.lists.chunk_start[group + 1]) grid_barrier(env.gate, due);
    }
    if (!is_shared()) return;
    grid_barrier(env.gate, due);
    exchange_active(MOVES, env.exchange + 1, due);
}
