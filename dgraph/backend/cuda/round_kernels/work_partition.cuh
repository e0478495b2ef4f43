// What the schedules of broad rounds share: the work of a round, and ways to walk pieces of it.

// ``number``: of the schedule's option.
DEVICE Work frontier_work(i64 number) {
    const RoundState* c = env.control;
    if (PULLING) return {(const u32*)0, (const prefix_t*)0, env.in_offsets, (u64)env.rows, (u64)env.in_edges, number};
    if (ALL || WALK == WALK_ROWS) return {(const u32*)0, (const prefix_t*)0, env.out_offsets, (u64)env.rows, (u64)env.out_edges, number};
    const bool swapped = KNOWN(&c->swapped) != 0;
    const u32* queue = swapped ? env.queue1 : env.queue0;
    const prefix_t* sums = swapped ? env.sums1 : env.sums0;
    const u64 count = (u64)KNOWN(&c->queued), edges = (u64)KNOWN(&c->local_edges);
    return {queue, sums, env.out_offsets, count, edges, number};
}

// Threads of one block have consecutive numbers, as CUDA's own numbering has it.
DEVICE u64 thread_in_order() { return (u64)blockIdx.x * BLOCK + threadIdx.x; }

DEVICE u64 pieces_of(u64 whole, u64 piece) { return (whole + piece - 1) / piece; }

// The last of ``count`` ascending sums that is ``x`` or less.
template <class T> DEVICE u64 last_up_to(const T* sums, u64 count, u64 x) {
    return last_where(0ull, count, [&](u64 i) { return (u64)sums[i] <= x; });
}

// Of the list that has each vertex's edges and then its end: the ends before a place in it.   [Green et al., ICS 2012]
DEVICE u64 ended_before(const Work& work, u64 diagonal) {
    const u64 low = diagonal > work.edges ? diagonal - work.edges : 0;
    return first_where(low, smaller(diagonal, work.count), [&](u64 i) { return work.end(i) > diagonal - i - 1; });
}

// Edges e, e + step … of item u that lie before ``last``, at most K.
template <int K, class V>
DEVICE void strided(V& visit, offset_t e, offset_t last, u32 step, u32 u, const Source& source) {
    bool has[K];
    offset_t at[K];
    u32 items[K];
    Source sources[K];
    for (int k = 0; k < K; k++) {
        has[k] = e < last && (u64)(last - e) > (u64)k * step;
        at[k] = e + (offset_t)k * step, items[k] = u, sources[k] = source;
    }
    visit.template batch<K>(has, at, items, sources);
}

// The item that an edge of the list belongs to, while edges are taken in order.
struct Cursor {
    u64 i, ends;
    offset_t base;
    u32 u;
    Source source;

    template <class V> __device__ void open(const V& visit, const Work& work, u64 item) {
        i = item, u = work.item(i), ends = work.end(i);
        base = work.first(u) - (offset_t)work.start(i);
        source = visit.source(true, u);
    }

    template <class V> __device__ void seek(const V& visit, const Work& work, u64 edge) {
        while (edge >= ends) open(visit, work, i + 1);
    }
};

// Edges ``at`` … ``stop`` of the list by this thread alone; ``item`` holds the first. Whole warps call it.
template <class V> DEVICE void walk_run(V& visit, const Work& work, u64 at, u64 stop, u64 item) {
    Cursor here = Cursor();
    if (at < stop) here.open(visit, work, item);
    for (; ballot(at < stop); at++) {
        const bool has = at < stop;
        if (has) here.seek(visit, work, at);
        const offset_t e = here.base + (offset_t)at;
        visit.template edges<1>(e, has ? e + 1 : e, here.u, here.source);
    }
}

// One edge of the list whose item is known.
template <class V> DEVICE void walk_one(V& visit, const Work& work, bool has, u64 edge, u64 i) {
    const u32 u = has ? work.item(i) : 0;
    const offset_t e = has ? work.first(u) + (offset_t)(edge - work.start(i)) : 0;
    visit.template edges<1>(e, has ? e + 1 : e, u, visit.source(has, u));
}
