// workload: workload decomposition [000 WD].
//
// The list's edges are cut into equal runs, one a thread. ``find_offsets`` finds each run's first vertex by binary
// search, and its thread walks it edge by edge.

struct WorkloadRoom {};

// Write the first item of each thread's run to ``scratch0``; the grid of ``edges``.
KERNEL find_offsets(i64) {
    if (is_over()) return;
    const Work work = frontier_work(0);
    const u64 run = pieces_of(work.edges, threads()), at = thread_in_order() * run;
    if (at < work.edges) env.scratch0[thread_in_order()] = (u32)work.holding(at, 0, work.count);
}

template <class V> DEVICE void workload(V& visit, const Work& work, WorkloadRoom&) {
    const u64 run = pieces_of(work.edges, threads());
    const u64 at = smaller(thread_in_order() * run, work.edges), stop = smaller(at + run, work.edges);
    walk_run(visit, work, at, stop, at < stop ? env.scratch0[thread_in_order()] : 0);
}
