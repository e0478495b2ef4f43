// CUDA C++ on one CPU thread: every GPU thread is a fiber, and fibers change at barriers, warp operations and atomics.
// A warp or block whose threads do not meet at the same operation ends the process with a message.
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <time.h>
#include <ucontext.h>
#include <memory>
#include <vector>

#define EMULATED
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define DEVICE static inline
#define __device__
#define KERNEL extern "C" void
#define KERNEL_OF(resident) KERNEL
#define CONSTANT
#define INFINITE __builtin_inf()
#define HIDDEN(x)
#define WAIT() emulated::spin()
#define ARRIVE(p) atomicAdd(p, 1u)
#define LATEST(p) fresh(p)
#define FENCE_SYSTEM() __sync_synchronize()
#define RELEASE_SYSTEM(p, x) __atomic_store_n(p, (u64)(x), __ATOMIC_RELEASE)
#define TELL_SYSTEM(p, x) __atomic_store_n(p, (u64)(x), __ATOMIC_RELAXED)
#define ACQUIRE_SYSTEM(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define WAIT_FOR_PEER() emulated::wait_for_peer()
#define NOW() emulated::nanoseconds()
#define SHARED(type, name) type& name = *(type*)emulated::shared(sizeof(type))

namespace emulated {

struct Dim {
    u32 x;
};

// Threads that meet: ``live`` of them take part, and the last that arrives lets all go.
struct Group {
    u32 live = 0, arrived = 0;
    u64 generation = 0;
    int operation = 0;
    u64 values[2][32];
    int any = 0;
};

struct Block {
    Group all;
    std::vector<Group> warps;
    std::vector<u64> shared;
    u32 index;
};

struct Fiber {
    ucontext_t context;
    jmp_buf place;
    bool started = false, finished = false;
    Dim thread, block;
    Block* home;
    Group* waits = nullptr;
    u64 since = 0;
    u32 parity = 0;
};

static Fiber* now;
static jmp_buf scheduler;
static Dim grid;
static u64 state;
static u64 switches;
static void (*kernel)(i64);
static i64 argument;

static u32 draw() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (u32)(state >> 33);
}

static void leave() {
    if (!_setjmp(now->place)) _longjmp(scheduler, 1);
}

static void spin() { leave(); }

// Another rank is another thread or process: it must get the core.
static u64 idle;
static void wait_for_peer() {
    idle = 0;
    sched_yield();
    leave();
}

static u64 nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

// Now and then another thread goes first.
static void chance() {
    if (state && draw() % 4 == 0) leave();
}

static void* shared(size_t size) {
    auto& room = now->home->shared;
    if (room.size() * 8 < size) {
        room.resize(size / 8 + 1);
        memset(room.data(), 0xa5, room.size() * 8);
    }
    return room.data();
}

static void arrive(Group& group, int operation) {
    if (group.arrived == 0) group.operation = operation;
    if (group.operation != operation) {
        fprintf(stderr, "emulated: thread %u of block %u is at operation %d, others at %d\n", now->thread.x, now->block.x,
                operation, group.operation);
        abort();
    }
    if (++group.arrived == group.live) {
        group.arrived = 0;
        group.generation++;
        return;
    }
    now->waits = &group, now->since = group.generation;
    leave();
}

static Group& warp() { return now->home->warps[now->thread.x / 32]; }

static u64 exchange(u64 value, u32 from, int operation) {
    Group& group = warp();
    const u32 parity = now->parity;
    now->parity ^= 1;
    group.values[parity][now->thread.x % 32] = value;
    arrive(group, operation);
    return group.values[parity][from];
}

static void body() {
    kernel(argument);
    now->finished = true;
    for (Group* group : {&now->home->all, &warp()})
        if (--group->live && group->arrived == group->live) group->arrived = 0, group->generation++;
    _longjmp(scheduler, 1);
}

// A library keeps a small grid's stacks for its next launch; those of large ones would add up over libraries.
static const size_t STACK = 32 << 10, KEPT = 1024;
static std::vector<std::unique_ptr<char[]>> stacks;

