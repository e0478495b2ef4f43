// two_phase: equal pieces of edges a block, then equal runs a thread [001; Davidson 2014, Green 2012, Baxter 2013].
//
// ``find_pieces`` cuts the list into pieces of IN_PIECE edges (IN_ROW, the paper's K, a thread), with one binary search each. Then each block loads its
// piece's prefix sums into shared memory, and its threads search there and walk runs of IN_ROW edges.

#define IN_PIECE (IN_ROW * BLOCK)

struct TwoPhaseRoom {
    prefix_t starts[IN_PIECE];
};

// Write the first item of each piece to ``scratch0``, a thread a piece.
KERNEL find_pieces(i64) {
    if (is_over()) return;
    const Work work = frontier_work(0);
    for (u64 piece = thread_in_order(); piece * IN_PIECE < work.edges; piece += threads())
        env.scratch0[piece] = (u32)work.holding(piece * IN_PIECE, 0, work.count);
}

// Vertices of a piece. Rows without edges may make them too many for shared memory; then threads search in global
// memory.
struct Piece {
    u64 first, stop, low, high;

    __device__ void open(const Work& work, u64 number) {
        first = number * IN_PIECE, stop = smaller(first + IN_PIECE, work.edges);
        low = env.scratch0[number], high = stop < work.edges ? (u64)env.scratch0[number + 1] + 1 : work.count;
    }

    __device__ bool fits() const { return high - low <= IN_PIECE; }

    // Return the item of an edge.
    __device__ u64 holding(const Work& work, const prefix_t* starts, u64 edge) const {
        return fits() ? low + last_up_to(starts, high - low, edge) : work.holding(edge, low, high);
    }

    __device__ void load(const Work& work, prefix_t* starts) const {
        for (u64 i = threadIdx.x; fits() && i < high - low; i += BLOCK) starts[i] = (prefix_t)work.start(low + i);
    }
};

template <class V> DEVICE void two_phase(V& visit, const Work& work, TwoPhaseRoom& room) {
    for (u64 number = blockIdx.x; number * IN_PIECE < work.edges; number += gridDim.x) {
        Piece piece;
        piece.open(work, number);
        piece.load(work, room.starts);
        __syncthreads();
        const u64 at = smaller(piece.first + threadIdx.x * IN_ROW, piece.stop), stop = smaller(at + IN_ROW, piece.stop);
        walk_run(visit, work, at, stop, at < stop ? piece.holding(work, room.starts, at) : 0);
        __syncthreads();
    }
}
