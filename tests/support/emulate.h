// CUDA C++ on one CPU thread: every GPU thread is a fiber, and fibers change at barriers, warp operations and atomics.
// How they change is in emulate.cpp, which is compiled once; this is compiled with every text, and so includes hardly
// anything: C++'s own <math.h> takes longer than kernels.
#include <stddef.h>

#define EMULATED
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define DEVICE static inline
#define APART DEVICE
#define CALLED DEVICE
#define CALLED_MEMBER
#define __device__
#define KERNEL extern "C" void
#define KERNEL_OF(resident) KERNEL
#define KERNEL_BY(threads, resident) KERNEL
#define CONSTANT
#define INFINITE __builtin_inf()
#define HIDDEN(x)
#define WAIT() emulated::spin()
#define ARRIVE(p) atomicAdd(p, 1u)
#define LATEST(p) fresh(p)
#define FENCE_SYSTEM() __sync_synchronize()
#define RELEASE_SYSTEM(p, x) __atomic_store_n(p, (u64)(x), __ATOMIC_RELEASE)
#define STORE_SYSTEM(p, x) __atomic_store_n(p, (u64)(x), __ATOMIC_RELAXED)
#define ACQUIRE_SYSTEM(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define WAIT_FOR_PEER() emulated::wait_for_peer()
#define NOW() emulated::nanoseconds()
#define SHARED(type, name) type& name = *(type*)emulated::shared(sizeof(type))
#define SHARED_ARRAY(type, name, bytes) type* name = (type*)emulated::shared(bytes)

// A library's own, hidden from others: two devices must not share them.
#pragma GCC visibility push(hidden)
namespace emulated {

struct Dim {
    u32 x;
};

struct Place {
    Dim thread, block;
};

extern Place* now;
extern Dim grid;

void spin();
void wait_for_peer();
u64 nanoseconds();
void chance();
void* shared(size_t size);
void meet();
bool any(bool x);
void meet_warp();
u32 ballot(bool x);
u32 alike(u64 x);
u64 shuffled(u64 x, u32 lane);
u64 shuffled_xor(u64 x, u32 mask);

template <class T> static inline u64 pack(T x) {
    u64 bits = 0;
    __builtin_memcpy(&bits, &x, sizeof(T));
    return bits;
}
template <class T> static inline T unpack(u64 bits) {
    T x;
    __builtin_memcpy(&x, &bits, sizeof(T));
    return x;
}

} // namespace emulated
#pragma GCC visibility pop

#define threadIdx (emulated::now->thread)
#define blockIdx (emulated::now->block)
#define gridDim (emulated::grid)

static inline void __syncthreads() { emulated::meet(); }
static inline int __syncthreads_or(int x) { return emulated::any(x != 0); }
static inline void __syncwarp() { emulated::meet_warp(); }
static inline void __threadfence() {}
static inline u32 __ballot_sync(u32, bool x) { return emulated::ballot(x); }
static inline u32 __match_any_sync(u32, u64 x) { return emulated::alike(x); }
template <class T> static inline T __shfl_sync(u32, T x, u32 lane) {
    return emulated::unpack<T>(emulated::shuffled(emulated::pack(x), lane & 31));
}
template <class T> static inline T __shfl_xor_sync(u32, T x, u32 mask) {
    return emulated::unpack<T>(emulated::shuffled_xor(emulated::pack(x), mask));
}

static inline double sqrt(double x) { return __builtin_sqrt(x); }
static inline float sqrtf(float x) { return __builtin_sqrtf(x); }
static inline double copysign(double x, double sign) { return __builtin_copysign(x, sign); }
static inline float copysign(float x, float sign) { return __builtin_copysignf(x, sign); }
static inline int __popc(u32 x) { return __builtin_popcount(x); }
static inline int __ffs(u32 x) { return __builtin_ffs((int)x); }
static inline int __clz(u32 x) { return x ? __builtin_clz(x) : 32; }
static inline u64 __umul64hi(u64 x, u64 y) { return (u64)((unsigned __int128)x * y >> 64); }
static inline u32 __float_as_uint(float x) { return emulated::unpack<u32>(emulated::pack(x)); }
static inline float __uint_as_float(u32 x) { return emulated::unpack<float>(emulated::pack(x)); }
static inline i64 __double_as_longlong(double x) { return emulated::unpack<i64>(emulated::pack(x)); }
static inline double __longlong_as_double(i64 x) { return emulated::unpack<double>(emulated::pack(x)); }

// To the nearest integer, ties to even: past 2^52 there is nothing to round.
static inline i64 __double2ll_rn(double x) {
    const double whole = 4503599627370496.0;
    return (i64)(x >= whole || x <= -whole ? x : x < 0 ? x - whole + whole : x + whole - whole);
}
static inline i64 __float2ll_rn(float x) { return __double2ll_rn((double)x); }

#define ATOMIC(name, after)                                                                                            \
    template <class T> static inline T name(T* p, T x) {                                                               \
        emulated::chance();                                                                                            \
        const T before = *p;                                                                                           \
        *p = after;                                                                                                    \
        emulated::chance();                                                                                            \
        return before;                                                                                                 \
    }
ATOMIC(atomicAdd, before + x)
ATOMIC(atomicMin, x < before ? x : before)
ATOMIC(atomicMax, x > before ? x : before)
ATOMIC(atomicOr, before | x)
ATOMIC(atomicAnd, before & x)
ATOMIC(atomicXor, before ^ x)
ATOMIC(atomicExch, x)
template <class T> static inline T atomicCAS(T* p, T old, T x) {
    emulated::chance();
    const T before = *p;
    *p = before == old ? x : before;
    emulated::chance();
    return before;
}
