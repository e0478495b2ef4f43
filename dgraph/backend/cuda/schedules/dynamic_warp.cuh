// dynamic_warp: virtual warps sized by the round [001; Busato & Bombieri, TPDS 2015: BFS-4K].
//
// The size is the power of two nearest to resident threads / vertices, from SMALLEST_WARP, the paper's K1, to 32.

struct DynamicWarpRoom {};

DEVICE u32 fitting_warp(u64 count) {
    u32 size = SMALLEST_WARP;
    while (size < 32 && 2 * threads() >= 3 * size * count) size *= 2;
    return size;
}

template <class V> DEVICE void dynamic_warp(V& visit, const Work& work, DynamicWarpRoom&) {
    NoneAside none;
    walk_in_groups(visit, work, fitting_warp(work.count), none);
}
