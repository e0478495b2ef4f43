// What a schedule spreads over threads, and what happens at every edge. A schedule calls ``visit.edges`` with whole
// warps: lanes without an edge take part and say so.

// Bits of the frontier.
DEVICE const u32* active_bits() { return KNOWN(&env.control->bits_swapped) ? env.bits1 : env.bits0; }

struct Work {
    const u32* items;        // vertices; null: every vertex of the rows
    const prefix_t* sums;    // before each item, the degrees in front of it
    const offset_t* offsets; // CSR of the edges that are walked
    u64 count, edges;
    i64 number;              // of the schedule's option: a threshold, a size

    __device__ u32 item(u64 i) const { return items ? LOAD(items + i) : (u32)i; }
    __device__ u64 start(u64 i) const { return items ? (u64)LOAD(sums + i) : (u64)offsets[i]; }
    __device__ u64 end(u64 i) const { return i + 1 < count ? start(i + 1) : edges; }
    __device__ offset_t first(u32 v) const { return offsets[v]; }
    // A sweep passes over the rows of vertices that are not active.
    __device__ offset_t last(u32 v) const {
        const bool none = WALK == WALK_ROWS && !(active_bits()[v >> 5] >> (v & 31) & 1);
        return offsets[none ? v : v + 1];
    }

    // The last item whose edges start at ``edge`` or before; between ``low`` and ``high``, which starts far_list it.
    __device__ u64 holding(u64 edge, u64 low, u64 high) const {
        return last_where(low, high, [&](u64 i) { return start(i) <= edge; });
    }
};

// Edges as a list: source and position in the rows. There are two, the one that this round walks and the next one's;
// where every row is walked, or no vertex hands on its edges, there is one.
struct EdgeList {
    u32* sources;
    offset_t* positions;

    // ``degree`` edges of u from ``first`` on, to ``at`` and on; by ``step`` threads, each its ``mine``-th.
    __device__ void put(u64 at, u32 u, offset_t first, u64 degree, u32 mine, u32 step) const {
        for (u64 k = mine; k < degree; k += step) sources[at + k] = u, positions[at + k] = first + (offset_t)k;
    }
};

DEVICE EdgeList edge_list(bool swapped) {
    const u64 skipped = EMIT_NEXT_EDGES && swapped ? (u64)env.out_edges : 0;
    return {env.scratch0 + skipped, (offset_t*)env.scratch2 + skipped};
}

// Rounds of several GPUs in one launch. There, and where no vertex has a mirror, a visit itself sorts vertices into near and
// far; else a pass over the touched vertices does: more lists take more registers, and fewer warps would run at once.
#define MULTI_GPU (PERSISTENT && !FUSED)
#define MAILS (MIRROR_PROPOSALS >= PROPOSALS_MAILED)
#define SORTS (PRIORITY && !APPLY && (FUSED || MULTI_GPU))
#define TOUCHES ((APPLY && !KCORE_PEEL) || (PRIORITY && !SORTS))

#if MULTI_GPU
// Where lanes hit, what mirrors v are proposed into the message that is being written (device_signals.cuh); whether this lane
// wrote.
template <int K>
DEVICE bool send_mirrors(const bool (&hit)[K], const u32 (&v)[K], const Proposal (&p)[K], i64 number);
#else
template <int K> DEVICE bool send_mirrors(const bool (&)[K], const u32 (&)[K], const Proposal (&)[K], i64) { return false; }
#endif

// Puts v into the far bucket; the bits of 32 vertices as they were before. In a small round one atomic takes
// less time than a read and an atomic.
DEVICE u32 last_waiting(u32 v) {
    const u32 bit = 1u << (v & 31);
    u32* word = env.waiting + (v >> 5);
    const u32 seen = PERSISTENT ? 0 : FRESH(word);
    return seen & bit ? seen : atomicOr(word, bit);
}
DEVICE bool marked_far(u32 v) { return !(last_waiting(v) >> (v & 31) & 1); }

// In small rounds a vertex is put on a list while its value is being lowered: who found a worse one there knows that it is
// lowered in this round, by this thread or another, and whichever is first lists it. (Broad rounds have many warps, if
// each has few registers.)
#define MARK_EARLY (PERSISTENT && FLAGGED && !SEEN)

