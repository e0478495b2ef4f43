// The threads of emulate.h: who goes on when, and where they meet. Compiled once, and part of every library.
// Without C++'s library, which takes as long to link as kernels to compile.
// A warp or block whose threads do not meet at the same operation ends the process with a message.
#include "emulate.h"

#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#pragma GCC visibility push(hidden)
namespace emulated {

// Threads that meet: ``live`` of them take part, and the last that arrives lets all go.
struct Group {
    u32 live, arrived;
    u64 generation;
    int operation;
    u64 values[2][32];
    bool any;
};

struct Block {
    Group all;
    void* shared;
    size_t size;
};

struct Fiber : Place {
    jmp_buf place;
    bool started, finished;
    Block* home;
    Group *warp, *waits;
    u64 since;
    u32 parity;
    char stack[32 << 10];
};

Place* now;
Dim grid;
static jmp_buf scheduler;
static u64 state;
static u64 idle;
static void (*kernel)(i64);
static i64 argument;

static Fiber& self() { return *static_cast<Fiber*>(now); }

static u32 draw() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (u32)(state >> 33);
}

static void leave() {
    if (!_setjmp(self().place)) _longjmp(scheduler, 1);
}

void spin() { leave(); }

// Another rank is another thread or process: it must get the core.
void wait_for_peer() {
    idle = 0;
    sched_yield();
    leave();
}

u64 nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

// Now and then another thread goes first.
void chance() {
    if (state && draw() % 4 == 0) leave();
}

void* shared(size_t size) {
    Block& block = *self().home;
    if (block.size < size) {
        free(block.shared);
        block.shared = memset(malloc(size), 0xa5, size), block.size = size;
    }
    return block.shared;
}

static void arrive(Group& group, int operation) {
    if (group.arrived == 0) group.operation = operation;
    if (group.operation != operation) {
        fprintf(stderr, "emulated: thread %u of block %u is at operation %d, others at %d\n", now->thread.x,
                now->block.x, operation, group.operation);
        abort();
    }
    if (++group.arrived == group.live) {
        group.arrived = 0;
        group.generation++;
        return;
    }
    self().waits = &group, self().since = group.generation;
    leave();
}

void meet() { arrive(self().home->all, 1); }

bool any(bool x) {
    Group& all = self().home->all;
    all.any |= x;
    arrive(all, 2);
    const bool found = all.any;
    arrive(all, 3);
    all.any = false;
    arrive(all, 4);
    return found;
}

void meet_warp() { arrive(*self().warp, 5); }

// What every lane gave.
static const u64* given(u64 value, int operation) {
    Group& group = *self().warp;
    u64* values = group.values[self().parity];
    self().parity ^= 1;
    values[now->thread.x % 32] = value;
    arrive(group, operation);
    return values;
}

u32 ballot(bool x) {
    const u64* values = given(x, 6);
    u32 bits = 0;
    for (u32 i = 0; i < 32; i++) bits |= (u32)(values[i] & 1) << i;
    return bits;
}

u32 alike(u64 x) {
    const u64* values = given(x, 9);
    u32 bits = 0;
    for (u32 i = 0; i < 32; i++) bits |= (u32)(values[i] == x) << i;
    return bits;
}

u64 shuffled(u64 x, u32 lane) { return given(x, 7)[lane]; }

u64 shuffled_xor(u64 x, u32 mask) { return given(x, 8)[(now->thread.x & 31) ^ mask]; }

static void part(Group& group) {
    if (--group.live && group.arrived == group.live) group.arrived = 0, group.generation++;
}

// A fiber is made once, and runs kernel after kernel.
static void body() {
    for (;;) {
        kernel(argument);
        self().finished = true;
        part(self().home->all), part(*self().warp);
        leave();
    }
}

static void start(Fiber& fiber) {
    ucontext_t context;
    fiber.started = true;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack;
    context.uc_stack.ss_size = sizeof(fiber.stack);
    context.uc_link = nullptr;
    makecontext(&context, body, 0);
    setcontext(&context);
}

static void enter(Fiber& fiber) {
    now = &fiber;
    if (_setjmp(scheduler)) return;
    if (fiber.started) _longjmp(fiber.place, 1);
    start(fiber);
}

// A library keeps a small grid's fibers for its next launch; those of large ones would add up over libraries.
static const u32 KEPT = 1024;
static Fiber** fibers;
static u32 made;

static void resize(u32 count) {
    while (made > count) free(fibers[--made]);
    fibers = (Fiber**)realloc(fibers, count * sizeof(Fiber*));
    while (made < count) {
        fibers[made] = (Fiber*)malloc(sizeof(Fiber)); // untouched: a fiber uses little of its stack
        fibers[made++]->started = false;
    }
}

// As the library is closed: tests open thousands.
__attribute__((destructor)) static void forget() { resize(0); }

static void run(u32 blocks, u32 threads) {
    const u32 count = blocks * threads;
    Block* homes = (Block*)calloc(blocks, sizeof(Block));
    Group* warps = (Group*)calloc(count / 32, sizeof(Group));
    if (made < count) resize(count);
    for (u32 b = 0; b < blocks; b++) homes[b].all.live = threads;
    for (u32 w = 0; w < count / 32; w++) warps[w].live = 32;
    for (u32 i = 0; i < count; i++) {
        Fiber& fiber = *fibers[i];
        fiber.thread = {i % threads}, fiber.block = {i / threads};
        fiber.home = &homes[i / threads], fiber.warp = &warps[i / 32];
        fiber.finished = false, fiber.waits = nullptr, fiber.parity = 0;
    }
    idle = 0;
    const u32 first = state ? draw() % count : 0;
    for (u64 left = count; left;) {
        bool moved = false;
        for (u32 k = 0; k < count; k++) {
            Fiber& fiber = *fibers[(k + first) % count];
            if (fiber.finished || (fiber.waits && fiber.waits->generation == fiber.since)) continue;
            moved = true;
            fiber.waits = nullptr;
            enter(fiber);
            if (fiber.finished) left--, idle = 0;
        }
        if (!moved || ++idle > 20000000) {
            fprintf(stderr, "emulated: %llu threads wait for others for ever\n", left);
            abort();
        }
    }
    for (u32 b = 0; b < blocks; b++) free(homes[b].shared);
    free(homes), free(warps);
    if (made > KEPT) resize(KEPT);
}

} // namespace emulated
#pragma GCC visibility pop

extern "C" void emulate(void (*function)(i64), u32 blocks, u32 threads, i64 value, u64 seed) {
    emulated::kernel = function, emulated::argument = value, emulated::grid = {blocks}, emulated::state = seed;
    emulated::run(blocks, threads);
}
