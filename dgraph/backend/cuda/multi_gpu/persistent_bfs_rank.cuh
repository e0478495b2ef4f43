// One rank of the persistent BFS (persistent_bfs.cuh): its state, its frontier as list and bitmap, push and pull.

struct BfsRoom {
    Staging staging;
    Totalled totals;
    AwakeRoom awake;
    union {
        WarpSharesRoom search;
        TwcRoom twc;
        BitsRoom<1> bits;
        PullRoom pull;
        BitsRoom<NAMED_AT_ONCE> named;
    };
};

// State of one rank; every thread of its grid has the same values.
struct BfsRank : Turn {
    BfsRoom& room;
    Gate gate;
    Agreement agreement;
    Globals G;
    u64 began;
    i64 number, most_few, most, limit, forced;
    bool leaves, ends; // returns to the host, rather than to the next kernel; because the program ends
    i64 small;   // rounds in a row that the kernel of small rounds could have run
    bool was_large, small_kernel_follows; // whether a round was large; whether the kernel of small rounds was launched behind this one
    bool is_listed; // the bitmap frontier also exists as a list
    i64* slot;                           // counters of the frontier
    i64 packing, waiting, unpacking;     // nanoseconds of the first thread

    __device__ void open(i64 stop) {
        const RoundState* c = env.control;
        const ExchangeState* post = env.post;
        began = NOW(), limit = stop;
        gate = {(u32)KNOWN(&c->gate), (u32)KNOWN(&post->releases), env.gate, (u32*)&env.post->releases};
        number = KNOWN(&post->number), agreement.stamp = KNOWN(&post->stamp);
        most_few = KNOWN(&post->offset_limit), most = KNOWN(&post->small_limit), forced = KNOWN(&c->forced);
        load_turn();
        G = load_globals(round, total_active);
        slot = slot_of(tick - 1);
        small = packing = waiting = unpacking = 0, is_listed = was_large = false;
        small_kernel_follows = !broadcasts(PUSH).role; // else a broadcast must come first
        if (FRESH(&post->seen) != round) look_again();
        if (mode == PULL) list_to_bits(queued);
    }

    // Store the state as ``end_phase`` does after a vertex phase.
    __device__ void close() {
        if (thread_rank()) return;
        RoundState* c = env.control;
        ExchangeState* post = env.post;
        c->gate = gate.due, post->number = number, post->stamp = agreement.stamp, post->seen = round + 1;
        c->return_state = leaves ? NEEDS_HOST : 0, c->program_ends = ends;
        largest = FRESH(slot + MOST_DEGREE);
        store_turn();
        post->packing += packing, post->waiting += waiting, post->unpacking += unpacking;
        store_globals(G);
    }

    __device__ void barrier_all_gpus() { grid_barrier(env.gate, gate.due); }
    __device__ u64 master_words() const { return ((u64)env.masters + 31) / 32; }
    __device__ u32 masters_in(u64 i) const { return bits_before(i, (u64)env.masters); }
    // Exchanges of a round in direction ``in_mode``: its reduce and its broadcast.
    __device__ Asked reduces(i64 in_mode) const { return parsed(KNOWN(env.post->bfs + 2 * in_mode)); }
    __device__ Asked broadcasts(i64 in_mode) const { return parsed(KNOWN(env.post->bfs + 2 * in_mode + 1)); }

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

    __device__ void look() { queued = listed(slot, TAIL), local_edges = listed_edges(slot, TAIL); }

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
        const Work work = {queue(), degree_sums(), env.out_offsets, (u64)queued, (u64)local_edges, 0};
        if (WIDE) twc(visit, work, room.twc);
        else warp_shares(visit, work, room.search);
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
