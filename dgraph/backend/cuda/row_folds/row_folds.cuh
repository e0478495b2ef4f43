// Row reducers: every vertex that accepts proposals and has an active in-neighbour folds the keys of all its in-edges.
// A thread folds a row of up to FOLD_ALONE edges, a warp one of up to FOLD_MOST, and a block one of up to FOLD_TABLES
// by MODE (``mode_tables.cuh``). Longer rows are cut into chunks of FOLD_PIECE, a warp each, and take several kernels:
// ``pull`` stamps those with an active in-neighbour, by MODE and HINDEX their chunks vote (``vote_rows``), which mostly
// settles a row, and of the others ``empty_tables`` and ``fold_chunks`` fill tables in global memory. ``join_folds``
// ends them. Where few edges leave active vertices, ``mark_rows`` marks the rows that they reach, and ``pull`` does not
// look for any. With SUPPORTS it lists them instead, and a round of ``pull_listed`` and ``lower`` reads nothing of the
// other rows.

// Keys of edges ``first`` … of v; whether v has to wait.
struct RowKeys {
    const Puller& puller;
    offset_t first;
    u32 v;
    mutable bool waits;

    __device__ i64 operator()(u32 i) const { return of(i, env.in_neighbours[first + i]); }

    __device__ i64 of(u32 i, u32 u) const {
        if (RECORD) puller.seen++;
        const Source s = at_source(puller.G, u);
        const i64 key = propose(puller.G, s, WEIGHTED ? env.in_weights[first + i] : (weight_t)1, v).p0;
        waits |= ROW_WAITS && key < 0;
        return key;
    }

    // The first 32 K keys, K a lane: all loads are in flight at once. LEFT_OUT from ``count`` on.
    template <int K> __device__ void load(u32 count, i64* keys) const {
        u32 u[K];
        for (u32 k = 0; k < K; k++) u[k] = 32 * k + lane_id() < count ? env.in_neighbours[first + 32 * k + lane_id()] : 0;
        for (u32 k = 0; k < K; k++)
            keys[k] = 32 * k + lane_id() < count ? of(32 * k + lane_id(), u[k]) : LEFT_OUT;
    }

    // True if no key from edge i on is more than ``least``.
    __device__ bool ends(u32 i, i64 least) const { return keys_end(env.in_neighbours[first + i], least); }

    __device__ bool active(u32 i) const {
        const u32 u = env.in_neighbours[first + i];
        return puller.bits[u >> 5] >> (u & 31) & 1;
    }

    // Whether a source of the first ``count`` edges is active; by a thread, or by a warp.
    __device__ bool some_active(u32 count) const {
        bool some = ALL;
        for (u32 i = 0; i < count && !some; i++) some = active(i);
        return some;
    }
    __device__ bool some_active_together(u32 count) const {
        bool some = ALL;
        for (u32 i = 0; i < count && !some; i += 32 * FOLD_AT_ONCE) {
            bool found = false;
            for (u32 k = 0, at = i + lane_id(); k < FOLD_AT_ONCE; k++, at += 32) found |= at < count && active(at);
            some = ballot(found) != 0;
        }
        return some;
    }
};

// Shared memory of ``pull_short``, and of ``pull``.
struct ShortFolds : AwakeRoom {
    u32 hits[BLOCK / 32][32]; // of marked rows: bits of the vertices that changed
};
struct Folds : ShortFolds {
    FoldRoom rooms[BLOCK / 32];
};

// The i-th chunk: its row, the row's first chunk, and its edges.
struct FoldChunk {
    u64 begin;
    offset_t first, row_first, row_last;
    u32 v;

    __device__ explicit FoldChunk(u64 i) {
        v = env.fold_rows[i], first = env.fold_first[i], row_first = env.in_offsets[v], row_last = env.in_offsets[v + 1];
        begin = i - (u64)(first - row_first) / FOLD_PIECE;
    }
    __device__ u32 count() const { return (u32)smaller(row_last - first, (offset_t)FOLD_PIECE); }
    __device__ u64 degree() const { return (u64)(row_last - row_first); }
    __device__ FoldTable table() const {
        const u64 slots = (degree() + FOLD_PIECE - 1) / FOLD_PIECE * FOLD_SLOTS;
        return {env.fold_keys + begin * FOLD_SLOTS, env.fold_counts + begin * FOLD_SLOTS, slots, degree(), v, votes()};
    }
    __device__ u32 votes() const { return FOLD_VOTES ? fresh(env.fold_votes + begin) : 0; }
    __device__ bool is_stamped(u32 stamp) const { return env.fold_stamps[begin] == stamp; }
    __device__ bool is_settled() const { return settles(v, degree(), votes()); }
    __device__ bool is_open(u32 stamp) const { return is_stamped(stamp) && !is_settled(); }
};

