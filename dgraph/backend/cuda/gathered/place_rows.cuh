// Arcs of rows that arrive one after the other, placed in the rows of a whole graph. Any grid. A warp takes ARCS arcs of a
// piece at a time: it searches the row of the first one, and its lanes copy row after row.

struct Env {
    const i64* begins; // of the rows that arrive, (rows + 1,)
    const i64* moved; // from the number of an arc that arrives to its place
    u64 rows;
    u64 first, count; // arcs of this piece
    const u32* piece;
    u32* targets;
};
CONSTANT Env env;

#define ARCS 1024

// The last row from ``low`` on that begins at or before arc e.
DEVICE u64 row_of(u64 e, u64 low) {
    return last_where(low, env.rows, [&](u64 row) { return (u64)env.begins[row] <= e; });
}

KERNEL place_rows(i64) {
    for (u64 from = warp_rank() * ARCS; from < env.count; from += warps() * ARCS) {
        const u64 end = env.first + smaller(from + ARCS, env.count);
        u64 e = env.first + from;
        for (u64 row = row_of(e, 0); e < end; row++) {
            if ((u64)env.begins[row + 1] <= e) row = row_of(e, row); // there may be many empty rows
            const u64 stop = smaller((u64)env.begins[row + 1], end);
            u32* to = env.targets + env.moved[row];
            for (u64 at = e + lane_id(); at < stop; at += 32) to[at] = env.piece[at - env.first];
            e = stop;
        }
    }
}
