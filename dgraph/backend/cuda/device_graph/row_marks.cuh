// Figures and lists of rows. Every kernel runs on any grid, and a thread takes every n-th row; no memory order is needed,
// since kernels follow each other on one stream. ``wide``, ``wide_ids``, ``wide_degrees``: an array has 64-bit entries.

struct Env {
    const void* offsets;
    const u32* neighbours;
    const void* ids;
    const void* degrees;
    i64 rows, wide, wide_ids, wide_degrees, least, most;
    u32* marks;
    u64* figures;
};
CONSTANT Env env;

DEVICE u64 entry(const void* array, u64 i, i64 wide) { return wide ? ((const u64*)array)[i] : ((const u32*)array)[i]; }
DEVICE u64 start_of(u64 row) { return entry(env.offsets, row, env.wide); }
DEVICE u64 length_of(u64 row) { return start_of(row + 1) - start_of(row); }

// marks[row] = its length.
KERNEL write_lengths(i64) {
    for (u64 row = thread_rank(); row < (u64)env.rows; row += threads()) env.marks[row] = (u32)length_of(row);
}

// figures[0] = ~(the smallest id of a row whose degree is ``least``).
KERNEL find_busiest(i64) {
    u64 largest = 0;
    for (u64 row = thread_rank(); row < (u64)env.rows; row += threads())
        if (entry(env.degrees, row, env.wide_degrees) == (u64)env.least)
            largest = larger(largest, ~entry(env.ids, row, env.wide_ids));
    if (largest) atomicMax(env.figures, largest);
}

// figures[0] = 1 + the last row of at least ``least`` entries, or of that degree where there are degrees.
KERNEL find_last(i64) {
    u64 behind = 0;
    for (u64 row = thread_rank(); row < (u64)env.rows; row += threads())
        if ((env.degrees ? entry(env.degrees, row, env.wide_degrees) : length_of(row)) >= (u64)env.least) behind = row + 1;
    if (behind) atomicMax(env.figures, behind);
}

// marks[row] = its first entry, or NO_HEAD.
KERNEL write_heads(i64) {
    for (u64 row = thread_rank(); row < (u64)env.rows; row += threads())
        env.marks[row] = length_of(row) ? env.neighbours[start_of(row)] : NO_HEAD;
}

// Bit ``row`` of ``marks`` = whether it has at least ``least`` entries. A warp takes 32 rows.
KERNEL write_bits(i64) {
    for (u64 word = warp_rank(); word < ((u64)env.rows + 31) / 32; word += warps()) {
        const u64 row = word * 32 + lane_id();
        const u32 bits = ballot(row < (u64)env.rows && length_of(row) >= (u64)env.least);
        if (lane_id() == 0) env.marks[word] = bits;
    }
}

// From the order ``ids`` of rows: marks[place] = row, and marks[rows + row] = place.
KERNEL write_places(i64) {
    for (u64 place = thread_rank(); place < (u64)env.rows; place += threads()) {
        const u64 row = entry(env.ids, place, env.wide_ids);
        env.marks[place] = (u32)row;
        env.marks[env.rows + row] = (u32)place;
    }
}

// List the rows of ``least`` to ``most`` entries in ``marks``, in any order, or count them if there are no marks;
// figures[0] is their number.
KERNEL list_rows(i64) {
    u64 count = 0;
    for (u64 row = thread_rank(); row < (u64)env.rows; row += threads()) {
        const u64 length = length_of(row);
        if (length < (u64)env.least || length > (u64)env.most) continue;
        if (env.marks) env.marks[atomicAdd(env.figures, 1ull)] = (u32)row;
        else count++;
    }
    if (count) atomicAdd(env.figures, count);
}

// figures[i], figures[listed + i] = start and length of the row marks[i].
KERNEL read_rows(i64 listed) {
    for (u64 i = thread_rank(); i < (u64)listed; i += threads()) {
        env.figures[i] = start_of(env.marks[i]);
        env.figures[listed + i] = length_of(env.marks[i]);
    }
}
