// Union-find in an array of parents, of which each is smaller than its child, or its own vertex at a root. The array is in
// global memory or in a block's shared memory. Plain loads may be stale: an old parent is still an ancestor, so only
// compare-and-swap and loads past L1 (FRESH) need be current.   [Jaiganesh & Burtscher, HPDC 2018: ECL-CC]

// Root of v's tree, by L1-cached loads, with path halving; a racing write stores an ancestor, too.
DEVICE u32 root_in(u32* parent, u32 v) {
    u32 up = parent[v], above;
    for (u32 below = v; up != (above = parent[up]); below = up, up = above) parent[below] = above;
    return up;
}

// Root of v's tree, by loads past the L1 cache.
DEVICE u32 root_now_in(const u32* parent, u32 v) {
    for (u32 up; (up = FRESH(parent + v)) != v;) v = up;
    return v;
}

// Join the trees of u and v: the larger root becomes a child of the smaller one, by compare-and-swap.
DEVICE void join_in(u32* parent, u32 u, u32 v) {
    u32 a = root_in(parent, u), b = root_in(parent, v);
    while (a != b) {
        const u32 high = larger(a, b), low = smaller(a, b), above = atomicCAS(parent + high, high, low);
        if (above == high) return;
        a = root_now_in(parent, above), b = low;
    }
}
