// Rows by position from a piece of rows in another order. Any grid; no memory order is needed, since kernels follow each
// other on one stream. A thread takes STRETCH consecutive entries.

#define STRETCH 32

struct Env {
    const u64* offsets; // of the rows as they are listed
    u64 rows;
    const u64* starts; // of the rows by position
    const u32* place;  // position of a row, or null
    u64 begin, count;  // entries of the piece, which lie in ``entered`` and ``listed`` from 0 on
    const u32* entered;
    const void* listed; // weights of ``weight_bytes`` bytes each, or null
    u32* targets;
    void* weights;
    u64 weight_bytes;
    u64* figures; // targets that are no rows; loops
};
CONSTANT Env env;

DEVICE u64 placed(u64 row) { return env.place ? env.place[row] : row; }

// Row of an entry, among ``low`` and those behind.
DEVICE u64 row_from(u64 e, u64 low) {
    u64 high = env.rows;
    while (low + 1 < high) {
        const u64 middle = (low + high) / 2;
        if (env.offsets[middle] <= e) low = middle;
        else high = middle;
    }
    return low;
}

KERNEL place_rows(i64) {
    u64 wrong = 0, loops = 0;
    for (u64 at = thread_rank() * STRETCH; at < env.count; at += threads() * STRETCH) {
        u64 row = row_from(env.begin + at, 0);
        for (u64 i = at; i < env.count && i < at + STRETCH; i++) {
            const u64 e = env.begin + i;
            if (env.offsets[row + 1] <= e) row = row_from(e, row + 1);
            const u64 to = env.starts[placed(row)] + (e - env.offsets[row]);
            const u32 v = env.entered[i];
            wrong += v >= env.rows;
            loops += v == row;
            env.targets[to] = v < env.rows ? (u32)placed(v) : 0;
            if (env.weight_bytes == 8) ((u64*)env.weights)[to] = ((const u64*)env.listed)[i];
            else if (env.weight_bytes == 4) ((u32*)env.weights)[to] = ((const u32*)env.listed)[i];
        }
    }
    if (wrong) atomicAdd(env.figures, wrong);
    if (loops) atomicAdd(env.figures + 1, loops);
}
