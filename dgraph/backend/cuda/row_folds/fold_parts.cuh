// What the folds of one row share: a part's result, and the table of a row that several warps fold.

// Edges of a lane that are in flight at once.
#define FOLD_AT_ONCE 4

struct FoldPart {
    i64 key, times;
};

// ``counts`` and, for MODE, ``keys``: ``slots`` each.
struct FoldTable {
    u64* keys;
    u32* counts;
    u64 slots;
    i64 degree;
};
