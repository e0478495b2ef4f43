// Shortest paths counted from LANES sources at once on one GPU, and the dependencies of vertices.   [Brandes 2001; lanes as in
// Then et al., VLDB 2014]
//
// Every vertex has LANES doubles and bytes whose bits are lanes. A forward level: a frontier of few edges adds its ``paths``
// to those of the vertices that its edges enter (``push``), as long as all sums are integers that doubles hold in any order.
// Else ``list_rows`` lists the vertices that miss a source, all or those that ``mark`` found behind the frontier's edges, and
// ``scan`` adds ``paths`` of their in-neighbours in ``now``. ``list_found`` appends those that were reached, with their lanes,
// to a log. Backward levels take the log from its end: ``fold`` adds ``share`` = (1 + dependency) / paths of the
// out-neighbours one level deeper, and a dependency replaces its number of paths; if few edges lead to the deeper level,
// ``mark`` finds the vertices that have such neighbours.
//
// A row is summed by thread, slot of a warp, warp and part, in an order that the row's length alone decides, and neighbours
// outside the level add 0: a sum has the same bits in every run. No kernel reads what another thread of it writes, but for
// what atomics add and only later kernels read.

struct Range {
    i64 first[3], end[3]; // in the log, of short rows of out-edges (and of none), middle ones and long ones
};

struct Env {
    Side in, out;
    const u32* sources;
    u8* now; // lanes of the vertices of a level
    u8* next; // of the level that is found, or folded
    u8* old; // of the level before ``now``, cleared for the next level
    u32* active; // a bit for each vertex of ``now``, read in its place if there is one lane
    u32* found; // for each of ``next``
    u8* seen; // lanes that reached the vertex
    u32* marked;
    double* paths; // LANES for each vertex
    double* share;
    double* part_sums; // LANES for each part
    u8* part_bits;
    u32* rows; // listed vertices: of short rows, then from n on of middle ones
    u32* log;
    u8* lanes; // of each entry of the log
    double* factors; // by which the level of ``now`` was scaled, LANES
    double* most;
    double* sums; // by vertex, of all sources so far
    u64* reached; // vertices other than the source, by lane
    u64* counts;
    i64 n, dense, count, full, ends;
    i64 bases[3]; // of the log's three parts
    Range level; // of ``now`` going forward, of ``next`` going back
    Range last; // of ``old``
    Range deeper; // of ``now`` going back
};
CONSTANT Env env;

#define LISTED 0 // by list
#define EDGES 2
#define LOGGED 3 // by part of the log
#define TINY 6

// The sum of a row for each lane, in each thread of the group whose rank is that lane modulo LANES, and the lanes that occur.
struct Sum {
    double of;
    u32 lanes;
};

DEVICE u32 lanes_of(u32 v) { return LANES == 1 ? bit_of(env.active, v) : env.now[v]; }

// Sum ``values`` of neighbours at edges ``from``, ``from + step`` ... and the WIDTH - 1 behind each, in the lanes of ``wanted``
// in which they are in ``now``. By whole warps; each group of WIDTH threads has its own row.
template <int WIDTH, int DEEP>
DEVICE Sum gathered(const u32* neighbours, const double* values, u64 from, u64 end, u64 step, u32 wanted) {
    const u32 rank = lane_id() % WIDTH, base = lane_id() - rank, lane = rank % LANES, slot = rank / LANES;
    Sum sum = {0.0, 0};
    for (u64 e = from + rank; ballot(e < end); e += DEEP * step) {
        u32 u[DEEP], bits[DEEP];
        for (int k = 0; k < DEEP; k++) u[k] = e + k * step < end ? neighbours[e + k * step] : 0;
        for (int k = 0; k < DEEP; k++) bits[k] = e + k * step < end ? lanes_of(u[k]) & wanted : 0;
        for (int k = 0; k < DEEP; k++) {
            sum.lanes |= bits[k];
            if (LANES == 1) {
                if (bits[k]) sum.of += values[u[k]];
                continue;
            }
            if (!ballot(bits[k] != 0)) continue;
#pragma unroll
            for (int at = 0; at < WIDTH; at += WIDTH / LANES) {
                const u32 v = shuffle(u[k], base + at + slot);
                if (shuffle(bits[k], base + at + slot) >> lane & 1) sum.of += values[(u64)v * LANES + lane];
            }
        }
    }
    for (u32 other = LANES; other < WIDTH; other <<= 1) sum.of += shuffle_xor(sum.of, other);
    for (u32 other = 1; other < WIDTH; other <<= 1) sum.lanes |= shuffle_xor(sum.lanes, other);
    return sum;
}

