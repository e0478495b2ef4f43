// What the self-test of transports runs: a pattern written to a mailbox and told by a signal, the same looked for at the
// other end, and signals to and fro. ``env`` names one pair of mailboxes.

#ifndef EMULATED
DEVICE void signal_peers(u64* p, u64 x) { asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory"); }
DEVICE u64 received(const u64* p) {
    u64 x;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}
#define FENCE_ALL() __threadfence_system()
#else
DEVICE void signal_peers(u64* p, u64 x) { __atomic_store_n(p, x, __ATOMIC_RELEASE); }
DEVICE u64 received(const u64* p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
#define FENCE_ALL() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

struct Env {
    u64* box;             // the mailbox
    u64 words;            // of it that are tested
    u64 seed;             // of the pattern: no other message has it
    u64* signal;          // where this test is told; null: it is not
    u64 sequence;         // what is told
    u64* found;           // wrong words, the first of them, blocks that are through, whether a signal did not come
    u64* echo;            // of ``turns``: told there; null: to nobody
    const u64* answer;    // and heard here; null: from nobody
    u64 turns;
    u64 patience;         // looks at a signal before it is given up
};
CONSTANT Env env;

DEVICE u64 pattern(u64 i) {
    u64 x = env.seed + i * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    return x ^ (x >> 27);
}

DEVICE bool came(const u64* p, u64 least) {
    for (u64 looks = 0; received(p) < least; looks++) {
        if (looks >= env.patience) return false;
        WAIT();
    }
    return true;
}

KERNEL fill(i64) {
    for (u64 i = thread_rank(); i < env.words; i += threads()) env.box[i] = pattern(i);
    if (!env.signal) return;
    FENCE_ALL();
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(env.found + 2, 1ull) == gridDim.x - 1) {
        FENCE_ALL();
        signal_peers(env.signal, env.sequence);
    }
}

KERNEL check(i64) {
    if (env.signal) {
        if (threadIdx.x == 0 && !came(env.signal, env.sequence)) atomicAdd(env.found + 3, 1ull);
        __syncthreads();
    }
    for (u64 i = thread_rank(); i < env.words; i += threads())
        if (fresh(env.box + i) != pattern(i)) {
            atomicAdd(env.found, 1ull);
            atomicMin(env.found + 1, i);
        }
}

// One thread: tells one peer the turn, and waits until another has told it the same. Once one did not come it goes on
// telling: the fault is of one pair.
KERNEL turns(i64) {
    if (blockIdx.x || threadIdx.x) return;
    bool lost = env.answer == nullptr;
    for (u64 turn = 1; turn <= env.turns; turn++) {
        if (env.echo) signal_peers(env.echo, env.sequence + turn);
        if (lost || came(env.answer, env.sequence + turn)) continue;
        lost = true;
        atomicAdd(env.found + 3, 1ull);
    }
}