// Stamp of rows that fold in this round; never 0, which stands for none.
DEVICE u32 fold_stamp() { return (u32)KNOWN(&env.control->tick) + 1; }

// Chunks for which ``wanted(i)``, by a lane, is true: ``f(i)`` by whole warps. Chunks of one row go to different warps.
template <class W, class F> DEVICE void each_chunk(const W& wanted, const F& f) {
    for (u64 from = warp_rank(); from < (u64)env.fold_count; from += threads()) {
        const u64 mine = from + lane_id() * warps();
        for (u32 left = ballot(mine < (u64)env.fold_count && wanted(mine)); left; left &= left - 1)
            f(from + (__ffs(left) - 1) * warps());
    }
}

// Stamp the row whose first chunk is the ``begin``-th.
DEVICE void stamp_row(u64 begin) { env.fold_stamps[begin] = fold_stamp(), env.fold_votes[begin] = 0; }

// Stamp long rows with an active in-neighbour, or all that are marked.
DEVICE void stamp_rows(const Puller& puller, const u32* marks) {
    each_chunk([&](u64 i) {
        const u32 v = env.fold_rows[i];
        if (!wants(puller.G, v) || !marks) return wants(puller.G, v);
        if (marks[v >> 5] >> (v & 31) & 1) stamp_row(FoldChunk(i).begin);
        return false;
    }, [&](u64 i) {
        const FoldChunk chunk(i);
        const RowKeys keys = {puller, chunk.first, chunk.v, false};
        if (RECORD) puller.seen += (chunk.count() + 31 - lane_id()) / 32;
        if (keys.some_active_together(chunk.count()) && lane_id() == 0) stamp_row(chunk.begin);
    });
}

#if FOLD_VOTES
// Count the votes of each chunk whose row is not settled yet.
DEVICE void vote_rows(const Puller& puller) {
    const u32 stamp = fold_stamp();
    each_chunk([&](u64 i) { return FoldChunk(i).is_open(stamp); }, [&](u64 i) {
        const FoldChunk chunk(i);
        const RowKeys row = {puller, chunk.row_first, chunk.v, false}, keys = {puller, chunk.first, chunk.v, false};
        const u32 votes = votes_of_chunk(row, keys, chunk.degree(), chunk.count());
        if (lane_id() == 0 && votes) atomicAdd(env.fold_votes + chunk.begin, votes);
    });
}
#endif

// Chunks of stamped rows that are not settled.
template <class F> DEVICE void each_open_chunk(const F& f) {
    const u32 stamp = fold_stamp();
    each_chunk([&](u64 i) { return FoldChunk(i).is_open(stamp); }, f);
}

// Empty the tables that ``fold_chunks`` will fill: a chunk's share of its row's.
DEVICE void empty_tables() {
    each_open_chunk([&](u64 i) {
        const FoldChunk chunk(i);
        const u64 used = chunk.begin * FOLD_SLOTS + slots_used(chunk.table());
        const u64 last = smaller((i + 1) * FOLD_SLOTS, used);
        for (u64 at = i * FOLD_SLOTS + lane_id(); at < last; at += 32) {
            if (FOLD_BLOCKS) env.fold_keys[at] = 0;
            env.fold_counts[at] = 0;
        }
    });
}

// Fold the chunks; of each its key, and its times with a bit for ``waits``.
DEVICE void fold_chunks(const Puller& puller) {
    each_open_chunk([&](u64 i) {
        const FoldChunk chunk(i);
        const RowKeys keys = {puller, chunk.first, chunk.v, false};
        const FoldPart part = fold_part(keys, chunk.count(), chunk.table());
        const bool waits = ballot(keys.waits) != 0;
        if (lane_id() == 0) env.fold_parts[2 * i] = part.key, env.fold_parts[2 * i + 1] = 2 * part.times + waits;
    });
}

