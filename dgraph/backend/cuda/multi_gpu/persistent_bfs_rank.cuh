// One rank of the persistent BFS (persistent_bfs.cuh): its state, its frontier as list and bitmap, push and pull.

struct BfsRoom {
    Staging staging;
    Totalled totals;
    AwakeRoom awake;
    union {
        WarpSearchRoom search;
        TwcRoom twc;
        BitsRoom<1> bits;
        PullRoom pull;
        BitsRoom<NAMED_AT_ONCE> named;
    };
};

// State of one rank; every thread of its grid has the same values.
struct BfsRank {
    BfsRoom& room;
    Gate gate;
    Agreement agreement;
    Globals G;
    u64 began;
    i64 number, most_few, most, limit, forced;
    i64 tick, round, mode, active, total, queued, edges, unexplored, own_active, own_edges;
    bool leaves; // returns to the host, rather than to the next kernel
    i64 small;   // rounds in a row that the kernel of small rounds could have run
    bool was_large, small_kernel_follows; // whether a round was large; whether the kernel of small rounds was launched behind this one
    bool swapped, bits_swapped, is_listed; // is_listed: the bitmap frontier also exists as a list
    i64* slot;                           // counters of the frontier
    i64 packing, waiting, unpacking;     // nanoseconds of the first thread

    __device__ void open(i64 stop) {
        const i64 *c = env.control, *post = env.post;
        began = NOW(), limit = stop;
        gate = {(u32)KNOWN(c + GATE), (u32)KNOWN(post + POST_RELEASES), env.gate, (u32*)(env.post + POST_RELEASES)};
        number = KNOWN(post + POST_NUMBER), agreement.stamp = KNOWN(post + POST_STAMP);
        most_few = KNOWN(post + POST_OFFSET_LIMIT), most = KNOWN(post + POST_SMALL_LIMIT), forced = KNOWN(c + FORCED);
        tick = KNOWN(c + TICK), round = KNOWN(c + ROUND), mode = KNOWN(c + MODE), active = KNOWN(c + TOTAL_ACTIVE);
        total = KNOWN(c + TOTAL_EDGES), queued = KNOWN(c + QUEUED), edges = KNOWN(c + LOCAL_EDGES);
        unexplored = KNOWN(c + UNEXPLORED), own_active = KNOWN(c + ACTIVE), own_edges = KNOWN(c + EDGES);
        swapped = KNOWN(c + SWAPPED), bits_swapped = KNOWN(c + BITS_SWAPPED);
        G = load_globals(round, active);
        slot = slot_of(tick - 1);
        small = packing = waiting = unpacking = 0, is_listed = was_large = false;
        small_kernel_follows = !broadcasts(PUSH).role; // else a broadcast must come first
        if (FRESH(post + POST_SEEN) != round) look_again();
        if (mode == PULL) list_to_bits(queued);
    }

    // Store the state as ``end_phase`` does after a vertex phase.
    __device__ void close() const {
        if (thread_rank()) return;
        i64 *c = env.control, *post = env.post;
        c[GATE] = gate.due, post[POST_NUMBER] = number, post[POST_STAMP] = agreement.stamp, post[POST_SEEN] = round + 1;
        c[RETURN_STATE] = leaves ? NEEDS_HOST : 0;
        c[TICK] = tick, c[ROUND] = round, c[MODE] = mode, c[TOTAL_ACTIVE] = active, c[TOTAL_EDGES] = total;
        c[UNEXPLORED] = unexplored, c[ACTIVE] = own_active, c[EDGES] = own_edges, c[SWAPPED] = swapped;
        c[QUEUED] = queued, c[LOCAL_EDGES] = edges, c[LARGEST] = FRESH(slot + MOST_DEGREE), c[BITS_SWAPPED] = bits_swapped;
        post[POST_PACKING] += packing, post[POST_WAITING] += waiting, post[POST_UNPACKING] += unpacking;
        store_globals(G);
    }

