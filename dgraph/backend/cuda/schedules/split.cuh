// split: node splitting [000 NS, III.B].
//
// A vertex of more than ``work.number`` edges, the MDT, is split into a parent and children with equal shares of its
// edges, a thread each.
//
// SPLIT_GRAPH: the graph is split once, before the first round. Children have rows of their own, in the place of the
// rest of their parent's; in-edges stay with the parent. In each round the children of the list's parents get a copy of
// what edges read of their parent, and join the list. We changed: a child is copied to when its parent is walked, and
// not at each update, so the copies need no atomics but that of the list.
//
// Else the split is virtual: a child is (vertex, index), numbered anew in each round by a prefix sum, and found by
// binary search there.

struct SplitRoom {};

#if SPLIT_GRAPH

// ``scratch2``: the number of each row's first child and, behind all, of children; each child's first edge; each child's
// copy of its parent's values. ``scratch1``: each child's parent. ``scratch0``: children in the list of this round.
DEVICE u64* first_child() { return env.scratch2; }
DEVICE u64 all_children() { return first_child()[env.rows]; }
DEVICE u64* child_rows() { return first_child() + env.rows + 1; }
DEVICE Source* child_sources() { return (Source*)(child_rows() + all_children()); }

// Rows of the whole graph, whose children are counted and numbered.
struct Births {
    const offset_t* offsets;
    u64 number, count;

    __device__ u64 degree(u64 v) const { return (u64)(offsets[v + 1] - offsets[v]); }
    __device__ i64 measure(u64 v) const {
        return v + 1 < count ? (i64)larger(pieces_of(degree(v), number), 1ull) - 1 : 0;
    }
    __device__ void put(u64 v, i64 here) const { first_child()[v] = (u64)here; }
};

DEVICE Births births(i64 number) {
    return {PULLING ? env.in_offsets : env.out_offsets, (u64)number, (u64)env.rows + 1};
}

KERNEL count_births(i64 number) {
    SHARED(ScanRoom, room);
    sum_parts(births(number), room);
}

KERNEL number_births(i64 number) {
    SHARED(ScanRoom, room);
    fill_sums(births(number), room);
}

KERNEL make_children(i64 number) {
    const Births rows = births(number);
    for (u64 child = thread_in_order(); child < all_children(); child += threads()) {
        const u64 v = last_up_to(first_child(), (u64)env.rows + 1, child);
        const u64 k = child - first_child()[v] + 1, siblings = first_child()[v + 1] - first_child()[v] + 1;
        env.scratch1[child] = (u32)v, child_rows()[child] = rows.offsets[v] + rows.degree(v) * k / siblings;
    }
}

// Copy to the children of the list's vertices what edges read of these, and list the children, a lane a child.
KERNEL join_children(i64 number) {
    if (is_over()) return;
    const Work work = frontier_work(number);
    const Globals G = load_globals(KNOWN(&env.control->round), KNOWN(&env.control->total_active));
    u64* tail = (u64*)(slot_of(KNOWN(&env.control->tick)) + LISTED_TAIL);
    for (u64 i = thread_rank(); i - lane_id() < work.count; i += threads()) {
        const u32 u = i < work.count ? work.item(i) : 0;
        const bool mine = i < work.count && work.first(u) < work.last(u);
        const u64 eldest = first_child()[u], many = mine ? first_child()[u + 1] - eldest : 0;
        const u64 place = many ? atomicAdd(tail, many) : 0;
        Source s = Source();
        if (many && !PULLING) s = at_source(G, u);
        for (u32 left = ballot(many > 0); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1;
            const u64 begin = shuffle(place, lane), child = shuffle(eldest, lane), all = shuffle(many, lane);
            const Source copied = from_lane(s, lane);
            for (u64 k = lane_id(); k < all; k += 32) {
                env.scratch0[begin + k] = (u32)(child + k);
                child_sources()[child + k] = copied;
            }
        }
    }
}

template <class V> DEVICE void split(V& visit, const Work& work, SplitRoom&) {
    const u64 joined = (u64)KNOWN(slot_of(KNOWN(&env.control->tick)) + LISTED_TAIL), all = work.count + joined;
    for (u64 i = thread_rank(); i - lane_id() < all; i += threads()) {
        const bool mine = i < all, born = mine && i >= work.count;
        const u64 child = born ? env.scratch0[i - work.count] : 0;
        const u32 u = born ? env.scratch1[child] : mine ? work.item(i) : 0;
        const u64 eldest = first_child()[u], end = first_child()[u + 1];
        const bool last_born = born ? child + 1 == end : eldest == end;
        offset_t e = born ? (offset_t)child_rows()[child] : work.first(u);
        const offset_t row_end = work.last(u);
        const bool none = !mine || row_end == work.first(u);
        const offset_t last = none ? e : last_born ? row_end : (offset_t)child_rows()[born ? child + 1 : eldest];
        Source s = visit.source(mine && !born, u);
        if (born && !PULLING) s = child_sources()[child];
        for (; ballot(e < last); e += 4) visit.template edges<4>(e, last, u, s);
    }
}

#else

// Prefix sums of children are 64-bit on every graph: a threshold of 1 makes every edge a child.
struct Children {
    Work work;
    u64* sums;
    u64 count;

    __device__ i64 measure(u64 i) const {
        if (i >= count) return 0;
        const u32 u = work.item(i);
        return (i64)pieces_of((u64)(work.last(u) - work.first(u)), (u64)work.number);
    }
    __device__ void put(u64 i, i64 here) const { sums[i] = (u64)here; }
};

DEVICE Children children_of(const Work& work) { return {work, env.scratch2, work.count}; }

KERNEL count_children(i64 number) {
    SHARED(ScanRoom, room);
    if (!is_over()) sum_parts(children_of(frontier_work(number)), room);
}

KERNEL number_children(i64 number) {
    SHARED(ScanRoom, room);
    if (!is_over()) fill_sums(children_of(frontier_work(number)), room);
}

template <class V> DEVICE void split(V& visit, const Work& work, SplitRoom&) {
    const Children family = children_of(work);
    const u64 all = work.count ? family.sums[work.count - 1] + (u64)family.measure(work.count - 1) : 0;
    for (u64 child = thread_rank(); child - lane_id() < all; child += threads()) {
        const bool mine = child < all;
        const u64 i = mine ? last_up_to(family.sums, work.count, child) : 0;
        const u32 u = mine ? work.item(i) : 0;
        const u64 degree = mine ? (u64)(work.last(u) - work.first(u)) : 0;
        const u64 siblings = larger(pieces_of(degree, (u64)work.number), 1ull), k = mine ? child - family.sums[i] : 0;
        const offset_t first = mine ? work.first(u) : 0;
        offset_t e = first + (offset_t)(degree * k / siblings);
        const offset_t last = first + (offset_t)(degree * (k + 1) / siblings);
        const Source s = visit.source(mine, u);
        for (; ballot(e < last); e += 4) visit.template edges<4>(e, last, u, s);
    }
}

#endif