// One round's visit of edges u → v: proposals reach v, and v joins a list when it changed for the first time.
// PULLING: the items are the v, and the edges are walked backwards.
struct Visit {
    Globals G;
    u32 stamp, mirror_stamp; // of this round; of mirrors, for as long as they are not sent twice
    i64 nearest;
    const u32* neighbours;
    const weight_t* weights;
    const u32* bits;
    u32* culled;
    Front front;
    List touched, mirror_list, far_list; // ``mirror_list``: mirrors; ``far_list``: vertices of farther buckets
    i64 seen, mail;               // ``mail``: the message that mirrors' proposals join at once, 0: mirrors are listed
    bool sent;
    Sums sums;                    // where KCORE_PEEL

    __device__ void open(const Globals& globals, i64 tick, i64 bucket_now, u32 (*staging)[STAGED_VERTICES]) {
        i64* slot = slot_of(tick);
        const RoundState* c = env.control;
        G = globals, stamp = mirror_stamp = (u32)tick, nearest = bucket_now, seen = mail = 0, sent = false;
        neighbours = PULLING ? env.in_neighbours : env.out_neighbours;
        weights = PULLING ? env.in_weights : env.out_weights;
        bits = active_bits();
        sums = no_sums();
        const bool swapped = KNOWN(&c->swapped), far_swapped = KNOWN(&c->far_swapped);
        aim(slot, swapped, far_swapped, staging);
    }

    __device__ void aim(i64* slot, bool swapped, bool far_swapped, u32 (*staging)[STAGED_VERTICES]) {
        if (!ALL && TOUCHES) touched.open(staging[0], env.touched, slot + TOUCHED_TAIL);
        else front.open(staging[0], swapped ? env.queue0 : env.queue1, swapped ? env.sums0 : env.sums1, slot, TAIL);
        if (!FUSED) mirror_list.open(staging[1], env.mirrors, slot + MIRROR_TAIL);
        if (SORTS) far_list.open(staging[FAR_STAGING], far_swapped ? env.far1 : env.far0, &env.control->far);
    }

    // Whether what mirror v is proposed goes into a message by itself.
    __device__ bool mailed(u32 v) const { return MAILS && mail && v >= env.masters; }

    __device__ bool is_active(u32 u) const { return ALL || (bits[u >> 5] >> (u & 31) & 1); }

    __device__ Source source(bool mine, u32 u) const {
        Source none = Source();
        return !PULLING && mine ? at_source(G, u) : none;
    }

    // Of lanes that propose to one vertex the first goes on; and of a block's threads the first as long as a table
    // remembers the vertex. Only where it does not matter which of the proposals arrives.
    // [Merrill et al. 2012: warp and history culling; Busato & Bombieri 2015: hash64, where (vertex, thread) is written
    // and read again to see who was first; an exchange says so at once]
    __device__ bool survives(bool near, u32 v) const {
        if (CULL & CULL_WARP) {
            const bool first = first_alike(near ? (u64)v : (1ull << 32) + lane_id());
            near = near && first;
        }
        if (CULL & CULL_HASH && near) near = atomicExch(culled + (v * 2654435761u >> 22), v) != v;
        return near;
    }

