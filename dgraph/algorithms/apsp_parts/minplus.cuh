// Min-plus product C = min(C, A x B) of row-major matrices, and the closure of one diagonal block.
// A block owns a tile of C of TILE_ROWS x 128 values in registers, 8 x 8 a thread. Slices of 8 columns of A and 8 rows of
// B pass through two buffers in shared memory: the next one is on its way from memory while the present one is added.
// A slice of A that is all infinite is skipped (lazy minimum, [Harish et al. 2009]).

#define SLICE 8
#define TILE_COLUMNS 128
#define TILE_ROWS (BLOCK / 16 * 8)
#define OF_A (SLICE * TILE_ROWS / BLOCK) // values of a slice that each thread brings
#define OF_B (SLICE * TILE_COLUMNS / BLOCK)
#define CLOSED_ROWS (CLOSED * 16 / BLOCK) // rows of a thread in close_block, a multiple of 8

struct Env {
    value_t* c; // first entry to update
    i64 stride; // values from one row of c to the next
    i64 rows, columns, depth;
    const value_t* a; // rows x depth
    const value_t* b; // depth x columns
    i64* reached; // of each row: its finite values, and the largest one
    double* farthest;
};
CONSTANT Env env;

struct Slices {
    Four<value_t> a[2][SLICE][TILE_ROWS / 4 + 1]; // four values more a column: 8 columns lie in different banks
    value_t b[2][SLICE][TILE_COLUMNS];
};

#ifdef EMULATED
#define LESS(x, y) ((y) < (x) ? (y) : (x))
#else
#define LESS(x, y) LEAST(x, y) // one instruction
#endif
#define FAR_AWAY ((value_t)INFINITE)

// A thread's part of one slice on its way from memory to shared memory.
struct Brought {
    value_t a[OF_A], b[OF_B];

    __device__ void load(i64 top, i64 left, i64 k) {
        const value_t *from_a = env.a + top * env.depth + k, *from_b = env.b + k * env.columns + left;
#pragma unroll
        for (int i = 0; i < OF_A; i++) {
            const u32 at = threadIdx.x + i * BLOCK, column = at % SLICE, row = at / SLICE;
            const bool inside = top + row < env.rows && k + column < env.depth;
            a[i] = inside ? from_a[row * (u32)env.depth + column] : FAR_AWAY;
        }
#pragma unroll
        for (int i = 0; i < OF_B; i++) {
            const u32 at = threadIdx.x + i * BLOCK, column = at % TILE_COLUMNS, row = at / TILE_COLUMNS;
            const bool inside = k + row < env.depth && left + column < env.columns;
            b[i] = inside ? from_b[row * (u32)env.columns + column] : FAR_AWAY;
        }
    }

    // Returns true if some value of A is finite.
    __device__ bool store(Slices& s, int buffer) {
        bool finite = false;
#pragma unroll
        for (int i = 0; i < OF_A; i++) {
            const u32 at = threadIdx.x + i * BLOCK, column = at % SLICE, row = at / SLICE;
            s.a[buffer][column][row / 4].of[row % 4] = a[i];
            finite |= a[i] < FAR_AWAY;
        }
#pragma unroll
        for (int i = 0; i < OF_B; i++) {
            const u32 at = threadIdx.x + i * BLOCK;
            s.b[buffer][at / TILE_COLUMNS][at % TILE_COLUMNS] = b[i];
        }
        return finite;
    }
};

// Grid: any; blocks take tiles by turns. Thread (y, x) owns rows y * 8 + i and columns x + 16 * j, so that neighbours'
// accesses to C and to shared memory lie side by side.
KERNEL_OF(RESIDENT) minplus(i64) {
    SHARED(Slices, s);
    const i64 across = (env.columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const i64 tiles = (env.rows + TILE_ROWS - 1) / TILE_ROWS * across;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    for (i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const i64 top = tile / across * TILE_ROWS, left = tile % across * TILE_COLUMNS;
        value_t best[8][8];
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++) best[i][j] = FAR_AWAY;
        Brought brought;
        brought.load(top, left, 0);
        int used = __syncthreads_or(brought.store(s, 0)), buffer = 0;
        for (i64 k = 0; k < env.depth; k += SLICE) {
            const bool next = k + SLICE < env.depth;
            if (next) brought.load(top, left, k + SLICE);
            if (used) {
#pragma unroll
                for (int step = 0; step < SLICE; step++) {
                    Four<value_t> a[2];
                    value_t b[8];
#pragma unroll
                    for (int i = 0; i < 2; i++) a[i] = s.a[buffer][step][y * 2 + i];
#pragma unroll
                    for (int j = 0; j < 8; j++) b[j] = s.b[buffer][step][x + 16 * j];
#pragma unroll
                    for (int i = 0; i < 8; i++)
#pragma unroll
                        for (int j = 0; j < 8; j++) best[i][j] = LESS(best[i][j], a[i / 4].of[i % 4] + b[j]);
                }
            }
            buffer ^= 1;
            used = __syncthreads_or(next && brought.store(s, buffer));
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

struct Pivot {
    value_t row[2][CLOSED], column[2][CLOSED];
};

// One block closes env.c, rows x rows with at most CLOSED rows, contiguous: Floyd and Warshall's algorithm in registers, of
// which each step's pivot passes through shared memory. A pivot's row and column do not change in its step, unless its own
// entry is negative, which the potentials have excluded. Thread (y, x) owns CLOSED_ROWS rows and 8 columns side by side.
KERNEL_OF(1) close_block(i64) {
    SHARED(Pivot, pivot);
    const int n = (int)env.rows, left = threadIdx.x % 16 * 8, top = threadIdx.x / 16 * CLOSED_ROWS;
    value_t best[CLOSED_ROWS][8];
#pragma unroll
    for (int i = 0; i < CLOSED_ROWS; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            best[i][j] = top + i < n && left + j < n ? env.c[(top + i) * n + left + j] : FAR_AWAY;
    for (int first = 0; first < n; first += CLOSED_ROWS) {
#pragma unroll
        for (int step = 0; step < CLOSED_ROWS; step++) { // so that the pivot's registers are known when this is compiled
            const int k = first + step, buffer = step % 2;
            if (top == first)
#pragma unroll
                for (int j = 0; j < 8; j++) pivot.row[buffer][left + j] = best[step][j];
            if (left == k / 8 * 8)
#pragma unroll
                for (int i = 0; i < CLOSED_ROWS; i++) pivot.column[buffer][top + i] = best[i][step % 8];
            __syncthreads();
#pragma unroll
            for (int i = 0; i < CLOSED_ROWS; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    best[i][j] = LESS(best[i][j], pivot.column[buffer][top + i] + pivot.row[buffer][left + j]);
        }
    }
#pragma unroll
    for (int i = 0; i < CLOSED_ROWS; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (top + i < n && left + j < n) env.c[(top + i) * n + left + j] = best[i][j];
}

// Count the finite values of rows of c, and find the largest ones. A warp takes a row.
KERNEL summarize(i64) {
    for (i64 row = warp_rank(); row < env.rows; row += warps()) {
        i64 reached = 0;
        double farthest = -INFINITE;
        for (i64 j = lane_id(); j < env.columns; j += 32) {
            const value_t value = env.c[row * env.stride + j];
            if (value < FAR_AWAY) reached++, farthest = larger(farthest, (double)value);
        }
        reached = warp_sum(reached), farthest = warp_most(farthest);
        if (lane_id() == 0) env.reached[row] = reached, env.farthest[row] = farthest;
    }
}
