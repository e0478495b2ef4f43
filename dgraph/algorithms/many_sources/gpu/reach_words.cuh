// Searches from up to 64 * WORDS sources at once on one GPU.   [Then et al., VLDB 2014; Liu, Huang & Hu, SIGMOD 2016: iBFS]
//
// A vertex has WORDS words with a bit for each source: ``seen``, those that reached it, and ``front``, those of the last
// level, which are read only where the vertex's bit in ``active`` is set. A level: if the frontier has few edges, ``mark``
// sets a bit for each vertex that they enter; ``list_rows`` lists the vertices that miss a source, of these or of all;
// ``scan`` reads the in-edges of each until all missing bits of sources that still have a frontier are found; ``list_found`` lists the new frontier. WORDS threads
// read a row of ``front`` together, so a neighbour costs one line of up to 128 bytes. Distances are kept in binary: a word
// of ``digits[b]`` has the digit b of the distances from its sources. No kernel reads what another thread of it writes, but
// for bits of words that atomics set and only later kernels read.

struct Env {
    Side in, out;
    const u32* at; // sources of the batch
    const u64* alive; // the bits of sources that reached a vertex in the last level, WORDS
    u64* found_alive; // of the next level
    u64* seen;
    u64* front;
    u64* fresh; // front of the next level
    u32* active; // a bit for each vertex of the frontier
    u32* next; // the same of the next level, 0 at the beginning
    u32* marked;
    u32* open; // a bit for each vertex that misses a source
    u64* part_words; // WORDS for each part
    u32* frontier; // vertices of short and middle rows of out-edges
    u32* rows; // listed vertices: of short rows, then from n on of middle ones
    u64* counts;
    i64* far; // null unless requested, as reached and digits
    i64* reached;
    int* column;
    u64* digits[DIGITS]; // by vertex, ``words`` each
    const u64* bits; // the sources that reached each vertex, ``stride`` words
    i64 n, dense, frontier_count, count, words, first, stride, depth;
};
CONSTANT Env env;

#define LISTED 0 // by list
#define FRONTIER 2
#define LONGS 3
#define EDGES 4
#define FOUND 5
#define PAIRS 6

KERNEL classify(i64 outward) { classify_rows(outward ? env.out : env.in, env.n); }

// A thread takes a source, and then a word of 32 vertices.
KERNEL begin(i64) {
    for (u64 k = thread_rank(); k < (u64)env.count; k += threads()) {
        const u64 v = env.at[k];
        for (u32 word = 0; word < WORDS; word++) {
            const u64 bit = word == k / 64 ? 1ull << k % 64 : 0;
            env.fresh[v * WORDS + word] = env.seen[v * WORDS + word] = bit;
        }
        atomicOr(env.next + (v >> 5), 1u << (v & 31));
    }
    for (u64 i = thread_rank(); i < ((u64)env.n + 31) / 32; i += threads()) env.open[i] = bits_before(i, env.n);
}

KERNEL mark(i64 some_long) {
    mark_listed(env.out, env.marked, env.frontier, env.frontier_count);
    if (some_long) mark_parts(env.out, env.marked, [&](u32 v) { return bit_of(env.active, v); });
}

KERNEL list_rows(i64) {
    list_by_length(env.in, env.n, env.rows, env.counts + LISTED, [&](u64 i) {
        return env.dense ? env.open[i] : env.marked[i] ? env.open[i] & env.marked[i] : 0;
    });
}

// A thread takes a word of 32 vertices.
KERNEL list_found(i64) {
    const u64 words = ((u64)env.n + 31) / 32;
    u64 edges = 0;
    u32 found = 0, longs = 0;
    for (u64 i = thread_rank(); i - lane_id() < words; i += threads()) {
        const u32 own = i < words ? env.next[i] : 0;
        for (u32 left = own; left; left &= left - 1) edges += row_length(env.out, (u32)(32 * i) + __ffs(left) - 1);
        found += __popc(own);
        longs += own ? __popc(own & env.out.long_rows[i]) : 0;
        const u32 listed = own ? own & (env.out.short_rows[i] | env.out.middle_rows[i]) : 0;
        append(env.counts + FRONTIER, listed, i, [&](u64 at, u32 v) { env.frontier[at] = v; });
    }
    edges = warp_sum(edges), found = warp_sum(found), longs = warp_sum(longs);
    if (lane_id() == 0 && found) {
        atomicAdd(env.counts + EDGES, edges);
        atomicAdd(env.counts + FOUND, (u64)found);
        if (longs) atomicAdd(env.counts + LONGS, (u64)longs);
    }
}

// The bits of active in-neighbours at edges ``from``, ``from + step`` ... and the WIDTH - 1 behind each, in every thread those
// of its word. By whole warps; each group has its own row, and ends where no bit of ``missing`` is left.
template <int WIDTH> DEVICE u64 gathered(u64 from, u64 end, u64 step, u64 missing) {
    const u32 rank = lane_id() % WIDTH, base = lane_id() - rank, word = rank % WORDS, slot = rank / WORDS;
    u64 found = 0;
    for (u64 e = from + rank; ballot(e < end); e += step) {
        const u32 u = e < end ? env.in.neighbours[e] : 0;
        const bool hit = e < end && bit_of(env.active, u);
        if (WORDS == 1) {
            if (hit) found |= env.front[u];
        } else {
            for (u32 left = ballot_of<WIDTH>(hit); ballot(left != 0);) {
                const bool some = slot < (u32)__popc(left);
                const u32 v = shuffle(u, base + (some ? nth_bit(left, slot) : 0));
                if (some) found |= env.front[(u64)v * WORDS + word];
                for (u32 k = 0; k < WIDTH / WORDS; k++) left &= left - 1;
            }
        }
        for (u32 other = WORDS; other < WIDTH; other <<= 1) found |= shuffle_xor(found, other);
        if (!ballot_of<WIDTH>((missing & ~found) != 0)) end = 0;
    }
    return found;
}

