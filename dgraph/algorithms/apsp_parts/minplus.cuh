// Min-plus product C = min(C, A x B) of row-major matrices, and the closure of one diagonal block.
// A block owns a tile of C of TILE_ROWS x 128 values in registers, 8 x 8 a thread. Slices of 8 columns of A and 8 rows of
// B pass through two buffers in shared memory: the next one is loaded while the present one is added.
// A slice of A that is all infinite is skipped (lazy minimum, [Harish et al. 2009]).

#define SLICE 8
#define TILE_COLUMNS 128
#define TILE_ROWS (BLOCK / 16 * 8)

struct Env {
    value_t* c; // first entry to update
    i64 stride; // values from one row of c to the next
    i64 rows, columns, depth;
    const value_t* a; // rows x depth
    const value_t* b; // depth x columns
};
CONSTANT Env env;

struct Slices {
    value_t a[2][SLICE][TILE_ROWS];
    value_t b[2][SLICE][TILE_COLUMNS];
};

#ifdef EMULATED
#define LESS(x, y) ((y) < (x) ? (y) : (x))
#else
#define LESS(x, y) LEAST(x, y) // one instruction
#endif
#define FAR_AWAY ((value_t)INFINITE)

// Loads one slice; returns true if this thread found a finite value of A.
DEVICE bool load_slice(Slices& s, int buffer, i64 top, i64 left, i64 k) {
    bool finite = false;
    for (int at = threadIdx.x; at < SLICE * TILE_ROWS; at += BLOCK) {
        const int column = at % SLICE, row = at / SLICE;
        const bool inside = top + row < env.rows && k + column < env.depth;
        const value_t x = inside ? env.a[(top + row) * env.depth + k + column] : FAR_AWAY;
        s.a[buffer][column][row] = x;
        finite |= x < FAR_AWAY;
    }
    for (int at = threadIdx.x; at < SLICE * TILE_COLUMNS; at += BLOCK) {
        const int row = at / TILE_COLUMNS, column = at % TILE_COLUMNS;
        const bool inside = k + row < env.depth && left + column < env.columns;
        s.b[buffer][row][column] = inside ? env.b[(k + row) * env.columns + left + column] : FAR_AWAY;
    }
    return finite;
}

// Grid: any; blocks take tiles by turns. Thread (y, x) owns rows y * 8 + i and columns x + 16 * j, so that neighbours'
// accesses to C and to shared memory lie side by side.
KERNEL minplus(i64) {
    SHARED(Slices, s);
    const i64 across = (env.columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const i64 tiles = (env.rows + TILE_ROWS - 1) / TILE_ROWS * across;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    for (i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const i64 top = tile / across * TILE_ROWS, left = tile % across * TILE_COLUMNS;
        value_t best[8][8];
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++) best[i][j] = FAR_AWAY;
        int used = __syncthreads_or(load_slice(s, 0, top, left, 0)), buffer = 0;
        for (i64 k = 0; k < env.depth; k += SLICE) {
            const bool next = k + SLICE < env.depth && load_slice(s, buffer ^ 1, top, left, k + SLICE);
            if (used) {
#pragma unroll
                for (int step = 0; step < SLICE; step++) {
                    value_t a[8], b[8];
#pragma unroll
                    for (int i = 0; i < 8; i++) a[i] = s.a[buffer][step][y * 8 + i];
#pragma unroll
                    for (int j = 0; j < 8; j++) b[j] = s.b[buffer][step][x + 16 * j];
#pragma unroll
                    for (int i = 0; i < 8; i++)
#pragma unroll
                        for (int j = 0; j < 8; j++) best[i][j] = LESS(best[i][j], a[i] + b[j]);
                }
            }
            used = __syncthreads_or(next);
            buffer ^= 1;
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++) {
                const i64 row = top + y * 8 + i, column = left + x + 16 * j;
                if (row < env.rows && column < env.columns) {
                    value_t* c = env.c + row * env.stride + column;
                    if (best[i][j] < *c) *c = best[i][j];
                }
            }
    }
}

// One block closes env.c, rows x rows, contiguous: Floyd and Warshall's algorithm. A pivot's row and column do not change in its
// step, unless its own entry is negative, which the potentials have excluded.
KERNEL close_block(i64) {
    const u32 n = (u32)env.rows;
    for (u32 k = 0; k < n; k++) {
        for (u32 at = threadIdx.x; at < n * n; at += BLOCK) {
            const u32 i = at / n, j = at % n;
            const value_t found = env.c[i * n + k] + env.c[k * n + j];
            if (found < env.c[at]) env.c[at] = found;
        }
        __syncthreads();
    }
}