static void run(void (*function)(i64), u32 blocks, u32 threads, i64 value, u64 seed) {
    kernel = function, argument = value, grid = {blocks}, state = seed;
    std::vector<Block> homes(blocks);
    std::vector<Fiber> fibers(blocks * threads);
    while (stacks.size() < fibers.size()) stacks.emplace_back(new char[STACK]);
    for (u32 b = 0; b < blocks; b++) {
        homes[b].index = b;
        homes[b].all.live = threads;
        homes[b].warps.resize(threads / 32);
        for (auto& group : homes[b].warps) group.live = 32;
    }
    for (u32 i = 0; i < fibers.size(); i++) {
        fibers[i].thread = {i % threads}, fibers[i].block = {i / threads}, fibers[i].home = &homes[i / threads];
    }
    u64 left = fibers.size();
    idle = 0;
    const u32 start = state ? draw() % fibers.size() : 0;
    while (left) {
        bool moved = false;
        for (u32 k = 0; k < fibers.size(); k++) {
            Fiber& fiber = fibers[(k + start) % fibers.size()];
            if (fiber.finished || (fiber.waits && fiber.waits->generation == fiber.since)) continue;
            moved = true;
            fiber.waits = nullptr;
            now = &fiber;
            if (!_setjmp(scheduler)) {
                if (fiber.started) _longjmp(fiber.place, 1);
                fiber.started = true;
                getcontext(&fiber.context);
                auto& stack = stacks[&fiber - fibers.data()];
                fiber.context.uc_stack.ss_sp = stack.get();
                fiber.context.uc_stack.ss_size = STACK;
                fiber.context.uc_link = nullptr;
                makecontext(&fiber.context, body, 0);
                setcontext(&fiber.context);
            }
            if (fiber.finished) left--, idle = 0;
        }
        if (!moved || ++idle > 20000000) {
            fprintf(stderr, "emulated: %llu threads wait for others for ever\n", left);
            abort();
        }
    }
    if (stacks.size() > KEPT) stacks.resize(KEPT);
}

template <class T> static u64 pack(T x) {
    u64 bits = 0;
    memcpy(&bits, &x, sizeof(T));
    return bits;
}
template <class T> static T unpack(u64 bits) {
    T x;
    memcpy(&x, &bits, sizeof(T));
    return x;
}

} // namespace emulated

#define threadIdx (emulated::now->thread)
#define blockIdx (emulated::now->block)
#define gridDim (emulated::grid)

static inline void __syncthreads() { emulated::arrive(emulated::now->home->all, 1); }
static inline int __syncthreads_or(int x) {
    emulated::Group& all = emulated::now->home->all;
    all.any |= x != 0;
    emulated::arrive(all, 2);
    const int any = all.any;
    emulated::arrive(all, 3);
    all.any = 0;
    emulated::arrive(all, 4);
    return any;
}
static inline void __syncwarp() { emulated::arrive(emulated::warp(), 5); }
static inline void __threadfence() {}
static inline u32 __ballot_sync(u32, bool x) {
    emulated::Group& group = emulated::warp();
    const u32 parity = emulated::now->parity;
    emulated::exchange(x, 0, 6);
    u32 bits = 0;
    for (u32 i = 0; i < 32; i++) bits |= (u32)(group.values[parity][i] & 1) << i;
    return bits;
}
static inline u32 __match_any_sync(u32, u64 x) {
    emulated::Group& group = emulated::warp();
    const u32 parity = emulated::now->parity;
    emulated::exchange(x, 0, 9);
    u32 alike = 0;
    for (u32 i = 0; i < 32; i++) alike |= (u32)(group.values[parity][i] == x) << i;
    return alike;
}
template <class T> static inline T __shfl_sync(u32, T x, u32 lane) {
    return emulated::unpack<T>(emulated::exchange(emulated::pack(x), lane & 31, 7));
}
template <class T> static inline T __shfl_xor_sync(u32, T x, u32 mask) {
    return emulated::unpack<T>(emulated::exchange(emulated::pack(x), (threadIdx.x & 31) ^ mask, 8));
}

static inline int __popc(u32 x) { return __builtin_popcount(x); }
static inline int __ffs(u32 x) { return __builtin_ffs((int)x); }
static inline int __clz(u32 x) { return x ? __builtin_clz(x) : 32; }
static inline u32 __float_as_uint(float x) { return emulated::unpack<u32>(emulated::pack(x)); }
static inline float __uint_as_float(u32 x) { return emulated::unpack<float>(emulated::pack(x)); }
static inline i64 __double_as_longlong(double x) { return emulated::unpack<i64>(emulated::pack(x)); }
static inline double __longlong_as_double(i64 x) { return emulated::unpack<double>(emulated::pack(x)); }

template <class T, class F> static inline T change(T* p, F f) {
    emulated::chance();
    const T before = *p;
    *p = f(before);
    emulated::chance();
    return before;
}
template <class T> static inline T atomicAdd(T* p, T x) { return change(p, [=](T a) { return a + x; }); }
template <class T> static inline T atomicMin(T* p, T x) { return change(p, [=](T a) { return x < a ? x : a; }); }
template <class T> static inline T atomicMax(T* p, T x) { return change(p, [=](T a) { return x > a ? x : a; }); }
template <class T> static inline T atomicOr(T* p, T x) { return change(p, [=](T a) { return a | x; }); }
template <class T> static inline T atomicAnd(T* p, T x) { return change(p, [=](T a) { return a & x; }); }
template <class T> static inline T atomicExch(T* p, T x) { return change(p, [=](T) { return x; }); }
template <class T> static inline T atomicCAS(T* p, T old, T x) { return change(p, [=](T a) { return a == old ? x : a; }); }

extern "C" void emulate(void (*function)(i64), u32 blocks, u32 threads, i64 argument, u64 seed) {
    emulated::run(function, blocks, threads, argument, seed);
}
