// Edge phase of a rank in the persistent multi-GPU kernel: the edges of a list of active vertices.

struct WalkingRank : MultiGpuRank {
    __device__ void forget() const {}

    __device__ void walk() const {
        if (queued == 0) return;
        Visit visit;
        aim(visit);
        const Work work = {queue(), degree_sums(), env.out_offsets, (u64)queued, (u64)local_edges, 0};
        if (largest <= LOW_DEGREE) vertex(visit, work, room.vertex);
        else if (WIDE) twc(visit, work, room.twc);
        else warp_shares(visit, work, room.search);
        visit.close();
        if (visit.sent) FENCE_SYSTEM(); // at once: other warps of the block still process edges
    }
};
