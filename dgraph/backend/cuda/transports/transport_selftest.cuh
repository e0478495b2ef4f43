// Kernels of the transports' self-test: write a pattern to a mailbox and signal it, check the pattern at the other end,
// and send signals to and fro. ``env`` names one pair of mailboxes.

#ifndef EMULATED
DEVICE void store_release(u64* p, u64 x) { asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory"); }
DEVICE u64 load_acquire(const u64* p) {
    u64 x;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}
#define FENCE_ALL() __threadfence_system()
#else
DEVICE void store_release(u64* p, u64 x) { __atomic_store_n(p, x, __ATOMIC_RELEASE); }
DEVICE u64 load_acquire(const u64* p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
#define FENCE_ALL() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

struct Env {
    u64* box;             // the mailbox
    u64 words;            // words of the mailbox that are tested
    u64 seed;             // of the pattern, unique to a message
    u64* signal;          // ready signal of the message; null: none
    u64 sequence;         // value of the signal
    u64* found;           // results: wrong words, the first of them, finished blocks, missing signals
    u64* echo;            // ``turns``: signal to a peer; null: none
    const u64* answer;    // ``turns``: signal from a peer; null: none
    u64 turns;
    u64 patience;         // nanoseconds until a signal is given up
};
CONSTANT Env env;

DEVICE u64 pattern(u64 i) {
    u64 x = env.seed + i * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    return x ^ (x >> 27);
}

DEVICE bool came(const u64* p, u64 least) {
    const u64 began = NOW();
    while (load_acquire(p) < least) {
        if (NOW() - began > env.patience) return load_acquire(p) >= least;
        WAIT();
    }
    return true;
}

// Write the pattern, any grid; the last block to finish signals with release (system scope).
KERNEL fill(i64) {
    for (u64 i = thread_rank(); i < env.words; i += threads()) env.box[i] = pattern(i);
    if (!env.signal) return;
    FENCE_ALL();
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(env.found + 2, 1ull) == gridDim.x - 1) {
        FENCE_ALL();
        store_release(env.signal, env.sequence);
    }
}

// Wait for the signal (acquire, system scope), then count wrong words.
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

// One thread: signals the turn to one peer and waits until another has signalled the same. After a missing signal it
// goes on signalling, since the fault concerns one pair only.
KERNEL turns(i64) {
    if (blockIdx.x || threadIdx.x) return;
    bool lost = env.answer == nullptr;
    for (u64 turn = 1; turn <= env.turns; turn++) {
        if (env.echo) store_release(env.echo, env.sequence + turn);
        if (lost || came(env.answer, env.sequence + turn)) continue;
        lost = true;
        atomicAdd(env.found + 3, 1ull);
    }
}
