// Sum of the weights of every row. Any grid. A warp takes every n-th row, its lanes read the row in turn, and the
// lanes' sums are added in a fixed order, so the bits do not depend on the grid.

struct Env {
    const offset_t* offsets;
    const weight_t* weights;
    i64 rows;
    double* sums;
};
CONSTANT Env env;

KERNEL row_sums(i64) {
    for (u64 row = warp_rank(); row < (u64)env.rows; row += warps()) {
        const u64 end = env.offsets[row + 1];
        double sum = 0;
        for (u64 e = (u64)env.offsets[row] + lane_id(); e < end; e += 32) sum += (double)env.weights[e];
        sum = warp_sum(sum);
        if (lane_id() == 0) env.sums[row] = sum;
    }
}