struct Parts {
    double of[BLOCK / 32][LANES]; // by warp
    u32 lanes[BLOCK / 32];
};

// Sum a part; by a whole block, whose first threads write the sums.
DEVICE void sum_part(Parts& parts, const u32* neighbours, const double* values, u64 p, const Part& part, u32 wanted) {
    const Sum sum =
        gathered<32, 2>(neighbours, values, part.first + 32 * warp_in_block(), part.end, BLOCK, wanted);
    if (lane_id() < LANES) parts.of[warp_in_block()][lane_id()] = sum.of;
    if (lane_id() == 0) parts.lanes[warp_in_block()] = sum.lanes;
    __syncthreads();
    if (threadIdx.x < LANES) {
        double all = 0.0;
        for (u32 k = 0; k < BLOCK / 32; k++) all += parts.of[k][threadIdx.x];
        env.part_sums[p * LANES + threadIdx.x] = all;
    }
    if (threadIdx.x == 0) {
        u32 lanes = 0;
        for (u32 k = 0; k < BLOCK / 32; k++) lanes |= parts.lanes[k];
        env.part_bits[p] = (u8)lanes;
    }
    __syncthreads();
}

// Add the parts of a long row; by a whole warp.
DEVICE Sum joined(const Side& side, u64 place, u32 v) {
    const u64 first = side.first_part[place], end = first + (row_length(side, v) + PART - 1) / PART;
    Sum sum = {0.0, 0};
    for (u64 p = first; p < end; p++) sum.of += env.part_sums[p * LANES + lane_id() % LANES], sum.lanes |= env.part_bits[p];
    return sum;
}

KERNEL classify(i64 outward) { classify_rows(outward ? env.out : env.in, env.n); }

// A thread takes a source.
KERNEL begin(i64) {
    const u32 k = threadIdx.x;
    if (blockIdx.x || k >= env.count) return;
    const u32 v = env.sources[k];
    env.next[v] = (u8)(1u << k);
    env.paths[(u64)v * LANES + k] = 1.0;
    atomicOr(env.found + (v >> 5), 1u << (v & 31));
}

// Add the paths to u in its lanes to those of the other end of an edge.
DEVICE void push_path(u32 u, u32 lanes, u64 e) {
    const u32 v = env.out.neighbours[e], missing = lanes & ~env.seen[v];
    if (!missing) return;
    for (u32 left = missing; left; left &= left - 1) {
        const u32 lane = __ffs(left) - 1;
        add(env.paths + (u64)v * LANES + lane, env.paths[(u64)u * LANES + lane]);
    }
    if ((missing & ~env.next[v]) == 0) return;
    united(env.next + v, (u8)missing);
    mark_end(env.found, v);
}

KERNEL push(i64 some_long) {
    const Side& out = env.out;
    for (int c = 0; c < 2; c++)
        for (i64 i = env.level.first[c] + warp_rank(); i < env.level.end[c]; i += warps()) {
            const u32 u = env.log[i], lanes = env.lanes[i];
            for (u64 e = out.offsets[u] + lane_id(); e < (u64)out.offsets[u + 1]; e += 32) push_path(u, lanes, e);
        }
    for (u64 p = blockIdx.x; some_long && p < out.counts[1]; p += gridDim.x) {
        const Part part = part_of(out, p);
        const u32 lanes = env.now[part.vertex];
        for (u64 e = part.first + threadIdx.x; lanes && e < part.end; e += BLOCK) push_path(part.vertex, lanes, e);
    }
}

KERNEL mark(i64 some_long) {
    for (int c = 0; c < 2; c++)
        mark_listed(env.out, env.marked, env.log + env.level.first[c], env.level.end[c] - env.level.first[c]);
    if (some_long) mark_parts(env.out, env.marked, [&](u32 v) { return env.now[v] != 0; });
}

// As ``mark`` of the level of ``deeper``, against edges. In a directed graph long rows of in-edges are other rows.
KERNEL mark_back(i64) {
    for (int c = 0; c < 3; c++)
        for (i64 i = env.deeper.first[c] + warp_rank(); i < env.deeper.end[c]; i += warps()) {
            const u32 v = env.log[i];
            if (row_length(env.in, v) > LONG) continue;
            for (u64 e = env.in.offsets[v] + lane_id(); e < (u64)env.in.offsets[v + 1]; e += 32)
                mark_end(env.marked, env.in.neighbours[e]);
        }
    mark_parts(env.in, env.marked, [&](u32 v) { return env.now[v] != 0; });
}

DEVICE u32 missed(u32 v) { return (u32)env.full & ~env.seen[v]; }

