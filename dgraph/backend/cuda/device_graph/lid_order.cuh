// A field by lid, from its values by position. Any grid. Vertices without edges come last in both orders, so their
// values are read side by side; of the others a thread has eight reads under way.

struct Env {
    const value_t* values;
    const u32* place;
    i64 count;
    value_t* found;
};
CONSTANT Env env;

#define AT_ONCE 8

KERNEL by_lid(i64) {
    for (u64 first = thread_rank(); first < (u64)env.count; first += AT_ONCE * threads()) {
        u32 at[AT_ONCE];
        value_t x[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) at[k] = first + k * threads() < (u64)env.count ? env.place[first + k * threads()] : 0;
        for (int k = 0; k < AT_ONCE; k++) x[k] = env.values[at[k]];
        for (int k = 0; k < AT_ONCE; k++)
            if (first + k * threads() < (u64)env.count) env.found[first + k * threads()] = x[k];
    }
}