    // K edges, e[k] of item u[k] where has[k]. Loads and atomics of one kind follow each other, so that they are under
    // way together: a round waits for each kind once, and not for each edge.
    template <int K>
    __device__ void batch(const bool (&has)[K], const offset_t (&e)[K], const u32 (&u)[K], const Source (&s)[K]) {
        u32 v[K], other[K], before[K], mark[K], word[K];
        bool near[K], far[K], improved[K];
        Proposal p[K];
        Claim claim[K];
        Peeled peeled[K];
        weight_t w[K];
        for (int k = 0; k < K; k++) {
            near[k] = has[k];
            w[k] = WEIGHTED && near[k] ? weights[e[k]] : (weight_t)1;
            if (RECORD) seen += near[k];
            if (PREFILTERS && !PULLING && near[k]) p[k] = propose(G, s[k], w[k], 0), near[k] = !is_identity(p[k]);
            other[k] = near[k] ? neighbours[e[k]] : 0;
            v[k] = PULLING ? u[k] : other[k];
        }
        for (int k = 0; k < K; k++) near[k] = near[k] && (PULLING ? is_active(other[k]) : WALK != WALK_ROWS || is_active(u[k]));
        for (int k = 0; k < K; k++) near[k] = near[k] && (SEEN ? !is_seen(v[k]) : wants(G, v[k]));
        for (int k = 0; k < K; k++) near[k] = CULL && SEEN ? survives(near[k], v[k]) : near[k];
        for (int k = 0; k < K; k++) {
            if (MULTI_GPU && MARK_EARLY && near[k] && marks(v[k])) PREFETCH(env.stamps + v[k]);
            if (near[k] && (PULLING || !PREFILTERS)) p[k] = propose(G, PULLING ? at_source(G, other[k]) : s[k], w[k], v[k]);
            near[k] = near[k] && (SEEN || (KCORE_PEEL ? !is_identity(p[k]) : improves(v[k], p[k])));
        }
        for (int k = 0; k < K; k++) {
            const bool master = FUSED || v[k] < env.masters;
            far[k] = SORTS && near[k] && master && bucket_of(v[k], p[k]) > nearest;
            if (near[k] && SEEN) before[k] = atomicOr(env.seen + (v[k] >> 5), 1u << (v[k] & 31));
            if (near[k] && KCORE_PEEL && master) peeled[k] = peel(G, v[k], p[k]);
            else if (near[k] && !SEEN && !(MIRROR_PROPOSALS == PROPOSALS_ALL_MAILED && mailed(v[k]))) claim[k] = attempt(v[k], p[k]);
            if (far[k] && PERSISTENT) word[k] = last_waiting(v[k]);
            else if (near[k] && MARK_EARLY && marks(v[k])) mark[k] = last_mark(v[k]);
        }
        if (ALL) return;
        for (int k = 0; k < K; k++) {
            const bool master = FUSED || v[k] < env.masters;
            if (KCORE_PEEL && near[k] && master) count_peeled(sums, G, peeled[k]), near[k] = peeled[k].drops;
            else if (SEEN) near[k] = near[k] && !(before[k] >> (v[k] & 31) & 1);
            else if (MARK_EARLY && (far[k] || marks(v[k]))) near[k] = near[k] && (far[k] || mark[k] != mark_of(v[k]));
            else if (!(MIRROR_PROPOSALS == PROPOSALS_ALL_MAILED && mailed(v[k]))) near[k] = near[k] && succeeded(p[k], claim[k]);
            if (SEEN && near[k] && master) put(v[k], p[k]);
            improved[k] = near[k];
            far[k] = far[k] && near[k];
            near[k] = near[k] && !far[k];
            if (PERSISTENT) far[k] = far[k] && !(word[k] >> (v[k] & 31) & 1);
            else near[k] = near[k] && marked_first(v[k]), far[k] = far[k] && marked_far(v[k]);
        }
        for (int k = 0; k < K; k++) {
            const bool master = FUSED || v[k] < env.masters;
            if (TOUCHES) touched.add(near[k] && master, v[k]);
            else front.add(near[k] && master, v[k]);
            if (MAILS && mail) near[k] = near[k] && !master;
            else if (!FUSED) mirror_list.add(near[k] && !master, v[k]);
            if (SORTS) far_list.add(far[k], v[k]);
            if (EMIT_NEXT_EDGES) emit_edges(EMIT_REPEATED ? improved[k] : near[k], v[k]);
        }
        if (MAILS && mail) sent |= send_mirrors(near, v, p, mail);
    }

