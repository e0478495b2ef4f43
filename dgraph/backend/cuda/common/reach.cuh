// A search on all GPUs in one launch: rounds that push and rounds that pull, small ones and broad ones. For programs of
// which only who is reached travels: a vertex is reached once, and what it takes is the same from every neighbour.
//
// A frontier that pushes is a list, one that pulls is bits. A round is its edges; hits on mirrors, which go to their
// owners; the agreement, which says where the next round goes; and then mirrors hear who is new, as far as that way asks
// for it. ``env.seen`` has a bit for every vertex that is known to be reached: every such master, some such mirrors.

struct ReachRoom {
    Staging staging;
    Totalled totals;
    union {
        WarpSearchRoom search;
        TwcRoom twc;
    };
};

// One rank's part of the rounds; every thread of its grid holds the same.
struct Reach {
    ReachRoom& room;
    Gate gate;
    Agreement agreement;
    Globals G;
    u64 began;
    i64 number, most_few, most, limit, forced;
    i64 tick, round, mode, active, total, queued, edges, unexplored, own_active, own_edges;
    bool leaves; // where hosts agree, and not where the next round begins
    i64 small;   // rounds in a row that the kernel of small rounds could have run
    bool swapped, bits_swapped, is_listed; // whether the frontier is a list, too, where it is bits
    i64* slot;                           // counters of the frontier
    i64 packing, waiting, unpacking;     // nanoseconds of the first thread

    __device__ void open(i64 stop) {
        const i64 *c = env.control, *post = env.post;
        began = NOW(), limit = stop;
        gate = {(u32)FRESH(c + GATE), (u32)FRESH(post + POST_GO), env.gate, (u32*)(env.post + POST_GO)};
        number = FRESH(post + POST_NUMBER), agreement.stamp = FRESH(post + POST_STAMP);
        most_few = FRESH(post + POST_FEW), most = FRESH(post + POST_MOST), forced = FRESH(c + FORCED);
        tick = FRESH(c + TICK), round = FRESH(c + ROUND), mode = FRESH(c + MODE), active = FRESH(c + TOTAL_ACTIVE);
        total = FRESH(c + TOTAL_EDGES), queued = FRESH(c + QUEUED), edges = FRESH(c + LOCAL_EDGES);
        unexplored = FRESH(c + UNEXPLORED), own_active = FRESH(c + ACTIVE), own_edges = FRESH(c + EDGES);
        swapped = FRESH(c + SWAPPED), bits_swapped = FRESH(c + BITS_SWAPPED);
        G = load_globals(round, active);
        slot = slot_of(tick - 1);
        small = packing = waiting = unpacking = 0, is_listed = false;
        if (FRESH(post + POST_SEEN) != round) look_again();
        if (mode == PULL) list_to_bits(queued);
    }

    // As ``settle`` leaves it behind a vertex phase.
    __device__ void close() const {
        if (thread_rank()) return;
        i64 *c = env.control, *post = env.post;
        c[GATE] = gate.due, post[POST_NUMBER] = number, post[POST_STAMP] = agreement.stamp, post[POST_SEEN] = round + 1;
        c[LEFT] = leaves ? TO_HOST : 0;
        c[TICK] = tick, c[ROUND] = round, c[MODE] = mode, c[TOTAL_ACTIVE] = active, c[TOTAL_EDGES] = total;
        c[UNEXPLORED] = unexplored, c[ACTIVE] = own_active, c[EDGES] = own_edges, c[SWAPPED] = swapped;
        c[QUEUED] = queued, c[LOCAL_EDGES] = edges, c[LARGEST] = FRESH(slot + MOST), c[BITS_SWAPPED] = bits_swapped;
        post[POST_PACKING] += packing, post[POST_WAITING] += waiting, post[POST_UNPACKING] += unpacking;
        store_globals(G);
    }

