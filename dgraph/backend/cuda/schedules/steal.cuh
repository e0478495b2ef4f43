// steal: work stealing between blocks [003; Cederman & Tsigas 2011].
//
// Every block has a queue of tasks, each of TASK vertices, filled equally by ``fill_queues``. A block pops its own
// tasks from the tail; when it has none, it steals from the head of others, or stops if not STEALING. Any grid; the same
// for both kernels.

#define TASK (u64)(TASK_VERTICES ? TASK_VERTICES : BLOCK)
#define NO_TASK 0xffffffffu

struct StealRoom {
    u32 task;
};

// Three words a block: its queue, (head, tail) in one word, so that one compare-and-swap takes a task; tasks taken
// since the start; stolen tasks among them. ``scratch0`` holds the block that took each task in this round.
DEVICE u64* queue_of(u32 block) { return env.scratch2 + 3 * (u64)block; }

// Give each block's queue an equal share of the tasks.
KERNEL fill_queues(i64) {
    if (is_over()) return;
    const u64 tasks = pieces_of(frontier_work(0).count, TASK);
    if (threadIdx.x == 0)
        *queue_of(blockIdx.x) = (tasks * blockIdx.x / gridDim.x) << 32 | tasks * (blockIdx.x + 1) / gridDim.x;
}

// Take a task from the tail of an own queue or the head of another's; NO_TASK if it is empty.
DEVICE u32 take(u64* queue, bool own) {
    for (u64 seen = FRESH(queue); (seen >> 32) < (u32)seen;) {
        const u64 found = atomicCAS(queue, seen, own ? seen - 1 : seen + (1ull << 32));
        if (found == seen) return own ? (u32)seen - 1 : (u32)(seen >> 32);
        seen = found;
    }
    return NO_TASK;
}

// Pop or steal a task, by a warp: its lanes read 32 queues at a time.
DEVICE u32 pop_or_steal() {
    u32 task = lane_id() == 0 ? take(queue_of(blockIdx.x), true) : NO_TASK;
    task = shuffle(task, 0);
    const bool popped = task != NO_TASK;
    for (u32 k = 1; STEALING && task == NO_TASK && k < gridDim.x;) {
        u64* queue = queue_of((blockIdx.x + k + lane_id()) % gridDim.x);
        const u64 seen = FRESH(queue);
        const u32 full = ballot(k + lane_id() < gridDim.x && (seen >> 32) < (u32)seen);
        if (!full) {
            k += 32;
            continue;
        }
        const u32 thief = __ffs(full) - 1;
        if (lane_id() == thief) task = take(queue, false);
        task = shuffle(task, thief);
    }
    if (task != NO_TASK && lane_id() == 0) {
        env.scratch0[task] = blockIdx.x;
        queue_of(blockIdx.x)[1] += 1, queue_of(blockIdx.x)[2] += !popped;
    }
    return task;
}

template <class V> DEVICE void steal(V& visit, const Work& work, StealRoom& room) {
    while (true) {
        if (warp_in_block() == 0) {
            const u32 found = pop_or_steal();
            if (lane_id() == 0) room.task = found;
        }
        __syncthreads();
        const u32 task = room.task;
        __syncthreads();
        if (task == NO_TASK) return;
        for (u64 at = threadIdx.x; at - lane_id() < TASK; at += BLOCK) {
            const u64 i = task * TASK + at;
            const bool mine = at < TASK && i < work.count;
            const u32 u = mine ? work.item(i) : 0;
            const Source s = visit.source(mine, u);
            offset_t e = mine ? work.first(u) : 0;
            const offset_t last = mine ? work.last(u) : 0;
            for (; ballot(e < last); e += 4) visit.template edges<4>(e, last, u, s);
        }
    }
}
