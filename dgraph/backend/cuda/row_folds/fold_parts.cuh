// What the folds of one row share: a part's result, and the table of a row that several warps fold.

// Edges of a lane that are in flight at once.
#define FOLD_AT_ONCE 4

// True if no key of u or of a vertex behind it is more than ``least``: with FALLS, degrees bound keys.
DEVICE bool keys_end(u32 u, i64 least) {
    return FALLS && env.degree_bounds && (i64)env.degree_bounds[u >> DEGREES_BITS] <= least;
}

struct FoldPart {
    i64 key, times;
};

// Table of a row of ``degree`` edges into v: ``counts`` and, for MODE, ``keys``, ``slots`` each. ``votes``: of its
// chunks.
struct FoldTable {
    u64* keys;
    u32* counts;
    u64 slots, degree;
    u32 v, votes;
};