// What a thread found: pairs of a source and a vertex, and the sources of its word.
struct Tally {
    u32 pairs;
    u64 sources;
};

// Give v the sources ``found`` that it missed; by whole warps. No source without a frontier reaches it later.
template <int WIDTH> DEVICE void reach(Tally& tally, bool own, u32 v, u64 found, u64 missing, i64 depth) {
    const u32 rank = lane_id() % WIDTH;
    const bool some = ballot_of<WIDTH>(found != 0), closed = !ballot_of<WIDTH>((missing & ~found) != 0);
    const u32 count = rank < WORDS ? (u32)bit_count((i64)found) : 0;
    if (own && some && rank < WORDS) {
        const u64 at = (u64)v * WORDS + rank;
        env.fresh[at] = found;
        if (found) env.seen[at] |= found;
        if (found && env.digits[0])
            for (u32 b = 0; depth >> b; b++)
                if (depth >> b & 1) env.digits[b][(u64)v * env.words + env.first + rank] |= found;
    }
    u32 all = count;
    if (env.far)
        for (u32 other = 1; other < WORDS; other <<= 1) all += shuffle_xor(all, other);
    if (own && some && rank == 0) {
        if (env.far) env.far[v] += depth * all, env.reached[v] += all;
        atomicOr(env.next + (v >> 5), 1u << (v & 31));
    }
    if (own && closed && rank == 0) atomicAnd(env.open + (v >> 5), ~(1u << (v & 31)));
    tally.pairs += count;
    if (rank < WORDS) tally.sources |= found;
}

DEVICE u64 missed(u32 v) { return env.alive[lane_id() % WORDS] & ~env.seen[(u64)v * WORDS + lane_id() % WORDS]; }

DEVICE void add_tally(const Tally& tally) {
    const u64 pairs = warp_sum((u64)tally.pairs);
    u64 sources = tally.sources;
    for (u32 other = WORDS; other < 32; other <<= 1) sources |= shuffle_xor(sources, other);
    if (lane_id() < WORDS && (sources & ~FRESH(env.found_alive + lane_id()))) atomicOr(env.found_alive + lane_id(), sources);
    if (lane_id() == 0 && pairs) atomicAdd(env.counts + PAIRS, pairs);
}

struct Parts {
    u64 of[BLOCK / 32][WORDS]; // by warp
};

KERNEL scan(i64 depth) {
    SHARED(Parts, parts);
    const Side& in = env.in;
    Tally tally = {0, 0};
    for (u64 p = blockIdx.x; p < in.counts[1]; p += gridDim.x) {
        const Part part = part_of(in, p);
        if (!bit_of(env.open, part.vertex) || !(env.dense || bit_of(env.marked, part.vertex))) continue;
        const u64 found =
            gathered<32>(part.first + 32 * warp_in_block(), part.end, BLOCK, missed(part.vertex));
        if (lane_id() < WORDS) parts.of[warp_in_block()][lane_id()] = found;
        __syncthreads();
        if (threadIdx.x < WORDS) {
            u64 all = 0;
            for (u32 k = 0; k < BLOCK / 32; k++) all |= parts.of[k][threadIdx.x];
            env.part_words[p * WORDS + threadIdx.x] = all;
        }
        __syncthreads();
    }
    for (u64 i = warp_rank(); i < env.counts[LISTED + MIDDLE_LIST]; i += warps()) {
        const u32 v = env.rows[env.n + i];
        const u64 missing = missed(v);
        reach<32>(tally, true, v, gathered<32>(in.offsets[v], in.offsets[v + 1], 32, missing) & missing, missing, depth);
    }
    const u64 listed = env.counts[LISTED + SHORT_LIST];
    for (u64 i = warp_rank() * (32 / GROUP); i < listed; i += warps() * (32 / GROUP)) {
        const bool own = i + lane_id() / GROUP < listed;
        const u32 v = own ? env.rows[i + lane_id() / GROUP] : 0;
        const u64 missing = own ? missed(v) : 0, from = own ? in.offsets[v] : 0, end = own ? in.offsets[v + 1] : 0;
        reach<GROUP>(tally, own, v, gathered<GROUP>(from, end, GROUP, missing) & missing, missing, depth);
    }
    add_tally(tally);
}

// A warp takes a long row.
KERNEL scan_joined(i64 depth) {
    const Side& in = env.in;
    Tally tally = {0, 0};
    for (u64 i = warp_rank(); i < in.counts[0]; i += warps()) {
        const u32 v = in.longs[i];
        const u64 missing = missed(v);
        if (!ballot(missing != 0) || !(env.dense || bit_of(env.marked, v))) continue;
        u64 found = 0;
        const u64 first = in.first_part[i], end = first + (row_length(in, v) + PART - 1) / PART;
        for (u64 p = first; p < end; p++) found |= env.part_words[p * WORDS + lane_id() % WORDS];
        reach<32>(tally, true, v, found & missing, missing, depth);
    }
    add_tally(tally);
}

// Write the distances from source k of all batches, -1 where there is none. A thread takes a vertex.
KERNEL decode(i64 k) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        int distance = -1;
        if (env.bits[v * env.stride + k / 64] >> k % 64 & 1) {
            distance = 0;
            for (u32 b = 0; env.depth >> b; b++)
                distance |= (int)(env.digits[b][v * env.words + k / 64] >> k % 64 & 1) << b;
        }
        env.column[v] = distance;
    }
}