// A row of up to FOLD_ALONE edges, by a thread; whether it has a value. ``known``: it has an active in-neighbour. Where vertices
// wait, few are ready, which their first edges say.
DEVICE bool fold_short(const RowKeys& keys, u32 count, bool known, i64& value) {
    if (ROW_WAITS) value = fold_alone(keys, count);
    if (keys.waits || !(known || keys.some_active(count))) return false;
    if (!ROW_WAITS) value = fold_alone(keys, count);
    return true;
}

// A row of up to FOLD_MOST edges, by a warp.
DEVICE bool fold_medium(const RowKeys& keys, u32 count, bool known, FoldRoom& room, i64& value) {
    if (ROW_WAITS) value = fold_warp(keys, count, room);
    if (ballot(keys.waits) || !(known || keys.some_active_together(count))) return false;
    if (!ROW_WAITS) value = fold_warp(keys, count, room);
    return true;
}

// Vertices that folds have changed, and their edges; of a thread. Only without ``apply``, which counts the frontier
// itself.
struct Awake {
    i64 count, edges;

    // Store the value of the row of v. True if that changes v.
    __device__ bool commits(u32 v, i64 value) {
        const bool changes = commit(v, {value});
        if (!APPLY && changes) count++, edges += degree_of(v);
        return changes;
    }
};

// Fold the short or medium row of v, which each lane has where it is ``mine``. True if it has a value. By whole warps.
// ``room``: of the warp; null where no row has more than FOLD_ALONE edges.
DEVICE bool fold_lanes(const Puller& puller, bool mine, u32 v, bool known, FoldRoom* room, i64& value) {
    const offset_t first = mine ? env.in_offsets[v] : 0, last = mine ? env.in_offsets[v + 1] : 0;
    const bool able = first < last && last - first <= FOLD_MOST && wants(puller.G, v);
    const u32 count = able ? (u32)(last - first) : 0;
    bool hit = false;
    value = 0;
    if (able && count <= FOLD_ALONE) hit = fold_short({puller, first, v, false}, count, known, value);
    for (u32 left = room ? ballot(count > FOLD_ALONE) : 0; left; left &= left - 1) {
        const u32 lane = __ffs(left) - 1;
        const RowKeys keys = {puller, shuffle(first, lane), shuffle(v, lane), false};
        i64 found = 0;
        const bool some = fold_medium(keys, shuffle(count, lane), known, *room, found);
        if (lane == lane_id()) hit = some, value = found;
    }
    return hit;
}

// Fold marked rows. Few bits of a word are set, so a warp takes 32 words, far apart since rows side by side are of like
// length, and gives each lane one of their rows.
DEVICE void fold_marked(const Puller& puller, const u32* marks, u64 pulled, u32* next, u32* hits, FoldRoom* room,
                        Awake& awake) {
    const u64 words = ((u64)env.rows + 31) / 32;
    for (u64 from = warp_rank(); from < words; from += threads()) {
        const u64 mine = from + lane_id() * warps();
        const u32 bits = 32 * mine < pulled ? marks[mine] : 0;
        const u32 up_to = sum_up_to_lane((u32)__popc(bits)), before = up_to - __popc(bits), total = shuffle(up_to, 31);
        hits[lane_id()] = 0;
        __syncwarp();
        for (u32 first = 0; first < total; first += 32) {
            const u32 row = first + lane_id();
            u32 lane = 0; // the last lane with no more rows before its own
            for (u32 step = 16; step; step >>= 1)
                if (shuffle(before, lane + step) <= row) lane += step;
            u32 rest = shuffle(bits, lane);
            const u32 skipped = row - shuffle(before, lane);
            for (u32 k = 0; row < total && k < skipped; k++) rest &= rest - 1;
            const u32 bit = row < total ? __ffs(rest) - 1 : 0;
            const u32 v = (u32)(32 * (from + lane * warps())) + bit;
            i64 value;
            if (fold_lanes(puller, row < total, v, true, room, value) && awake.commits(v, value))
                atomicOr(hits + lane, 1u << bit);
        }
        __syncwarp();
        if (!ALL && mine < words) next[mine] = hits[lane_id()];
        __syncwarp();
    }
}

// Of listed rows in chunks, which stand in the list of values without theirs.
#define IN_FIELD EVERY_LANE

