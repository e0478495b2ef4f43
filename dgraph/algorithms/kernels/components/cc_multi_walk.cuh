// Edge phase of a rank in the persistent multi-GPU kernel (multi_gpu/walking_rank.cuh): labels spread over trees.

struct WalkingRank : MultiGpuRank {
    bool spread; // whether the labels of all vertices have spread

    __device__ void open(i64 stop) {
        MultiGpuRank::open(stop);
        spread = round > KNOWN(env.forest + FOREST_SINCE);
    }

    __device__ void walk() {
        if (spread) gather_listed(G, queue(), (u64)queued);
        else gather_all(G);
        barrier_all_gpus();
        Visit visit;
        aim(visit);
        spread_labels(visit, spread);
        visit.close();
        spread = true;
    }

    // Clear the marks of trees after all ranks' labels have spread.
    __device__ void forget() const {
        for (u64 i = thread_rank(); i < inside_words(); i += threads()) env.bits1[i] = 0;
    }
};
