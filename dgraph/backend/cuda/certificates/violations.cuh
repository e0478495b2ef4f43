// Bits of vertices, and violations of rules. ``env.broken`` has two words a rule: how many, and the smallest place. A place
// is a gid, or an arc as source << 32 | target.

#define THREAD ((u64)blockIdx.x * BLOCK + threadIdx.x)
#define THREADS ((u64)gridDim.x * BLOCK)

DEVICE bool bit(const u32* words, u64 at) { return words[at >> 5] >> (at & 31) & 1; }
DEVICE void set_bit(u32* words, u64 at) {
    if (!bit(words, at)) atomicOr(words + (at >> 5), 1u << (at & 31));
}

// Count a violation of ``rule`` at ``where``.
DEVICE void broken(int rule, bool is, u64 where) {
    if (!is) return;
    atomicAdd(env.broken + 2 * rule, 1ull);
    atomicMin(env.broken + 2 * rule + 1, where);
}
