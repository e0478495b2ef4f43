// Propagation blocking: sums over all edges of values read at sources only, by tiles of targets.
//    [Beamer, Asanović, Patterson, IPDPS 2017]
//
// A block keeps a tile's sums in shared memory; the tile's edges are roughly ordered by source, so lanes of a warp read
// neighbouring values. Sums are fixed-point numbers of 64 bits, held as two 32-bit halves, because float atomics on
// shared memory are slow. Fixed-point addition is associative, so results have the same bits in every order of edges.
// The binary point is chosen in every round from the largest magnitude of the terms (``find_largest_term``).

// Words of ``tile_words``: largest magnitude of a term, one a parity of the round; next piece to claim, for masters and
// for mirrors.
#define LARGEST_TERM 0
#define CLAIMED 2

struct Piece {
    i64 first, count, tile, cut; // cut: which of the tiles that several blocks add up; below 0: of none
};

typedef decltype(Proposal().p0) Term;

DEVICE Term term_of(const Globals& G, u32 u, weight_t w) { return propose(G, at_source(G, u), w, 0).p0; }

#if BYTE_WEIGHTS
struct Byte {
    u8 weight;
};

DEVICE Term term_of(const Globals& G, u32 u, Byte w) { return propose_byte(G, at_source(G, u), w.weight, 0).p0; }
#endif

// Upper half of the bits of |x|, exponent first, so that it ascends with |x|.
DEVICE u32 magnitude(double x) { return (u32)(bits_of(x) >> 32) & 0x7fffffffu; }

DEVICE i64 rounded(float x) { return __float2ll_rn(x); }
DEVICE i64 rounded(double x) { return __double2ll_rn(x); }

// 2 to the n-th, for -1022 … 1023.
DEVICE double power_of_two(int n) { return value_of((u64)(n + 1023) << 52); }

// Binary point of a tile's sums, as a power of two. Terms are below 2^(exponent - 1022) and a row has at most
// ``bound``, so sums stay below 2^62.
struct Scale {
    bool finite;
    int power;

    __device__ Scale(u32 largest, u32 bound) {
        const int exponent = (int)(largest >> 20), most = sizeof(Term) == 4 ? 127 : 1022;
        finite = exponent < 2047;
        power = smaller(62 + 1022 - exponent - (32 - __clz(bound)), most);
    }
    __device__ Term up() const { return (Term)power_of_two(power); }
    __device__ Term down(i64 sum) const { return (Term)((double)sum * power_of_two(-power)); }
};

DEVICE u32 largest_now() { return KNOWN(env.tile_words + LARGEST_TERM + (KNOWN(&env.control->round) & 1)); }

DEVICE bool of_mirrors(i64 tile) { return tile >= env.master_tiles; }

DEVICE u32 first_of(i64 tile) {
    return (u32)(of_mirrors(tile) ? env.masters + (tile - env.master_tiles) * TILE : tile * TILE);
}

DEVICE u32 rows_of(i64 tile) {
    return (u32)smaller((i64)TILE, (of_mirrors(tile) ? env.rows : env.masters) - (i64)first_of(tile));
}

// True if u is the source of an edge; the value elsewhere is arbitrary. Mirrors are sources where rows serve as
// in-edges.
DEVICE bool is_read(u64 u) {
    return env.out_offsets[u] < env.out_offsets[u + 1] || (env.neighbours_read && u >= (u64)env.masters);
}

// Find the largest magnitude of a term, or of one times the heaviest edge's weight, by atomicMax after a warp
// reduction. Any grid.
KERNEL find_largest_term(i64) {
    if (is_over()) return;
    const Globals G = globals_now();
    const double heaviest = WEIGHTED ? value_of((u64)env.tile_heaviest) : 1;
    u32 most = 0;
    for (u64 u = thread_rank(); u < (u64)env.rows; u += threads())
        if (is_read(u)) most = larger(most, magnitude((double)term_of(G, (u32)u, 1) * heaviest));
    most = warp_most(most);
    u32* slot = env.tile_words + LARGEST_TERM + (KNOWN(&env.control->round) & 1);
    if (lane_id() == 0 && most > FRESH(slot)) atomicMax(slot, most);
}

// Add a term to row i of the block's tile: two 32-bit atomics with carry.
DEVICE void take_term(u32* sums, u32 i, Term x, Term up, bool finite) {
    if (!finite) {
        add((Term*)sums + i, x);
        return;
    }
    const i64 fixed = rounded(x * up);
    const u32 low = (u32)fixed, before = atomicAdd(sums + i, low);
    const u32 high = (u32)((u64)fixed >> 32) + (before + low < before);
    if (high) atomicAdd(sums + TILE + i, high);
}

