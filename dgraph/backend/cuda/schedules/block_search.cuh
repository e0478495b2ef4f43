// block_search: search in a block's prefix sums [001; Davidson et al., IPDPS 2014].
//
// A block loads LOADED prefix sums into shared memory and divides their edges equally: each thread finds its first
// edge's vertex by binary search there, and walks its run alone.

#define LOADED (LOADED_EACH * BLOCK)

struct BlockSearchRoom {
    prefix_t starts[LOADED];
};

template <class V> DEVICE void block_search(V& visit, const Work& work, BlockSearchRoom& room) {
    for (u64 first = (u64)blockIdx.x * LOADED; first < work.count; first += (u64)gridDim.x * LOADED) {
        const u64 loaded = smaller((u64)LOADED, work.count - first), base = work.start(first);
        for (u64 i = threadIdx.x; i < loaded; i += BLOCK) room.starts[i] = (prefix_t)(work.start(first + i) - base);
        __syncthreads();
        const u64 edges = work.end(first + loaded - 1) - base, run = pieces_of(edges, BLOCK);
        const u64 at = smaller(threadIdx.x * run, edges), stop = smaller(at + run, edges);
        walk_run(visit, work, base + at, base + stop, first + last_up_to(room.starts, loaded, at));
        __syncthreads();
    }
}