KERNEL list_rows(i64) {
    list_by_length(env.in, env.n, env.rows, env.counts + LISTED, [&](u64 i) {
        if (!env.dense && !env.marked[i]) return 0u;
        const u32 open = bits_of_bytes(env.seen, i, env.n, [&](u8 lanes) { return lanes != env.full; });
        return env.dense ? open : open & env.marked[i];
    });
}

// Reach v in the lanes that occur; by its group.
DEVICE void reach(u32 v, u32 rank, const Sum& sum) {
    if (rank < LANES && sum.lanes >> rank & 1) env.paths[(u64)v * LANES + rank] = sum.of;
    if (rank == 0 && sum.lanes) {
        env.next[v] = (u8)sum.lanes;
        atomicOr(env.found + (v >> 5), 1u << (v & 31));
    }
}

KERNEL scan(i64) {
    SHARED(Parts, parts);
    for (u64 p = blockIdx.x; p < env.in.counts[1]; p += gridDim.x) {
        const Part part = part_of(env.in, p);
        const u32 wanted = missed(part.vertex);
        if (!wanted || !(env.dense || bit_of(env.marked, part.vertex))) continue; // the same in the whole block
        sum_part(parts, env.in.neighbours, env.paths, p, part, wanted);
    }
    for (u64 i = warp_rank(); i < env.counts[LISTED + MIDDLE_LIST]; i += warps()) {
        const u32 v = env.rows[env.n + i];
        const Sum sum = gathered<32, 2>(env.in.neighbours, env.paths, env.in.offsets[v], env.in.offsets[v + 1], 32, missed(v));
        reach(v, lane_id(), sum);
    }
    const u64 listed = env.counts[LISTED + SHORT_LIST];
    for (u64 i = warp_rank() * (32 / GROUP); i < listed; i += warps() * (32 / GROUP)) {
        const bool own = i + lane_id() / GROUP < listed;
        const u32 v = own ? env.rows[i + lane_id() / GROUP] : 0;
        const u64 from = own ? env.in.offsets[v] : 0, end = own ? env.in.offsets[v + 1] : 0;
        const Sum sum = gathered<GROUP, 2>(env.in.neighbours, env.paths, from, end, GROUP, own ? missed(v) : 0);
        if (own) reach(v, lane_id() % GROUP, sum);
    }
}

// A warp takes a long row.
KERNEL scan_joined(i64) {
    for (u64 i = warp_rank(); i < env.in.counts[0]; i += warps()) {
        const u32 v = env.in.longs[i];
        if (missed(v) && (env.dense || bit_of(env.marked, v))) reach(v, lane_id(), joined(env.in, i, v));
    }
}

// Clear ``old``.
DEVICE void clear_last() {
    for (int c = 0; c < 3; c++)
        for (i64 i = env.last.first[c] + thread_rank(); i < env.last.end[c]; i += threads()) env.old[env.log[i]] = 0;
}

// A thread takes a word of 32 vertices.
KERNEL list_found(i64) {
    const u64 words = ((u64)env.n + 31) / 32;
    for (u64 i = thread_rank(); i - lane_id() < words; i += threads()) {
        const u32 own = i < words ? env.found[i] : 0;
        const u32 of_middle = own ? own & env.out.middle_rows[i] : 0, of_long = own ? own & env.out.long_rows[i] : 0;
        const u32 of[3] = {own & ~of_middle & ~of_long, of_middle, of_long};
        u64 edges = 0;
        for (u32 left = own; left; left &= left - 1) edges += row_length(env.out, (u32)(32 * i) + __ffs(left) - 1);
        for (int c = 0; c < 3; c++)
            append(env.counts + LOGGED + c, of[c], i, [&](u64 at, u32 v) {
                env.log[env.bases[c] + at] = v;
                env.lanes[env.bases[c] + at] = env.next[v];
                env.seen[v] |= env.next[v];
            });
        edges = warp_sum(edges);
        if (lane_id() == 0 && edges) atomicAdd(env.counts + EDGES, edges);
    }
    clear_last();
}

// Call ``f(i, lane)`` for each lane of the entries of the level; a thread takes an entry.
template <class F> DEVICE void each_lane(const F& f) {
    for (int c = 0; c < 3; c++)
        for (i64 i = env.level.first[c] + thread_rank(); i < env.level.end[c]; i += threads())
            for (u32 left = env.lanes[i]; left; left &= left - 1) f(env.log[i], __ffs(left) - 1);
}

KERNEL largest(i64) {
    each_lane([&](u32 v, u32 lane) { raised(env.most + lane, env.paths[(u64)v * LANES + lane]); });
}

