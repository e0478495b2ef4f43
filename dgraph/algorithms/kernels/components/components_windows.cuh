// Components of a graph on one rank whose rows are short and whose neighbours mostly have near numbers, as on roads.
//
// A block joins the edges inside a window of consecutive vertices in shared memory, then all threads join those between
// windows. Only the end of larger number joins an edge, since every arc has its reverse.

#define ROW_AT_ONCE 4 // neighbours of a row whose loads are in flight at once

// Call ``f(u)`` with the neighbours in a short row.
template <class F> DEVICE void each_neighbour(offset_t e, offset_t end, const F& f) {
    for (; e < end; e += ROW_AT_ONCE) {
        u32 u[ROW_AT_ONCE];
        for (int k = 0; k < ROW_AT_ONCE; k++) u[k] = e + k < end ? env.neighbours[e + k] : NO_HEAD;
        for (int k = 0; k < ROW_AT_ONCE; k++)
            if (e + k < end) f(u[k]);
    }
}

// Trees inside each window: first every vertex becomes a child of its smallest neighbour, without an atomic; then those that
// have several smaller ones join these. The root of a tree becomes a child of a neighbour in an earlier window, if it has one.
// Any grid; a thread owns every n-th vertex of its block's window, 32 at most.
KERNEL_BY(WINDOW_BLOCK, 2) join_windows(i64) {
    SHARED_ARRAY(u32, near, WINDOW_BYTES);
    const u64 n = (u64)env.n, size = (u64)env.window;
    for (u64 base = blockIdx.x * size; base < n; base += gridDim.x * size) {
        const u32 count = (u32)smaller(size, n - base), first = (u32)base;
        u32 several = 0;
        for (u32 i = threadIdx.x, bit = 1; i < count; i += WINDOW_BLOCK, bit *= 2) {
            u32 low = i, found = 0;
            each_neighbour(env.offsets[base + i], env.offsets[base + i + 1], [&](u32 u) {
                if (u - first < i) low = smaller(low, u - first), found++;
            });
            near[i] = low;
            if (found > 1) several |= bit;
        }
        __syncthreads();
        for (; several; several &= several - 1) {
            const u32 i = threadIdx.x + (__ffs(several) - 1) * WINDOW_BLOCK;
            each_neighbour(env.offsets[base + i], env.offsets[base + i + 1], [&](u32 u) {
                if (u - first < i && u - first != near[i]) join_in(near, i, u - first);
            });
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += WINDOW_BLOCK) {
            u32 up = first + root_now_in(near, i);
            if (up == first + i)
                each_neighbour(env.offsets[base + i], env.offsets[base + i + 1], [&](u32 u) { up = smaller(up, u); });
            env.parent[base + i] = up;
        }
        __syncthreads(); // the next window takes the place of this one
    }
}

// Call ``f(u)`` with the neighbours of v in earlier windows, but for its parent.
template <class F> DEVICE void each_before(u32 v, const F& f) {
    const u32 size = (u32)env.window, first = v / size * size;
    each_neighbour(env.offsets[v], env.offsets[v + 1], [&](u32 u) {
        if (u < first && u != env.parent[v]) f(u);
    });
}

// Join the edges between windows; a warp collects vertices that have some until every lane has one.
KERNEL join_between(i64) {
    SHARED(WaitingRoom, room);
    const auto join = [&](bool mine, u32 v) {
        if (mine) each_before(v, [&](u32 u) { join_trees(v, u); });
    };
    Waiting waiting = {room.held[warp_in_block()], 0};
    each_few((u64)env.sources, [&](const u64* at) {
        bool mine[AT_ONCE];
        u32 v[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) {
            v[k] = (u32)at[k], mine[k] = false;
            if (at[k] < (u64)env.sources) each_before(v[k], [&](u32) { mine[k] = true; });
        }
        waiting.add(mine, v, join);
    });
    waiting.close(join);
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