// Fold the rows of a list. Values are stored in its order, since those of vertices far apart lie in as many sectors of
// memory, and applied by ``lower_listed`` once no fold reads the old ones. Rows in chunks only get stamps. A warp takes
// 32 rows at a time: far apart, since rows side by side are of like length, or where all are short side by side, but
// fewer if there are few.
DEVICE void fold_listed(const Puller& puller, u32* values, u64 count, Front& front, FoldRoom* room) {
    const u64 each = room ? 32 : smaller(larger(count / warps(), (u64)1), (u64)32);
    const u64 own = warp_rank() * (room ? 1 : each) + lane_id() * (room ? warps() : 1);
    for (u64 first = 0; first < count; first += warps() * each) {
        const u64 i = first + own;
        const bool mine = lane_id() < each && i < count;
        const u32 v = mine ? env.touched[i] : 0;
        i64 value;
        const bool hit = fold_lanes(puller, mine, v, true, room, value);
        front.add(hit && value < fold_ceiling(v), v);
        if (mine) values[i] = hit ? (u32)value : IN_FIELD;
        if (room && mine && !hit) stamp_row(FoldChunk(last_up_to(env.fold_rows, (u64)env.fold_count, v)).begin);
    }
    front.close();
}

// Apply the values of listed rows. Those of rows in chunks are in the field, as after any pull.
DEVICE void lower_listed(const Globals& G, const u32* values, u64 count, Front& front) {
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const u32 v = i < count ? env.touched[i] : 0, value = i < count ? values[i] : 0;
        bool awake = false;
        if (i < count && value != IN_FIELD) put_ceiling(v, value);
        else if (i < count) awake = apply(G, v).awake, reset(v);
        front.add(awake, v);
    }
    front.close();
}

// Short and medium rows; the vertices that were proposed to are bits of ``next``. Of long rows only the stamps.
// ``rooms``: null where no row has more than FOLD_ALONE edges.
DEVICE void fold_rows(const Puller& puller, const u32* marks, u32* next, i64* slot, ShortFolds& room, FoldRoom* rooms) {
    Awake awake = {0, 0};
    FoldRoom* own = rooms ? rooms + warp_in_block() : 0;
    if (rooms) stamp_rows(puller, marks);
    const u64 rows = (u64)env.rows, pulled = smaller(rows, (u64)env.pulled);
    if (marks && !SUPPORTS) fold_marked(puller, marks, pulled, next, room.hits[warp_in_block()], own, awake);
    for (u64 i = warp_rank(); !marks && 32 * i < rows; i += warps()) {
        const u32 v = (u32)(32 * i) + lane_id();
        i64 value;
        const u32 word = ballot(fold_lanes(puller, v < pulled, v, false, own, value) && awake.commits(v, value));
        if (!ALL && lane_id() == 0) next[i] = word;
    }
    if (FUSED && !ALL && !APPLY) count_awake(slot, awake.count, awake.edges, room);
}

// The value of a stamped row, from its table or by its votes; whether it has one. By a warp.
DEVICE bool value_of_row(const Puller& puller, const FoldChunk& row, i64& value) {
#if FOLD_VOTES
    if (row.is_settled()) {
        value = settled_value(RowKeys{puller, row.row_first, row.v, false}, row.degree(), row.votes());
        return true;
    }
#endif
    const FoldTable table = row.table();
    const u64 chunks = table.slots / FOLD_SLOTS;
    const i64* parts = env.fold_parts + 2 * row.begin;
    bool waits = false;
    for (u64 k = lane_id(); k < chunks; k += 32) waits |= parts[2 * k + 1] & 1;
    value = close_row(table, parts, chunks);
    return !ballot(waits);
}

// The rows that were folded in chunks; with SUPPORTS and ``marks`` they are in the list.
DEVICE void join_folds(const Puller& puller, const u32* marks, u32* next, i64* slot, AwakeRoom& room) {
    const u32 stamp = fold_stamp();
    i64 awake = 0, edges = 0;
    each_chunk([&](u64 i) { return FoldChunk(i).begin == i && FoldChunk(i).is_stamped(stamp); }, [&](u64 i) {
        const FoldChunk chunk(i);
        i64 value = 0;
        if (!value_of_row(puller, chunk, value) || lane_id() || !commit(chunk.v, {value})) return;
        if (!ALL && !(SUPPORTS && marks)) atomicOr(next + (chunk.v >> 5), 1u << (chunk.v & 31));
        if (!APPLY) awake++, edges += degree_of(chunk.v);
    });
    if (FUSED && !ALL && !APPLY) count_awake(slot, awake, edges, room);
}
