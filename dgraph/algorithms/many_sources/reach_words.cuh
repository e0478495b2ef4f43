// Searches from up to 64 * WORDS sources at once on one GPU.   [Then et al., VLDB 2014; Liu, Huang & Hu, SIGMOD 2016: iBFS]
//
// A vertex has WORDS words with a bit for each source: ``seen``, those that reached it, and ``front``, those of the last
// level, which are read only where the vertex's bit in ``active`` is set. A level: if the frontier has few edges, ``mark``
// sets a bit for each vertex that they enter; ``list_rows`` lists the vertices that miss a source, of these or of all; a warp
// scans the in-edges of each, a block those of a long row; ``list_found`` lists the new frontier. WORDS lanes read a row of
// ``front`` together, so a neighbour costs one line of up to 128 bytes. No kernel reads what another thread of it writes, but
// for bits of words that atomics set and only later kernels read.

struct Env {
    const offset_t* offsets; // in-edges
    const u32* neighbours;
    const offset_t* out_offsets;
    const u32* out_neighbours;
    const u64* whole; // the bits of all sources, WORDS
    u64* seen;
    u64* front;
    u64* fresh; // front of the next level
    u32* active; // a bit for each vertex of the frontier
    u32* next; // the same of the next level, 0 at the beginning
    u32* marked;
    u32* open; // a bit for each vertex of a short row that misses a source
    const u32* long_rows; // vertices
    u32* frontier;
    u32* rows;
    u64* counts; // rows listed, vertices of the next frontier, their out-edges
    i64* far;
    i64* reached;
    int* levels; // by vertex and source; null unless requested
    i64 n, long_count, dense, frontier_count, sources, first;
};
CONSTANT Env env;

#define LISTED 0
#define FOUND 1
#define EDGES 2

DEVICE bool bit_of(const u32* words, u32 v) { return words[v >> 5] >> (v & 31) & 1; }

// A warp takes a vertex of the frontier.
KERNEL mark(i64) {
    for (u64 i = warp_rank(); i < (u64)env.frontier_count; i += warps()) {
        const u32 u = env.frontier[i];
        for (u64 e = env.out_offsets[u] + lane_id(); e < (u64)env.out_offsets[u + 1]; e += 32) {
            const u32 v = env.out_neighbours[e];
            if (!bit_of(env.marked, v)) atomicOr(env.marked + (v >> 5), 1u << (v & 31));
        }
    }
}

// Append the vertices of a lane's bits to a list; by whole warps, one atomic each.
DEVICE void append(u32* list, u64* count, u32 own, u64 word) {
    const u32 through = sum_up_to_lane((u32)__popc(own)), all = shuffle(through, 31);
    if (!all) return;
    u64 at = lane_id() == 0 ? atomicAdd(count, (u64)all) : 0;
    at = shuffle(at, 0) + through - __popc(own);
    for (; own; own &= own - 1) list[at++] = (u32)(32 * word) + __ffs(own) - 1;
}

// A thread takes a word of 32 vertices.
KERNEL list_rows(i64) {
    const u64 words = ((u64)env.n + 31) / 32;
    for (u64 i = thread_rank(); i - lane_id() < words; i += threads()) {
        u32 own = i < words ? env.open[i] : 0;
        if (own && !env.dense) own &= env.marked[i];
        append(env.rows, env.counts + LISTED, own, i);
    }
}

KERNEL list_found(i64) {
    const u64 words = ((u64)env.n + 31) / 32;
    for (u64 i = thread_rank(); i - lane_id() < words; i += threads()) {
        const u32 own = i < words ? env.next[i] : 0;
        u64 edges = 0;
        for (u32 left = own; left; left &= left - 1) {
            const u64 v = 32 * i + __ffs(left) - 1;
            edges += env.out_offsets[v + 1] - env.out_offsets[v];
        }
        append(env.frontier, env.counts + FOUND, own, i);
        edges = warp_sum(edges);
        if (lane_id() == 0 && edges) atomicAdd(env.counts + EDGES, edges);
    }
}