// Weights of four edges from edge e on, which is a multiple of four; read in whole words.
template <class W> struct FourWeights {
    union {
        u32 words[sizeof(W)];
        W of[4];
    };

    __device__ FourWeights(i64 e) {
        const u32* from = (const u32*)((const W*)env.tile_weights + e);
        if (!WEIGHTED) {
            for (u32 k = 0; k < 4; k++) of[k] = {1};
        } else if (sizeof(W) == 1) {
            words[0] = streamed(from);
        } else {
            for (u32 k = 0; k < sizeof(W); k += 4) {
                const Four<u32> some = streamed((const Four<u32>*)(from + k));
                for (u32 i = 0; i < 4; i++) words[k + i] = some.of[i];
            }
        }
    }
};

// Accumulate a piece's edges, four a thread at a time.
template <class W> DEVICE void take_edges(const Globals& G, u32* sums, const Piece& piece, Term up, bool finite) {
    const u32 count = (u32)piece.count;
    for (u32 at = 4 * threadIdx.x; at < count; at += 4 * TILE_BLOCK) {
        const Four<u32> u = streamed((const Four<u32>*)(env.tile_sources + piece.first + at));
        const u64 rows = streamed((const u64*)(env.tile_targets + piece.first + at));
        const FourWeights<W> w(piece.first + at);
        const u32 left = count - at;
        Term x[4];
        for (u32 k = 0; k < 4; k++) x[k] = k < left ? term_of(G, u.of[k], w.of[k]) : 0;
        for (u32 k = 0; k < 4; k++)
            if (k < left) take_term(sums, (u32)(rows >> 16 * k) & 0xffff, x[k], up, finite);
    }
}

// Store the sums of a whole tile, or add those of a cut tile to its partial sums; clears the block's sums.
DEVICE void give_sums(u32* sums, const Piece& piece, const Scale& scale) {
    const u32 first = first_of(piece.tile), rows = rows_of(piece.tile);
    u64* shared = env.tile_parts + piece.cut * TILE;
    for (u32 i = threadIdx.x; i < rows; i += TILE_BLOCK) {
        if (!scale.finite) {
            const Term x = ((Term*)sums)[i];
            if (piece.cut < 0) commit(first + i, {x});
            else add((double*)shared + i, (double)x);
        } else if (const u64 sum = (u64)sums[TILE + i] << 32 | sums[i]) {
            if (piece.cut < 0) commit(first + i, {scale.down((i64)sum)});
            else atomicAdd(shared + i, sum);
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < 2 * TILE; i += TILE_BLOCK) sums[i] = 0;
}

// Pull all rows, or only those of masters or of mirrors (``of``). Blocks claim pieces dynamically.
KERNEL_BY(TILE_BLOCK, 3) pull_tiles(i64 of) {
    SHARED_ARRAY(u32, sums, TILE_BYTES);
    if (is_over()) return;
    const Globals G = globals_now();
    const RowRange pieces = row_range(of, env.mirror_pieces, env.piece_count);
    const u32 most = largest_now();
    u32* next = env.tile_words + CLAIMED + (of == OF_MIRRORS);
    for (u32 i = threadIdx.x; i < 2 * TILE; i += TILE_BLOCK) sums[i] = 0;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) sums[2 * TILE] = atomicAdd(next, 1u);
        __syncthreads();
        const u64 claimed = pieces.first + sums[2 * TILE];
        if (claimed >= pieces.last) break;
        const Piece piece = env.tile_pieces[claimed];
        const Scale scale(most, env.tile_bounds[piece.tile]);
        const Term up = scale.finite ? scale.up() : 0;
#if BYTE_WEIGHTS
        if (env.tile_bytes) take_edges<Byte>(G, sums, piece, up, scale.finite);
        else
#endif
            take_edges<weight_t>(G, sums, piece, up, scale.finite);
        __syncthreads();
        give_sums(sums, piece, scale);
    }
}

// Store the rows of tiles that several blocks summed, and reset the words for the next round.
DEVICE void join_cut_tiles(i64 of) {
    const u32 most = largest_now();
    for (u64 i = thread_rank(); i < (u64)env.cut_count * TILE; i += threads()) {
        const i64 tile = env.cut_tiles[i / TILE];
        const u32 row = (u32)(i % TILE);
        if (row >= rows_of(tile) || (of == OF_MIRRORS && !of_mirrors(tile)) || (of == OF_MASTERS && of_mirrors(tile)))
            continue;
        const u64 sum = env.tile_parts[i];
        if (!sum) continue;
        const Scale scale(most, env.tile_bounds[tile]);
        commit(first_of(tile) + row, {scale.finite ? scale.down((i64)sum) : (Term)value_of(sum)});
        env.tile_parts[i] = 0;
    }
    if (thread_rank()) return;
    env.tile_words[CLAIMED + (of == OF_MIRRORS)] = 0;
    if (of != OF_MIRRORS) env.tile_words[LARGEST_TERM + !(KNOWN(&env.control->round) & 1)] = 0;
}

KERNEL join_tiles(i64 of) {
    if (!is_over()) join_cut_tiles(of);
}