    // Proposals from another rank into masters, K where ``mine``, which join lists where they change. As in a batch, what is
    // of one kind is under way together.
    template <int K> CALLED_MEMBER void receive(const bool (&mine)[K], const u32 (&v)[K], const Proposal (&p)[K]) {
        bool near[K], far[K];
        Claim claim[K];
        u32 mark[K];
        for (int k = 0; k < K; k++) {
            near[k] = mine[k] && !is_identity(p[k]);
            if (MARK_EARLY && near[k] && marks(v[k])) PREFETCH(env.stamps + v[k]);
            near[k] = near[k] && (KCORE_PEEL ? wants(G, v[k]) : improves(v[k], p[k]));
        }
        for (int k = 0; k < K; k++) {
            if (KCORE_PEEL && near[k]) {
                const Peeled peeled = peel(G, v[k], p[k]);
                count_peeled(sums, G, peeled);
                near[k] = peeled.drops;
            } else if (near[k]) {
                claim[k] = attempt(v[k], p[k]);
            }
        }
        if (ALL) return;
        for (int k = 0; k < K; k++) {
            near[k] = near[k] && (KCORE_PEEL || MARK_EARLY || succeeded(p[k], claim[k]));
            far[k] = SORTS && near[k] && bucket_of(v[k], p[k]) > nearest;
            near[k] = near[k] && !far[k];
            if (near[k] && marks(v[k])) mark[k] = last_mark(v[k]);
            far[k] = far[k] && marked_far(v[k]);
        }
        for (int k = 0; k < K; k++) {
            near[k] = near[k] && !(marks(v[k]) && mark[k] == mark_of(v[k]));
            if (TOUCHES) touched.add(near[k], v[k]);
            else front.add(near[k], v[k]);
            if (SORTS) far_list.add(far[k], v[k]);
        }
    }

    // The edges of a vertex that has just joined the frontier, into the list that the next round walks. EMIT_REPEATED: of a
    // vertex that a proposal has improved, which may be so several times; what is past the list's end is only counted.
    __device__ void emit_edges(bool joined, u32 v) const {
        u64* tail = (u64*)(slot_of(stamp) + EMITTED_TAIL);
        const offset_t first = joined ? env.out_offsets[v] : 0;
        const u64 degree = joined ? (u64)(env.out_offsets[v + 1] - first) : 0;
        const u64 at = degree && EDGE_CHUNK ? atomicAdd(tail, degree) : 0;
        const EdgeList list = edge_list(!KNOWN(&env.control->swapped));
        for (u32 left = ballot(degree > 0); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1, source = shuffle(v, lane);
            const u64 place = shuffle(at, lane), all = shuffle(degree, lane);
            const offset_t edge = shuffle(first, lane);
            if (EDGE_CHUNK) list.put(place, source, edge, place + all <= (u64)env.out_edges ? all : 0, lane_id(), 32);
            else for (u64 k = lane_id(); k < all; k += 32) {
                const u64 own = atomicAdd(tail, 1ull);
                list.put(own, source, edge + (offset_t)k, own < (u64)env.out_edges, 0, 1);
            }
        }
    }

    // Edges e, e + 1 … of item u that lie before ``last``, at most K.
    template <int K> __device__ void edges(offset_t first, offset_t last, u32 item, const Source& source) {
        bool has[K];
        offset_t e[K];
        u32 u[K];
        Source s[K];
        for (int k = 0; k < K; k++) has[k] = first + k < last, e[k] = first + k, u[k] = item, s[k] = source;
        batch<K>(has, e, u, s);
    }

    // Whether v is marked when it joins a list, as it may change again: but what is dropped is so once, and what a
    // message takes is in no list.
    __device__ bool marks(u32 v) const { return FLAGGED && !(KCORE_PEEL && (FUSED || v < env.masters)) && !mailed(v); }
    __device__ u32 mark_of(u32 v) const { return !FUSED && v >= env.masters ? mirror_stamp : stamp; }
    __device__ u32 last_mark(u32 v) const {
        const u32 mark = mark_of(v);
        return !PERSISTENT && FRESH(env.stamps + v) == mark ? mark : atomicExch(env.stamps + v, mark);
    }
    // Whether v is not on the list of this round yet.
    __device__ bool marked_first(u32 v) const { return !marks(v) || last_mark(v) != mark_of(v); }

    __device__ void close() {
        if (RECORD) env.record[blockIdx.x * (u64)BLOCK + threadIdx.x] += seen;
        if (ALL) return;
        const u64 at_touched = TOUCHES ? touched.reserve(touched.staged) : 0;
        const u64 at_mirrors = FUSED ? 0 : mirror_list.reserve(mirror_list.staged);
        const u64 at_far = SORTS ? far_list.reserve(far_list.staged) : 0;
        if (!TOUCHES) front.close();
        if (TOUCHES) touched.put(touched.staged, at_touched);
        if (!FUSED) mirror_list.put(mirror_list.staged, at_mirrors);
        if (SORTS) far_list.put(far_list.staged, at_far);
        if (KCORE_PEEL) flush_sums(front.slot, sums);
    }
};
