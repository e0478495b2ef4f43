// workload: the edges of the list are cut into as many equal blocks as there are threads; a kernel before finds the
// vertex at which each of them begins, and its thread walks it edge by edge.   [000 WD: workload decomposition]

struct WorkloadRoom {};

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
