// Maximal independent set of an undirected graph in one launch.   [Burtscher, Devale, Azimi & Jaiganesh 2018: ECL-MIS]
//
// A byte a vertex: IN, OUT, or while it is undecided a coarse priority, larger first, which the exact order refines: smaller
// degree, then larger key. A vertex joins once no undecided neighbour precedes it, and puts its neighbours OUT. A thread owns
// every n-th four vertices and goes on until all of these are decided: all blocks are resident, and the first undecided vertex
// waits for none. Bytes are written without atomics: each is written OUT by any number of neighbours, or IN once by its own
// thread, never both. They are read past L1 before a vertex is decided, and an old value only makes it wait.

struct Env {
    const offset_t* offsets;
    const u32* neighbours;
    const degree_t* degree;
    const original_t* original;
    u8* status;
    int* inside;
    const degree_t* least_to; // the smallest degree up to a tile's last position; null unless positions ascend in rows
    u32* packed; // by share: two bits a vertex
    i64 n, seed, tile_bits, share, shares, words; // the share's number, their number, and words of each in ``packed``
};
CONSTANT Env env;

#define OUT 0
#define IN 255
#define FIRST_PRIORITY 254
#define EQUAL_DEGREES 48 // priorities of each degree up to 4
#define HIGH_DEGREES 62 // first priority of larger degrees: two for each power of two
#define AT_ONCE 4 // neighbours that a thread reads together

DEVICE u64 fours() { return ((u64)env.n + 3) / 4; }
DEVICE i64 key_of(u32 v) { return mixed((i64)env.original[v], env.seed); }

DEVICE u32 coarse(u64 degree, i64 key) {
    if (degree == 0) return IN;
    if (degree > 4) {
        const u32 most = (u32)smaller(degree, 0x7fffffffull), power = 31 - __clz(most);
        return HIGH_DEGREES - 2 * (power - 2) - (most >> (power - 1) & 1);
    }
    const u32 high = (u32)((u64)key >> 32) ^ 0x80000000u;
    return FIRST_PRIORITY + 1 - EQUAL_DEGREES * (u32)degree + (u32)((u64)high * EQUAL_DEGREES >> 32);
}

KERNEL begin_set(i64) {
    for (u64 v = thread_rank(); v < 4 * fours(); v += threads())
        env.status[v] = v < (u64)env.n ? (u8)coarse((u64)env.degree[v], key_of((u32)v)) : OUT;
}

// Whether u precedes v, which has the same coarse priority.
DEVICE bool precedes(u32 u, u32 v, u8 coarse) {
    if (coarse <= HIGH_DEGREES && env.degree[u] != env.degree[v]) return env.degree[u] < env.degree[v];
    return u != v && key_of(u) > key_of(v);
}

// Put v OUT unless this multiprocessor's own cache has it OUT. Most vertices have hubs as neighbours, whose bytes lie in a few
// lines, and L2 takes stores to one line in turn. An old byte in the cache only stores again.
DEVICE void put_out(u32 v) {
    if (known(env.status + v) != OUT) *(volatile u8*)(env.status + v) = OUT;
}

// Decide v unless a neighbour has to be decided before. Returns whether v still waits. A row is read from its end: where rows
// are sorted the neighbours of small degree are there, and bytes of those of larger degree than v's, which all follow v, are
// not read. AT_ONCE bytes are in flight at once; before the row's first neighbour they are its own.
DEVICE bool waits(u32 v, u8 own) {
    const offset_t first = env.offsets[v], last = env.offsets[v + 1];
    const degree_t degree = env.least_to ? env.degree[v] : 0;
    for (offset_t e = last; e > first; e -= smaller((offset_t)AT_ONCE, e - first)) {
        const auto before = [&](u32 k) { return env.neighbours[k < e - first ? e - 1 - k : first]; };
        const auto follows = [&](u32 u) { return env.least_to && env.least_to[u >> env.tile_bits] > degree; };
        u32 u[AT_ONCE], most = 0, equal = 0;
        bool after[AT_ONCE];
        for (u32 k = 0; k < AT_ONCE; k++) u[k] = before(k);
        for (u32 k = 0; k < AT_ONCE; k++) after[k] = follows(u[k]);
        for (u32 k = 0; k < AT_ONCE; k++) {
            const u32 theirs = after[k] ? OUT : fresh(env.status + u[k]);
            most = larger(most, theirs), equal |= (u32)(theirs == own) << k;
        }
        if (most == IN) *(volatile u8*)(env.status + v) = OUT;
        if (most > own) return most != IN;
        for (; equal; equal &= equal - 1)
            if (precedes(before(__ffs(equal) - 1), v, own)) return true;
        if (after[AT_ONCE - 1]) break;
    }
    for (offset_t e = first; e < last; e++)
        if (env.neighbours[e] != v) put_out(env.neighbours[e]);
    *(volatile u8*)(env.status + v) = IN;
    return false;
}

// Decide those of four vertices that need not wait; ``again``: some wait. (As a function's value it costs a stack.)
DEVICE void look_at(u64 at, bool& again) {
    const u32 four = fresh((const u32*)env.status + at);
    for (u32 k = 0; k < 4; k++) {
        const u8 own = (u8)(four >> 8 * k);
        if (own != OUT && own != IN) again |= waits((u32)(4 * at) + k, own);
    }
}

// All blocks must be resident at once. Vertices of small degree, which most others wait for, come last by number and are
// taken first. A byte that a thread has loaded may be old by the time it comes to its vertex: a vertex that is OUT has a
// neighbour that is IN, or about to be, among those that it reads.
KERNEL decide(i64) {
    const u64 count = fours();
    for (bool again = true; again;) {
        again = false;
        for (u64 i = thread_rank(); i < count; i += threads()) look_at(count - 1 - i, again);
        if (again) WAIT();
    }
}

KERNEL write_set(i64) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.inside[v] = env.status[v] == IN;
}