KERNEL scale(i64) {
    each_lane([&](u32 v, u32 lane) {
        if (env.most[lane] <= LARGE) return;
        const double scaled = env.paths[(u64)v * LANES + lane] * DOWN;
        env.paths[(u64)v * LANES + lane] = scaled;
        if (scaled < LEAST) env.counts[TINY] = 1;
    });
}

DEVICE void put_lanes(u32 v, u32 lanes) {
    env.next[v] = (u8)lanes;
    if (LANES == 1) atomicOr(env.found + (v >> 5), 1u << (v & 31));
}

// Set ``next`` of the vertices of long rows, which ``fold`` reads by part.
KERNEL put_long(i64) {
    for (i64 i = env.level.first[2] + thread_rank(); i < env.level.end[2]; i += threads())
        put_lanes(env.log[i], env.lanes[i]);
}

// Compute dependencies and shares of v in its lanes; by its group.
DEVICE void settle(u32 v, u32 lanes, u32 rank, double sum) {
    if (rank >= LANES || !(lanes >> rank & 1)) return;
    const u64 at = (u64)v * LANES + rank;
    const double paths = env.paths[at], dependency = paths * sum * env.factors[rank];
    env.share[at] = (1.0 + dependency) / paths;
    env.paths[at] = dependency;
}

DEVICE bool has_deeper(u32 v) { return env.dense || bit_of(env.marked, v); }

KERNEL fold(i64) {
    SHARED(Parts, parts);
    const Side& out = env.out;
    for (u64 p = blockIdx.x; env.level.first[2] < env.level.end[2] && p < out.counts[1]; p += gridDim.x) {
        const Part part = part_of(out, p);
        const u32 lanes = env.next[part.vertex]; // the same in the whole block
        if (lanes && has_deeper(part.vertex)) sum_part(parts, out.neighbours, env.share, p, part, lanes);
    }
    for (i64 i = env.level.first[1] + warp_rank(); i < env.level.end[1]; i += warps()) {
        const u32 v = env.log[i], lanes = env.lanes[i];
        const u64 from = out.offsets[v], end = has_deeper(v) ? (u64)out.offsets[v + 1] : from;
        settle(v, lanes, lane_id(), gathered<32, 2>(out.neighbours, env.share, from, end, 32, lanes).of);
        if (lane_id() == 0) put_lanes(v, lanes);
    }
    for (i64 i = env.level.first[0] + warp_rank() * (32 / GROUP); i < env.level.end[0]; i += warps() * (32 / GROUP)) {
        const i64 at = i + lane_id() / GROUP;
        const bool own = at < env.level.end[0];
        const u32 v = own ? env.log[at] : 0, lanes = own ? env.lanes[at] : 0;
        const u64 from = own ? out.offsets[v] : 0, end = own && has_deeper(v) ? (u64)out.offsets[v + 1] : from;
        settle(v, lanes, lane_id() % GROUP, gathered<GROUP, 2>(out.neighbours, env.share, from, end, GROUP, lanes).of);
        if (own && lane_id() % GROUP == 0) put_lanes(v, lanes);
    }
    clear_last();
}

// A warp takes a long row.
KERNEL fold_joined(i64) {
    for (u64 i = warp_rank(); i < env.out.counts[0]; i += warps()) {
        const u32 v = env.out.longs[i], lanes = env.next[v];
        if (lanes) settle(v, lanes, lane_id(), has_deeper(v) ? joined(env.out, i, v).of : 0.0);
    }
}

// Add the dependencies of all lanes, a source's own excepted; with ``ends`` a path counts for its two ends too. A thread takes a
// vertex.
KERNEL add_lanes(i64) {
    u64 reached[LANES];
    for (u32 k = 0; k < LANES; k++) reached[k] = 0;
    for (u64 i = thread_rank(); i - lane_id() < (u64)env.n; i += threads()) {
        const u32 v = (u32)i, seen = i < (u64)env.n ? env.seen[v] : 0;
        double total = 0.0;
        u32 others = seen;
        for (u32 k = 0; k < (u32)env.count; k++)
            if (env.sources[k] == v) others &= ~(1u << k);
        for (u32 k = 0; k < LANES; k++)
            if (others >> k & 1) total += env.paths[i * LANES + k];
        for (u32 k = 0; env.ends && k < LANES; k++) {
            total += others >> k & 1;
            reached[k] += __popc(ballot(others >> k & 1));
        }
        if (others) env.sums[i] += total;
    }
    for (u32 k = 0; env.ends && k < LANES; k++)
        if (lane_id() == 0 && reached[k]) atomicAdd(env.reached + k, reached[k]);
}
