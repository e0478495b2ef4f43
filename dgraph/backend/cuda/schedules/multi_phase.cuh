// multi_phase: ``two_phase`` with coalesced expansion and iterated search [001; Busato & Bombieri 2017].
//
// Each thread writes the vertices of its run to shared memory, and the lanes of a warp then walk edges side by side. A
// thread searches ITERATED times, the paper's IS, in one piece, for shorter runs.

#define IN_SHORT_ROW ((IN_ROW + ITERATED - 1) / ITERATED)
#define IN_PORTION (IN_SHORT_ROW * BLOCK)

struct MultiPhaseRoom {
    TwoPhaseRoom piece;
    u32 owners[BLOCK / 32][32 * IN_SHORT_ROW];
};

template <class V> DEVICE void multi_phase(V& visit, const Work& work, MultiPhaseRoom& room) {
    u32* owners = room.owners[warp_in_block()];
    for (u64 number = blockIdx.x; number * IN_PIECE < work.edges; number += gridDim.x) {
        Piece piece;
        piece.open(work, number);
        piece.load(work, room.piece.starts);
        __syncthreads();
        u64 found[ITERATED];
        for (u32 k = 0; k < ITERATED; k++) {
            const u64 at = piece.first + k * IN_PORTION + threadIdx.x * IN_SHORT_ROW;
            found[k] = at < piece.stop ? piece.holding(work, room.piece.starts, at) : 0;
        }
        for (u32 k = 0; k < ITERATED; k++) {
            const u64 slot = piece.first + k * IN_PORTION + warp_in_block() * (32 * IN_SHORT_ROW);
            u64 i = found[k];
            for (u32 step = 0; step < IN_SHORT_ROW; step++) {
                const u64 edge = slot + lane_id() * IN_SHORT_ROW + step;
                while (edge < piece.stop && edge >= work.end(i)) i++;
                owners[lane_id() * IN_SHORT_ROW + step] = (u32)i;
            }
            __syncwarp();
            for (u32 step = 0; step < IN_SHORT_ROW; step++) {
                const u64 edge = slot + 32 * step + lane_id();
                walk_one(visit, work, edge < piece.stop, edge, owners[32 * step + lane_id()]);
            }
            __syncwarp();
        }
        __syncthreads();
    }
}
