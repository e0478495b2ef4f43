// Parts of the round state (struct RoundState, codegen/control_block.py) that kernels of many rounds keep in registers from
// ``load`` to ``store``. Every thread holds the same values; one stores them.

// The frontier and its totals: of this rank, and over all ranks.
struct Turn {
    i64 tick, round, mode, total_active, total_edges, active, edges, queued, local_edges, largest, unexplored;
    bool swapped, bits_swapped;

    __device__ void load_turn() {
        const RoundState* c = env.control;
        tick = KNOWN(&c->tick), round = KNOWN(&c->round), mode = KNOWN(&c->mode), unexplored = KNOWN(&c->unexplored);
        total_active = KNOWN(&c->total_active), total_edges = KNOWN(&c->total_edges);
        active = KNOWN(&c->active), edges = KNOWN(&c->edges), largest = KNOWN(&c->largest);
        queued = KNOWN(&c->queued), local_edges = KNOWN(&c->local_edges);
        swapped = KNOWN(&c->swapped), bits_swapped = KNOWN(&c->bits_swapped);
    }

    __device__ void store_turn() const {
        RoundState* c = env.control;
        c->tick = tick, c->round = round, c->mode = mode, c->unexplored = unexplored;
        c->total_active = total_active, c->total_edges = total_edges, c->active = active, c->edges = edges;
        c->queued = queued, c->local_edges = local_edges, c->largest = largest;
        c->swapped = swapped, c->bits_swapped = bits_swapped;
    }

    __device__ const u32* queue() const { return swapped ? env.queue1 : env.queue0; }
    __device__ const prefix_t* degree_sums() const { return swapped ? env.sums1 : env.sums0; }
    __device__ u32* bits() const { return bits_swapped ? env.bits1 : env.bits0; }
    __device__ u32* next_bits() const { return bits_swapped ? env.bits0 : env.bits1; }
};

// The buckets of vertices with a priority: the last that was opened, how many to open, and what they cost.
struct Buckets {
    i64 bucket, width, bucket_edges, bucket_rounds;
    bool far_swapped;

    __device__ void load_buckets() {
        const RoundState* c = env.control;
        bucket = KNOWN(&c->bucket), width = KNOWN(&c->width), far_swapped = KNOWN(&c->far_swapped);
        bucket_edges = KNOWN(&c->bucket_edges), bucket_rounds = KNOWN(&c->bucket_rounds);
    }

    __device__ void store_buckets() const {
        RoundState* c = env.control;
        c->bucket = bucket, c->width = width, c->far_swapped = far_swapped;
        c->bucket_edges = bucket_edges, c->bucket_rounds = bucket_rounds;
    }
};
