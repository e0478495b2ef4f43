// Components of a graph on one rank whose rows are short and whose neighbours mostly have near numbers, as on roads.
//
// A block joins the edges inside a window of consecutive vertices in shared memory, then all threads join those between
// windows. Only the end of larger number joins an edge, since every arc has its reverse.

// Trees inside each window; the root of one becomes a child of a neighbour in an earlier window, if it has one. Any grid; a
// thread owns every n-th vertex of its block's window.
KERNEL_BY(WINDOW_BLOCK, 2) join_windows(i64) {
    SHARED_ARRAY(u32, near, WINDOW_BYTES);
    const u64 n = (u64)env.n, size = (u64)env.window;
    for (u64 base = blockIdx.x * size; base < n; base += gridDim.x * size) {
        const u32 count = (u32)smaller(size, n - base), first = (u32)base;
        for (u32 i = threadIdx.x; i < count; i += WINDOW_BLOCK) near[i] = i;
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += WINDOW_BLOCK) {
            for (offset_t e = env.offsets[base + i], end = env.offsets[base + i + 1]; e < end; e++) {
                const u32 u = env.neighbours[e];
                if (u >= first && u < first + i) join_in(near, i, u - first);
            }
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += WINDOW_BLOCK) {
            const u32 root = root_in(near, i);
            u32 up = first + root;
            if (root == i)
                for (offset_t e = env.offsets[base + i], end = env.offsets[base + i + 1]; e < end; e++)
                    up = smaller(up, env.neighbours[e]);
            env.parent[base + i] = up;
        }
        __syncthreads(); // the next window takes the place of this one
    }
}

// Join the edges between windows.
KERNEL join_between(i64) {
    const u32 size = (u32)env.window;
    for (u64 v = thread_rank(); v < (u64)env.sources; v += threads()) {
        const u32 first = (u32)v / size * size;
        for (offset_t e = env.offsets[v], end = env.offsets[v + 1]; e < end; e++) {
            const u32 u = env.neighbours[e];
            if (u < first && u != env.parent[v]) join_trees((u32)v, u);
        }
    }
}

// Write every vertex's label where original ids ascend: the root's id is the smallest of its tree.
KERNEL label_by_root(i64) {
    const u64 n = (u64)env.n;
    each_four(n, [&](u64 v) {
        const Four<u32> root = compress(n, v, NO_HEAD);
        Four<i64> label;
        for (int k = 0; k < 4; k++) label.of[k] = v + k < n ? (i64)env.original[root.of[k]] : 0;
        store_four(env.lowest, v, n, label);
    });
}