    __device__ void barrier_all_gpus() { grid_barrier(env.gate, gate.due); }
    __device__ const u32* queue() const { return swapped ? env.queue1 : env.queue0; }
    __device__ u32* bits() const { return bits_swapped ? env.bits1 : env.bits0; }
    __device__ u32* next_bits() const { return bits_swapped ? env.bits0 : env.bits1; }
    __device__ u64 master_words() const { return ((u64)env.masters + 31) / 32; }
    __device__ u32 masters_in(u64 i) const { return bits_before(i, (u64)env.masters); }
    // Exchanges of a round in direction ``in_mode``: its reduce and its broadcast.
    __device__ Asked reduces(i64 in_mode) const { return parsed(KNOWN(env.post + POST_BFS + 2 * in_mode)); }
    __device__ Asked broadcasts(i64 in_mode) const { return parsed(KNOWN(env.post + POST_BFS + 2 * in_mode + 1)); }

    // Open the list of the next frontier (``other``), or append to the current one.
    __device__ void open_list(Front& front, bool other, i64* counters) const {
        const bool second = swapped != other;
        front.open(room.staging.held[warp_in_block()][0], second ? env.queue1 : env.queue0,
                   second ? env.sums1 : env.sums0, counters, TAIL);
    }

    // Keep the vertices that are reached for the first time, and mark them as seen.
    __device__ static void keep_unseen(bool* mine, const u32* v, int many) {
        u32 before[NAMED_AT_ONCE];
        for (int k = 0; k < many; k++) mine[k] = mine[k] && !is_seen(v[k]);
        for (int k = 0; k < many; k++)
            if (mine[k]) before[k] = atomicOr(env.seen + (v[k] >> 5), 1u << (v[k] & 31));
        for (int k = 0; k < many; k++) mine[k] = mine[k] && !(before[k] >> (v[k] & 31) & 1);
    }

    // Rebuild the seen bits of masters, after rounds that did not maintain them.
    __device__ void look_again() {
        for (u64 i = warp_rank(); i < master_words(); i += warps()) {
            const u32 v = (u32)(32 * i) + lane_id(), reached = ballot(v < env.masters && !wants(G, v));
            if (lane_id() == 0) env.seen[i] = (FRESH(env.seen + i) & ~masters_in(i)) | reached;
        }
        barrier_all_gpus();
    }

    // Convert the first ``count`` vertices of the list to a bitmap.
    __device__ void list_to_bits(i64 count) {
        const u64 words = ((u64)env.rows + 31) / 32;
        for (u64 i = thread_rank(); i < words; i += threads()) bits()[i] = 0;
        barrier_all_gpus();
        set_listed(bits(), queue(), (u64)count);
        barrier_all_gpus();
    }

    __device__ static void set_listed(u32* to, const u32* list, u64 count) {
        for (u64 i = thread_rank(); i < count; i += threads()) {
            const u32 v = FRESH(list + i);
            atomicOr(to + (v >> 5), 1u << (v & 31));
        }
    }

    // Convert the masters' bitmap to a list.
    __device__ void bits_to_list() {
        Front front;
        open_list(front, true, slot_of(tick));
        each_of_bits(room.bits, (u64)env.masters, [&](u64 i) { return FRESH(bits() + i) & masters_in(i); },
                        [&](const bool* mine, const u32* v) { front.add(*mine, *v); });
        front.close();
        barrier_all_gpus();
        turn();
    }

    // Make the list of this tick the frontier.
    __device__ void turn() {
        slot = slot_of(tick++), swapped = !swapped;
        look();
        if (blockIdx.x == 0) clear(slot_of(tick + 1));
    }

    __device__ void look() { queued = listed(slot, TAIL), edges = listed_edges(slot, TAIL); }

    // Edges of the newly reached vertices, counted in the whole graph.
    __device__ i64 edges_found() const {
        const i64* now = slot_of(tick);
        return mode == PULL ? FRESH(now + EDGE_SUM) : front_edges(now);
    }

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

    // Pull. If no mirror has in-edges here, only masters are scanned.
    __device__ void pull() {
        const bool whole = reduces(PULL).role;
        u32* next = next_bits();
        i64 awake = 0, degrees = 0;
        const Puller puller = {G, bits()};
        pull_words(puller, room.pull, (u64)(whole ? env.rows : env.masters), [&](u32 v, const Proposal& a) {
            if (v < env.masters) put(v, a), awake++, degrees += degree_of(v);
            return true;
        }, [&](u64 i, u32 word) {
            const u32 own = word & masters_in(i);
            if (i < master_words()) next[i] = own;
            if (whole && 32 * (i + 1) > (u64)env.masters) env.hits[i] = word & ~own;
            if (word) env.seen[i] |= word;
        });
        count_awake(slot_of(tick), awake, degrees, room.awake);
    }
};
