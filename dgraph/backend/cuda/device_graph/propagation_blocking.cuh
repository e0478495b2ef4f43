// Sums over all edges of what is read of sources alone, by tiles of targets: a block keeps a tile's sums, and edges come by
// tile, then about by source, so that lanes of a warp read values side by side. A sum is a number of 64 bits with a binary
// point, in two halves, since atomics on floats are slow there: so it has the same bits in whatever order edges come.
// [Beamer et al. 2017: propagation blocking]

// Words of ``tile_words``: the largest magnitude of what edges read, by the round's parity; the next piece, by whose rows.
#define LOUDEST 0
#define CLAIMED 2

struct Piece {
    i64 first, count, tile, cut; // cut: which of the tiles that several blocks add up; below 0: of none
};

typedef decltype(Proposal().p0) Term;

DEVICE Term term_of(const Globals& G, u32 u) { return propose(G, at_source(G, u), (weight_t)1, 0).p0; }

// The upper half of the bits of |x|: exponent first.
DEVICE u32 magnitude(double x) { return (u32)(bits_of(x) >> 32) & 0x7fffffffu; }

DEVICE i64 rounded(float x) { return __float2ll_rn(x); }
DEVICE i64 rounded(double x) { return __double2ll_rn(x); }

// 2 to the n-th, for -1022 … 1023.
DEVICE double power_of_two(int n) { return value_of((u64)(n + 1023) << 52); }

// Where sums of a tile have their binary point, as a power of two. Terms are below 2^(exponent - 1022), and a row has no more
// than ``bound``: so sums stay below 2^62.
struct Scale {
    bool finite;
    int power;

    __device__ Scale(u32 loudest, u32 bound) {
        const int exponent = (int)(loudest >> 20), most = sizeof(Term) == 4 ? 127 : 1022;
        finite = exponent < 2047;
        power = smaller(62 + 1022 - exponent - (32 - __clz(bound)), most);
    }
    __device__ Term up() const { return (Term)power_of_two(power); }
    __device__ Term down(i64 sum) const { return (Term)((double)sum * power_of_two(-power)); }
};

DEVICE u32 loudest_now() { return KNOWN(env.tile_words + LOUDEST + (KNOWN(env.control + ROUND) & 1)); }

DEVICE bool of_mirrors(i64 tile) { return tile >= env.master_tiles; }

DEVICE u32 first_of(i64 tile) {
    return (u32)(of_mirrors(tile) ? env.masters + (tile - env.master_tiles) * TILE : tile * TILE);
}

DEVICE u32 rows_of(i64 tile) {
    return (u32)smaller((i64)TILE, (of_mirrors(tile) ? env.rows : env.masters) - (i64)first_of(tile));
}

// What nobody reads may be anything. Mirrors are read that are neighbours of rows which serve as edges by target.
DEVICE bool is_read(u64 u) {
    return env.out_offsets[u] < env.out_offsets[u + 1] || (env.neighbours_read && u >= (u64)env.masters);
}

KERNEL loudest(i64) {
    if (is_over()) return;
    const Globals G = globals_now();
    u32 most = 0;
    for (u64 u = thread_rank(); u < (u64)env.rows; u += threads())
        if (is_read(u)) most = larger(most, magnitude((double)term_of(G, (u32)u)));
    most = warp_most(most);
    u32* slot = env.tile_words + LOUDEST + (KNOWN(env.control + ROUND) & 1);
    if (lane_id() == 0 && most > FRESH(slot)) atomicMax(slot, most);
}

// One term into the sum of row i of the block's tile.
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

// A piece's edges, four a thread at a time.
DEVICE void take_edges(const Globals& G, u32* sums, const Piece& piece, Term up, bool finite) {
    const u32 count = (u32)piece.count;
    for (u32 at = 4 * threadIdx.x; at < count; at += 4 * TILE_BLOCK) {
        const Four<u32> u = streamed((const Four<u32>*)(env.tile_sources + piece.first + at));
        const u64 rows = streamed((const u64*)(env.tile_targets + piece.first + at));
        const u32 left = count - at;
        Term x[4];
        for (u32 k = 0; k < 4; k++) x[k] = k < left ? term_of(G, u.of[k]) : 0;
        for (u32 k = 0; k < 4; k++)
            if (k < left) take_term(sums, (u32)(rows >> 16 * k) & 0xffff, x[k], up, finite);
    }
}

// What a piece came to: a tile's rows, or one part of them. Leaves zeros.
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

// The rows, or those of masters or of mirrors alone.
KERNEL_BY(TILE_BLOCK, 3) pull_tiles(i64 of) {
    SHARED_ARRAY(u32, sums, TILE_BYTES);
    if (is_over()) return;
    const Globals G = globals_now();
    const Stretch pieces = stretch(of, env.mirror_pieces, env.piece_count);
    const u32 most = loudest_now();
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
        take_edges(G, sums, piece, scale.finite ? scale.up() : 0, scale.finite);
        __syncthreads();
        give_sums(sums, piece, scale);
    }
}

// Rows of tiles that several blocks added up, and everything as the next round wants to find it.
DEVICE void join_cut_tiles(i64 of) {
    const u32 most = loudest_now();
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
    if (of != OF_MIRRORS) env.tile_words[LOUDEST + !(KNOWN(env.control + ROUND) & 1)] = 0;
}

KERNEL join_tiles(i64 of) {
    if (!is_over()) join_cut_tiles(of);
}
