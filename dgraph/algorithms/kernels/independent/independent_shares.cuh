// Shares of an independent set for GPUs that each hold the whole graph; follows independent.cuh.
//
// Each GPU looks once at every shares-th piece, and then sends what it decided to all, two bits a vertex. An undecided vertex
// of another GPU makes its neighbours wait, as any other does. A share has every shares-th piece of PIECE fours.

#define CODE_OUT 1
#define CODE_IN 2

DEVICE u64 four_of(u64 i, u64 share) { return (i / PIECE * (u64)env.shares + share) * PIECE + i % PIECE; }

KERNEL decide_share(i64) {
    const u64 count = 4 * (u64)env.words; // fours of a share
    bool again = false;
    for (u64 i = thread_rank(); i < count; i += threads()) {
        const u64 at = four_of(count - 1 - i, (u64)env.share);
        if (at < fours()) look_at(at, again);
    }
}

KERNEL pack_share(i64) {
    for (u64 w = thread_rank(); w < (u64)env.words; w += threads()) {
        u32 codes = 0;
        for (u32 k = 0; k < 16; k++) {
            const u64 at = four_of(4 * w + k / 4, (u64)env.share);
            const u8 status = at < fours() ? env.status[4 * at + k % 4] : OUT;
            codes |= (status == OUT ? CODE_OUT : status == IN ? CODE_IN : 0u) << 2 * k;
        }
        env.packed[(u64)env.share * (u64)env.words + w] = codes;
    }
}

KERNEL unpack_shares(i64) {
    for (u64 i = thread_rank(); i < (u64)env.words * (u64)env.shares; i += threads()) {
        const u64 share = i / (u64)env.words, w = i % (u64)env.words;
        const u32 codes = share == (u64)env.share ? 0 : env.packed[i];
        for (u32 k = 0; k < 16; k++) {
            const u32 code = codes >> 2 * k & 3;
            const u64 at = four_of(4 * w + k / 4, share);
            if (code && at < fours()) env.status[4 * at + k % 4] = code == CODE_IN ? IN : OUT;
        }
    }
}
