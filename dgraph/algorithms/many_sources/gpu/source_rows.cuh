// Rows by length, and lists of vertices, for searches from many sources.
//
// GROUP threads read a short row, a warp a middle one, and blocks the parts of a long one. ``classify_rows`` sorts the rows
// of a side into these classes. The classes are bitmaps by vertex, so a word of 32 vertices is appended to lists with one
// atomic for each warp and list.

#ifndef GROUP
#define GROUP 8
#endif
#define SHORT_LIST 0
#define MIDDLE_LIST 1

// Edges of all vertices in one direction.
struct Side {
    const offset_t* offsets;
    const u32* neighbours;
    u32* short_rows; // a bit for each vertex with 1 to SHORT edges
    u32* middle_rows; // with up to LONG
    u32* long_rows; // with more
    u32* longs; // vertices of long rows
    u32* first_part; // of each of them
    u32* part_row; // by part, the place of its row in ``longs``
    u64* counts; // long rows, their parts, middle rows
};

DEVICE bool bit_of(const u32* words, u32 v) { return words[v >> 5] >> (v & 31) & 1; }
DEVICE u64 row_length(const Side& side, u32 v) { return side.offsets[v + 1] - side.offsets[v]; }

// The lanes of the own group of WIDTH threads in which ``x`` is true; by whole warps.
template <int WIDTH> DEVICE u32 ballot_of(bool x) {
    return WIDTH == 32 ? ballot(x) : ballot(x) >> (lane_id() - lane_id() % WIDTH) & ((1u << WIDTH % 32) - 1);
}

// Edges of a part, from the first to before the end.
struct Part {
    u32 place, vertex;
    u64 first, end;
};
DEVICE Part part_of(const Side& side, u64 p) {
    Part part;
    part.place = side.part_row[p];
    part.vertex = side.longs[part.place];
    part.first = side.offsets[part.vertex] + (p - side.first_part[part.place]) * PART;
    part.end = smaller(part.first + PART, (u64)side.offsets[part.vertex + 1]);
    return part;
}

// A thread takes a vertex; the bitmaps need not be cleared before, the counts do.
DEVICE void classify_rows(const Side& side, u64 n) {
    u32 middle = 0;
    for (u64 i = thread_rank(); i - lane_id() < n; i += threads()) {
        const u64 length = i < n ? row_length(side, (u32)i) : 0;
        const u32 of_short = ballot(length && length <= SHORT), of_middle = ballot(length > SHORT && length <= LONG);
        const u32 of_long = ballot(length > LONG);
        if (lane_id() == 0) {
            side.short_rows[i / 32] = of_short, side.middle_rows[i / 32] = of_middle, side.long_rows[i / 32] = of_long;
            middle += __popc(of_middle);
        }
        if (length > LONG) {
            const u64 parts = (length + PART - 1) / PART;
            const u64 at = atomicAdd(side.counts, 1ull), first = atomicAdd(side.counts + 1, parts);
            side.longs[at] = (u32)i, side.first_part[at] = (u32)first;
            for (u64 k = 0; k < parts; k++) side.part_row[first + k] = (u32)at;
        }
    }
    if (middle) atomicAdd(side.counts + 2, (u64)middle);
}

// Call ``put(at, v)`` for each vertex of the lanes' bits at a place of its own behind ``count``; by whole warps.
template <class P> DEVICE void append(u64* count, u32 own, u64 word, const P& put) {
    const u32 through = sum_up_to_lane((u32)__popc(own)), all = shuffle(through, 31);
    if (!all) return;
    u64 at = lane_id() == 0 ? atomicAdd(count, (u64)all) : 0;
    at = shuffle(at, 0) + through - __popc(own);
    for (; own; own &= own - 1) put(at++, (u32)(32 * word) + __ffs(own) - 1);
}

// List the vertices of ``word(i)`` that have edges, those of short rows from ``rows`` on and of middle rows from ``rows + n``
// on. A thread takes a word of 32 vertices.
template <class W> DEVICE void list_by_length(const Side& side, u64 n, u32* rows, u64* counts, const W& word) {
    const u64 words = (n + 31) / 32;
    for (u64 i = thread_rank(); i - lane_id() < words; i += threads()) {
        const u32 own = i < words ? word(i) : 0;
        append(counts + SHORT_LIST, own ? own & side.short_rows[i] : 0, i, [&](u64 at, u32 v) { rows[at] = v; });
        append(counts + MIDDLE_LIST, own ? own & side.middle_rows[i] : 0, i, [&](u64 at, u32 v) { rows[n + at] = v; });
    }
}

DEVICE void mark_end(u32* marked, u32 v) {
    if (!bit_of(marked, v)) atomicOr(marked + (v >> 5), 1u << (v & 31));
}

// Set the bits of the vertices that edges of listed vertices enter. A warp takes a vertex.
DEVICE void mark_listed(const Side& side, u32* marked, const u32* list, u64 count) {
    for (u64 i = warp_rank(); i < count; i += warps()) {
        const u32 u = list[i];
        for (u64 e = side.offsets[u] + lane_id(); e < (u64)side.offsets[u + 1]; e += 32) mark_end(marked, side.neighbours[e]);
    }
}

// The same of the vertices of long rows for which ``active(v)`` is true. A block takes a part.
template <class A> DEVICE void mark_parts(const Side& side, u32* marked, const A& active) {
    for (u64 p = blockIdx.x; p < side.counts[1]; p += gridDim.x) {
        const Part part = part_of(side, p);
        if (!active(part.vertex)) continue;
        for (u64 e = part.first + threadIdx.x; e < part.end; e += BLOCK) mark_end(marked, side.neighbours[e]);
    }
}

// The bits of 32 bytes of vertices from 32 i on for which ``chosen(byte)`` is true.
template <class C> DEVICE u32 bits_of_bytes(const u8* bytes, u64 i, u64 n, const C& chosen) {
    u32 bits = 0;
    for (u32 k = 0; k < 32 && 32 * i + k < n; k++) bits |= (u32)chosen(bytes[32 * i + k]) << k;
    return bits;
}
