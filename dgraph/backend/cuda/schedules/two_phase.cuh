// two_phase: a kernel before cuts the list into pieces of equally many edges, one search each; then the threads of a
// block search their piece in shared memory, and walk equal runs of it.   [001; Davidson 2014, Green 2012, Baxter 2013]

#define IN_ROW 8
#define IN_PIECE (IN_ROW * BLOCK)

struct TwoPhaseRoom {
    prefix_t starts[IN_PIECE];
};

KERNEL find_pieces(i64) {
    if (is_over()) return;
    const Work work = frontier_work(0);
    for (u64 piece = thread_in_order(); piece * IN_PIECE < work.edges; piece += threads())
        env.scratch0[piece] = (u32)work.holding(piece * IN_PIECE, 0, work.count);
}

// The vertices of a piece; rows without edges may make them more than the room is for.
struct Piece {
    u64 first, stop, low, high;

    __device__ void open(const Work& work, u64 number) {
        first = number * IN_PIECE, stop = smaller(first + IN_PIECE, work.edges);
        low = env.scratch0[number], high = stop < work.edges ? (u64)env.scratch0[number + 1] + 1 : work.count;
    }

    __device__ bool fits() const { return high - low <= IN_PIECE; }

    // The item of an edge.
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