    __device__ void meet_all() { meet(env.gate, gate.due); }
    __device__ const u32* queue() const { return swapped ? env.queue1 : env.queue0; }
    __device__ u32* bits() const { return bits_swapped ? env.bits1 : env.bits0; }
    __device__ u32* next_bits() const { return bits_swapped ? env.bits0 : env.bits1; }
    __device__ u64 master_words() const { return ((u64)env.masters + 31) / 32; }
    __device__ u32 masters_in(u64 i) const { return within({0, env.masters}, (i64)i); }
    // What the exchanges of a round that goes one way are asked for.
    __device__ Asked reduces(i64 way) const { return parsed(FRESH(env.post + POST_REACH + 2 * way)); }
    __device__ Asked tells(i64 way) const { return parsed(FRESH(env.post + POST_REACH + 2 * way + 1)); }

    // The list that the next frontier, or, of the frontier itself, what joins it, is written to.
    __device__ void open_list(Front& front, bool other, i64* counters) const {
        const bool second = swapped != other;
        front.open(room.staging.held[warp_in_block()][0], second ? env.queue1 : env.queue0,
                   second ? env.sums1 : env.sums0, counters, TAIL);
    }

    // Which of these vertices are reached for the first time.
    __device__ static void keep_new(bool* mine, const u32* v, int many) {
        u32 before[WORDS_AT_ONCE];
        for (int k = 0; k < many; k++) mine[k] = mine[k] && !is_seen(v[k]);
        for (int k = 0; k < many; k++)
            if (mine[k]) before[k] = atomicOr(env.seen + (v[k] >> 5), 1u << (v[k] & 31));
        for (int k = 0; k < many; k++) mine[k] = mine[k] && !(before[k] >> (v[k] & 31) & 1);
    }

    // Which masters are reached, after rounds that did not keep account of it.
    __device__ void look_again() {
        for (u64 i = warp_rank(); i < master_words(); i += warps()) {
            const u32 v = (u32)(32 * i) + lane_id(), reached = ballot(v < env.masters && !wants(G, v));
            if (lane_id() == 0) env.seen[i] = (FRESH(env.seen + i) & ~masters_in(i)) | reached;
        }
        meet_all();
    }

    // The first ``count`` vertices of the list as bits.
    __device__ void list_to_bits(i64 count) {
        const u64 words = ((u64)env.rows + 31) / 32;
        for (u64 i = thread_rank(); i < words; i += threads()) bits()[i] = 0;
        meet_all();
        set_listed(bits(), queue(), (u64)count);
        meet_all();
    }

    __device__ static void set_listed(u32* to, const u32* list, u64 count) {
        for (u64 i = thread_rank(); i < count; i += threads()) {
            const u32 v = FRESH(list + i);
            atomicOr(to + (v >> 5), 1u << (v & 31));
        }
    }

    // Masters' bits as a list.
    __device__ void bits_to_list() {
        Front front;
        open_list(front, true, slot_of(tick));
        for (u64 i = thread_rank(); i - lane_id() < master_words(); i += threads()) {
            u32 word = i < master_words() ? FRESH(bits() + i) & masters_in(i) : 0;
            while (ballot(word != 0)) {
                front.add(word != 0, (u32)(32 * i) + (word ? __ffs(word) - 1 : 0));
                word &= word - 1;
            }
        }
        front.close();
        meet_all();
        turn();
    }

    // The list that counters of this tick tell of becomes the frontier.
    __device__ void turn() {
        slot = slot_of(tick++), swapped = !swapped;
        look();
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
    }

    __device__ void look() { queued = listed(slot, TAIL), edges = listed_edges(slot, TAIL); }

    __device__ void push() {
        if (queued == 0) return;
        Visit visit;
        visit.G = G, visit.stamp = visit.mirror_stamp = (u32)tick, visit.nearest = visit.seen = visit.mail = 0, visit.sent = false;
        visit.neighbours = env.out_neighbours, visit.weights = env.out_weights;
        visit.aim(slot_of(tick), swapped, false, room.staging.held[warp_in_block()]);
        const Work work = {queue(), swapped ? env.sums1 : env.sums0, env.out_offsets, (u64)queued, (u64)edges, 0};
        if (WIDE) twc(visit, work, room.twc);
        else warp_search(visit, work, room.search);
        visit.close();
    }

    __device__ void count_awake(i64 awake, i64 degrees) const {
        awake = warp_sum(awake), degrees = warp_sum(degrees);
        if (!awake || lane_id()) return;
        count(slot_of(tick) + AWAKE, awake);
        count(slot_of(tick) + EDGE_SUM, degrees);
    }