// The bits of active in-neighbours at edges ``from``, ``from + step`` ... and the 31 behind each, in every lane those of its
// word; by whole warps. Ends where no bit of ``missing`` is left.
DEVICE u64 gathered(u64 from, u64 end, u64 step, u64 missing) {
    const u32 word = lane_id() % WORDS, slot = lane_id() / WORDS;
    u64 found = 0;
    for (u64 e = from; e < end; e += step) {
        const u32 u = e + lane_id() < end ? env.neighbours[e + lane_id()] : 0;
        u32 left = ballot(e + lane_id() < end && bit_of(env.active, u));
        if (!left) continue;
        while (left) {
            const bool some = slot < (u32)__popc(left);
            const u32 v = shuffle(u, some ? nth_bit(left, slot) : 0);
            if (some) found |= env.front[(u64)v * WORDS + word];
            for (u32 k = 0; k < 32 / WORDS; k++) left &= left - 1;
        }
        for (u32 other = WORDS; other < 32; other <<= 1) found |= shuffle_xor(found, other);
        if (!ballot((missing & ~found) != 0)) break;
    }
    return found;
}

// Give v the sources ``found`` that it missed; a lane below WORDS writes its word.
DEVICE void reach(u32 v, u64 found, u64 missing, i64 depth) {
    if (!ballot(found != 0)) return;
    const u32 word = lane_id();
    const bool owns = word < WORDS;
    if (owns) {
        env.fresh[(u64)v * WORDS + word] = found;
        env.seen[(u64)v * WORDS + word] |= found;
        if (env.levels)
            for (u64 left = found; left; left &= left - 1)
                env.levels[(u64)v * env.sources + env.first + 64 * word + bit_count((i64)((left & (0 - left)) - 1))] = (int)depth;
    }
    const u32 bits = warp_sum(owns ? (u32)bit_count((i64)found) : 0);
    const bool closed = !ballot(owns && (missing & ~found));
    if (lane_id() == 0) {
        env.far[v] += depth * bits;
        env.reached[v] += bits;
        atomicOr(env.next + (v >> 5), 1u << (v & 31));
        if (closed) atomicAnd(env.open + (v >> 5), ~(1u << (v & 31)));
    }
}

DEVICE u64 missed(u32 v) { return env.whole[lane_id() % WORDS] & ~env.seen[(u64)v * WORDS + lane_id() % WORDS]; }

// A warp takes a listed vertex.
KERNEL scan_rows(i64 depth) {
    const u64 listed = env.counts[LISTED];
    for (u64 i = warp_rank(); i < listed; i += warps()) {
        const u32 v = env.rows[i];
        const u64 missing = missed(v);
        reach(v, gathered(env.offsets[v], env.offsets[v + 1], 32, missing) & missing, missing, depth);
    }
}

struct Parts {
    u64 of[BLOCK / 32][WORDS]; // by warp
};

// A block takes a vertex of a long row; its warps take turns of 32 edges.
KERNEL scan_long(i64 depth) {
    SHARED(Parts, parts);
    for (u64 i = blockIdx.x; i < (u64)env.long_count; i += gridDim.x) {
        const u32 v = env.long_rows[i];
        const u64 missing = missed(v);
        if (!ballot(missing != 0) || !(env.dense || bit_of(env.marked, v))) continue; // the same in all warps
        u64 found = gathered((u64)env.offsets[v] + 32 * warp_in_block(), env.offsets[v + 1], BLOCK, missing);
        if (lane_id() < WORDS) parts.of[warp_in_block()][lane_id()] = found;
        __syncthreads();
        if (warp_in_block() == 0) {
            for (u32 k = 1; k < BLOCK / 32; k++) found |= parts.of[k][lane_id() % WORDS];
            reach(v, found & missing, missing, depth);
        }
        __syncthreads();
    }
}