    // Where no mirror has edges to look back along, mirrors are not looked at.
    __device__ void pull() {
        const bool whole = reduces(PULL).role;
        u32* next = next_bits();
        i64 awake = 0, degrees = 0;
        const Puller puller = {G, bits()};
        pull_words(puller, (u64)(whole ? env.rows : env.masters), [&](u64 i, u32 v, bool hit, const Proposal& a) {
            const bool mine = hit && v < env.masters;
            if (mine) put(v, a), awake++, degrees += (i64)env.degree[v];
            const u32 word = ballot(hit), own = ballot(mine);
            if (lane_id()) return;
            if (i < master_words()) next[i] = own;
            if (whole && 32 * (i + 1) > (u64)env.masters) env.hits[i] = word & ~own;
            if (word) env.seen[i] |= word;
        });
        count_awake(awake, degrees);
    }

    // All have written, as bits or as positions: the first block says so, and waits for what all peers said. Whether they
    // did.
    __device__ bool exchange(const Asked& a, bool as_bits, u64 start) {
        gate.around([&]() {
            if (as_bits) post_bits(a, number);
            else post_few(a, number);
            const u64 posted = NOW();
            wait_for_messages(number);
            __syncthreads();
            packing += (i64)(posted - start), waiting += (i64)(NOW() - posted);
        });
        return !FRESH(env.post + POST_LATE);
    }

    // Hits on mirrors reach their masters.
    __device__ void reduce() {
        const Asked a = reduces(mode);
        if (!a.role) return;
        meet_all();
        const u64 start = NOW();
        const u64 listed_now = mode == PUSH ? (u64)FRESH(slot_of(tick) + MIRROR_TAIL) : 0;
        const bool as_bits = mode == PULL || listed_now > (u64)most_few;
        number++;
        if (as_bits && mode == PUSH) {
            const u64 words = ((u64)env.rows + 31) / 32;
            for (u64 i = env.masters / 32 + thread_rank(); i < words; i += threads()) env.hits[i] = 0;
            meet_all();
            set_listed(env.hits, env.mirrors, listed_now);
            meet_all();
        }
        if (as_bits) write_mirrors(a, env.hits, number);
        else append(a, {env.mirrors, listed_now, (const u32*)0, 0}, number, most_few);
        if (!exchange(a, as_bits, start)) return;
        const u64 came = NOW();
        u32* next = next_bits();
        i64 awake = 0, degrees = 0;
        Front front;
        open_list(front, true, slot_of(tick));
        for (i64 p = 0; p < env.peer_count; p++)
            each_named(a, p, number, most_few, [&](const bool* named, const i64* position, int many) {
                bool mine[WORDS_AT_ONCE];
                u32 v[WORDS_AT_ONCE];
                for (int k = 0; k < many; k++) mine[k] = named[k], v[k] = mine[k] ? peer_of(p).lids[position[k]] : 0;
                keep_new(mine, v, many);
                for (int k = 0; k < many; k++) {
                    if (mine[k]) put(v[k], propose(G, Source(), (weight_t)1, v[k]));
                    if (mode == PUSH) {
                        front.add(mine[k], v[k]);
                    } else if (mine[k]) {
                        atomicOr(next + (v[k] >> 5), 1u << (v[k] & 31));
                        awake++, degrees += (i64)env.degree[v[k]];
                    }
                }
            });
        if (mode == PUSH) front.close();
        else count_awake(awake, degrees);
        unpacking += (i64)(NOW() - came);
    }

    // Mirrors hear who is new, as far as the next round asks for it; they are reached, so nobody need tell their owners.
    __device__ void tell() {
        const Asked a = tells(mode);
        if (!a.role) return;
        const u64 start = NOW();
        const bool as_bits = mode == PULL || own_active > most_few;
        const News news = {queue(), (u64)own_active, queue(), (u64)own_active};
        number++;
        if (as_bits && mode == PUSH) mark_active(news, false), meet_all();
        if (mode == PULL && is_listed && own_active <= env.masters / LISTED_SHARE)
            write_listed(a, queue(), (u64)own_active, number, gate.due);
        else if (as_bits) write_masters(a, mode == PULL ? bits() : env.awake, number);
        else append(a, news, number, most_few);
        const bool all_came = exchange(a, as_bits, start);
        const u64 came = NOW();
        if (as_bits && mode == PUSH) mark_active(news, true);
        if (!all_came) return;
        if (mode == PULL) {
            const i64 words = (env.rows + 31) / 32;
            for (i64 i = env.masters / 32 + (i64)thread_rank(); i < words; i += (i64)threads()) {
                const u32 word = mirrors_named(a, number, i);
                bits()[i] = (FRESH(bits() + i) & masters_in((u64)i)) | word;
                if (word) env.seen[i] |= word;
            }
        } else {
            Front front;
            open_list(front, false, slot);
            for (i64 p = 0; p < env.peer_count; p++)
                each_named(a, p, number, most_few, [&](const bool* mine, const i64* position, int many) {
                    for (int k = 0; k < many; k++) {
                        const u32 v = mine[k] ? (u32)(peer_of(p).first + position[k]) : 0;
                        if (mine[k]) atomicOr(env.seen + (v >> 5), 1u << (v & 31));
                        front.add(mine[k], v);
                    }
                });
            front.close();
        }
        meet_all();
        if (mode == PUSH) look();
        unpacking += (i64)(NOW() - came);
    }

    // What all ranks reached in this round.
    __device__ Totals agree() {
        gate.around([&]() {
            const i64* now = slot_of(tick);
            for (int k = threadIdx.x; k < TOTAL_SUMS; k += BLOCK)
                room.totals.mine[k] = k == TOTAL_ACTIVES ? (mode == PULL ? FRESH(now + AWAKE) : (i64)listed(now, TAIL))
                                      : k == TOTAL_DEGREES ? FRESH(now + EDGE_SUM)
                                      : k == TOTAL_STOPS ? (i64)(NOW() - began > LOOK_AROUND) : 0;
            __syncthreads();
            agreement.post(room.totals, false);
            const i64 waited = agreement.hear(room.totals, false);
            if (threadIdx.x == 0) waiting += waited;
        });
        if (blockIdx.x) agreement.stamp++;
        return totals_now();
    }

    // What the round reached becomes the frontier.
    __device__ void advance() {
        const i64* now = slot_of(tick);
        own_active = mode == PULL ? FRESH(now + AWAKE) : (i64)listed(now, TAIL), own_edges = FRESH(now + EDGE_SUM);
        if (mode == PUSH) {
            turn();
            return;
        }
        slot = slot_of(tick++), bits_swapped = !bits_swapped, queued = edges = 0;
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
    }

    // Whether the next round is begun here: as ``conclude`` does it, which has nothing to do where ranks leave.
    __device__ bool goes_on(const Totals& t) {
        Globals next = G;
        next.round += 1, next.active = t.active;
        const Decision decision = step(next);
        const i64 way = direction(mode, forced, t.active, active, t.edges, unexplored);
        small = way == PUSH && t.active <= most && t.edges <= most ? small + 1 : 0;
        leaves = t.late || t.stops || round + 1 >= limit || decision.done;
        if (leaves || small > SMALL_IN_A_ROW) {
            if (mode == PULL && own_active) bits_to_list();
            return false;
        }
        i64* figure = env.ring + (round % RING) * FIGURES;
        if (thread_rank() == 0) figure[0] = active, figure[1] = total, figure[2] = mode, figure[3] = 0;
        round++, active = t.active, total = t.edges, G = decision.G;
        if (way == PUSH) unexplored -= total;
        if (way == PUSH && mode == PULL) bits_to_list();
        if (way == PULL && mode == PUSH) list_to_bits(own_active);
        is_listed = way == PULL && mode == PUSH;
        mode = way;
        return true;
    }
};

// ``limit``: the round to stop before.
KERNEL_OF(REACH) reach(i64 limit) {
    SHARED(ReachRoom, room);
    Reach all = {room};
    all.open(limit);
    while (true) {
        if (all.mode == PULL) all.pull();
        else all.push();
        all.reduce();
        const Totals t = all.agree();
        all.advance();
        if (!all.goes_on(t)) break;
        all.tell();
    }
    all.close();
}
