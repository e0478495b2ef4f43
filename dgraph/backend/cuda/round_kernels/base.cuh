// What every kernel is built from: types, loads, atomics, warp operations, the barrier of a whole grid.
// The tests compile the same text as C++ and step through it thread by thread: nothing here needs CUDA's headers.

#define EVERY_LANE 0xffffffffu

#define LONG_KERNEL KERNEL // takes the compiler long: kernel_parts.py gives it a part of its own where it can

// Four values side by side, in one load or store.
template <class T> struct alignas(4 * sizeof(T)) Four {
    T of[4];
};

#ifndef EMULATED
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#define DEVICE static __device__ __forceinline__
#if PERSISTENT && !FUSED && !PERSISTENT_BFS // a kernel so large that copies of what it does in several places take the compiler long
#define APART static __device__ __noinline__
#else
#define APART DEVICE
#endif
#ifdef QUICK // code that a first answer waits for: copies of what several places do take the compiler long
#define CALLED_MEMBER __device__ __noinline__
#define CALLED static CALLED_MEMBER
#else
#define CALLED_MEMBER __device__
#define CALLED DEVICE
#endif
#define KERNEL extern "C" __global__ void __launch_bounds__(BLOCK)
#define KERNEL_BY(threads, resident) extern "C" __global__ void __launch_bounds__(threads, resident)
#define KERNEL_OF(resident) KERNEL_BY(BLOCK, resident)
#define SHARED(type, name) __shared__ type name
#define SHARED_ARRAY(type, name, bytes) \
    extern __shared__ u64 shared_array[]; \
    type* name = (type*)shared_array
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)
#define WAIT()
DEVICE void HIDDEN(double& x) { asm("" : "+d"(x)); } // not volatile: a quotient of constants leaves a loop
DEVICE void HIDDEN(float& x) { asm("" : "+f"(x)); }
#define ARRIVE(p) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(p) : "memory")
DEVICE u32 LATEST(const u32* p) {
    u32 x;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
#define CONSTANT __constant__

// Between GPUs: what stands before a release is seen by who acquires what it wrote. NOW() is in nanoseconds.
#define FENCE_SYSTEM() __threadfence_system()
#define WAIT_FOR_PEER()
DEVICE void RELEASE_SYSTEM(u64* p, u64 x) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
}
DEVICE void STORE_SYSTEM(u64* p, u64 x) { asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory"); }
DEVICE u64 ACQUIRE_SYSTEM(const u64* p) {
    u64 x;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}
DEVICE u64 NOW() {
    u64 x;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(x)::"memory");
    return x;
}

// Loads of edges' ends that leave nothing in a multiprocessor's cache: what they lead to may stay there instead.
DEVICE u32 streamed(const u32* p) {
    u32 x;
    asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}
DEVICE Four<u32> streamed(const Four<u32>* p) {
    Four<u32> x;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.of[0]), "=r"(x.of[1]), "=r"(x.of[2]), "=r"(x.of[3])
                 : "l"(p));
    return x;
}
DEVICE u64 streamed(const u64* p) {
    u64 x;
    asm volatile("ld.global.L1::no_allocate.u64 %0, [%1];" : "=l"(x) : "l"(p));
    return x;
}
#else
template <class T> DEVICE T streamed(const T* p) { return *p; }
#endif

// What another thread may have written during this launch: past the cache that is not coherent.
template <class T> DEVICE T fresh(const T* p) { return *(const volatile T*)p; }
#define FRESH(p) fresh(p)

// What no thread of a launch writes before all have read it: a multiprocessor asks for it once. What all warps of a GPU ask
// for past that cache is handed to them one after the other.
template <class T> DEVICE T known(const T* p) { return *p; }
#define KNOWN(p) known(p)

// A field as the edges of a round see it. In a launch of many rounds it must be fresh.
#if PERSISTENT
#define LOAD(p) fresh(p)
#else
#define LOAD(p) (*(p))
#endif

// Called for what the next of many tiny rounds will read.
#if PERSISTENT && !defined(EMULATED)
#define PREFETCH(address) asm volatile("prefetch.global.L2 [%0];" ::"l"(address))
#else
#define PREFETCH(address)
#endif

template <class T> DEVICE T smaller(T a, T b) { return b < a ? b : a; }
template <class T> DEVICE T larger(T a, T b) { return b > a ? b : a; }

// Binary search: the last place of ``low .. high - 1`` for which ``holds``, which is true up to it; ``low`` if there is none.
template <class T, class P> DEVICE T last_where(T low, T high, const P& holds) {
    while (high - low > 1) {
        const T middle = low + (high - low) / 2;
        if (holds(middle)) low = middle;
        else high = middle;
    }
    return low;
}
// The first place of ``low .. high - 1`` for which ``holds``, which is true from it on; ``high`` if there is none.
template <class T, class P> DEVICE T first_where(T low, T high, const P& holds) {
    while (low < high) {
        const T middle = low + (high - low) / 2;
        if (holds(middle)) high = middle;
        else low = middle + 1;
    }
    return low;
}
template <class T> DEVICE T absolute(T a) { return a < 0 ? -a : a; }

// a / b. A denominator of 0 sends some lanes of a warp on a detour, and what follows runs in pieces: a pass of 0.2 ms took
// 1.6. HIDDEN keeps the compiler from dividing first and choosing afterwards.
template <class T> DEVICE T quotient(T a, T b) {
    T divisor = b == 0 ? (T)1 : b;
    HIDDEN(divisor);
    const T whole = a / divisor;
    return b == 0 ? a * (T)copysign(INFINITE, (double)b) : whole;
}

DEVICE float square_root(float a) { return sqrtf(a); }
DEVICE double square_root(double a) { return sqrt(a); }

DEVICE i64 saturating_add(i64 a, i64 b) {
    const i64 most = 0x7fffffffffffffffll;
    if (b > 0 && a > most - b) return most;
    if (b < 0 && a < -most - 1 - b) return -most - 1;
    return a + b;
}

// A bijection in which every bit depends on every bit.   [SplitMix64; Steele et al., OOPSLA 2014]
DEVICE u64 mix(u64 x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

// By one seed another number for each a.
DEVICE i64 mixed(i64 a, i64 seed) { return (i64)mix((u64)a + 0x9e3779b97f4a7c15ull * ((u64)seed + 1)); }

DEVICE i64 bit_count(i64 a) { return __popc((u32)a) + __popc((u32)((u64)a >> 32)); }

DEVICE i64 saturating_subtract(i64 a, i64 b) {
    const i64 most = 0x7fffffffffffffffll;
    if (b < 0 && a > most + b) return most;
    if (b > 0 && a < -most - 1 + b) return -most - 1;
    return a - b;
}

// Atomics on fields. Proposals come as they were computed, in 64 bits or as floats: one that the field's dtype cannot
// hold loses the comparison. On integers the value before comes back, and is looked at later; else whether it changed.

DEVICE int lowered(int* p, i64 x) { return atomicMin(p, (int)smaller(larger(x, -0x80000000ll), 0x7fffffffll)); }
DEVICE u32 lowered(u32* p, i64 x) { return atomicMin(p, (u32)smaller(larger(x, 0ll), 0xffffffffll)); }
DEVICE i64 lowered(i64* p, i64 x) { return atomicMin(p, x); }
DEVICE int raised(int* p, i64 x) { return atomicMax(p, (int)smaller(larger(x, -0x80000000ll), 0x7fffffffll)); }
DEVICE u32 raised(u32* p, i64 x) { return atomicMax(p, (u32)smaller(larger(x, 0ll), 0xffffffffll)); }
DEVICE i64 raised(i64* p, i64 x) { return atomicMax(p, x); }

DEVICE u32 bits_of(float x) { return __float_as_uint(x); }
DEVICE u64 bits_of(double x) { return (u64)__double_as_longlong(x); }
DEVICE float value_of(u32 x) { return __uint_as_float(x); }
DEVICE double value_of(u64 x) { return __longlong_as_double((i64)x); }

template <class T, class W> DEVICE bool exchange_if(T* p, T x, bool down, W seen) {
    while (down ? x < value_of(seen) : x > value_of(seen)) {
        const W before = atomicCAS((W*)p, seen, bits_of(x));
        if (before == seen) return true;
        seen = before;
    }
    return false;
}
DEVICE bool lowered(float* p, float x) { return exchange_if(p, x, true, bits_of(LOAD(p))); }
DEVICE bool lowered(double* p, double x) { return exchange_if(p, x, true, bits_of(LOAD(p))); }
DEVICE bool raised(float* p, float x) { return exchange_if(p, x, false, bits_of(LOAD(p))); }
DEVICE bool raised(double* p, double x) { return exchange_if(p, x, false, bits_of(LOAD(p))); }

template <class T, class W> DEVICE bool unite_words(T* p, T x) {
    const T before = (T)atomicOr((W*)p, (W)x);
    return (before | x) != before;
}
DEVICE bool united(int* p, int x) { return unite_words<int, u32>(p, x); }
DEVICE bool united(u32* p, u32 x) { return unite_words<u32, u32>(p, x); }
DEVICE bool united(i64* p, i64 x) { return unite_words<i64, u64>(p, x); }

// Bytes (bool fields) lie four in a word.
DEVICE u32* word_of(u8* p) { return (u32*)((u64)p & ~3ull); }
DEVICE u32 shift_of(u8* p) { return 8 * (u32)((u64)p & 3); }
DEVICE bool united(u8* p, u8 x) {
    const u8 before = (u8)(atomicOr(word_of(p), (u32)x << shift_of(p)) >> shift_of(p));
    return (before | x) != before;
}
DEVICE bool raised(u8* p, i64 x) { return x > 0 && united(p, (u8)1); }
DEVICE bool lowered(u8* p, i64 x) {
    return x == 0 && ((atomicAnd(word_of(p), ~(255u << shift_of(p))) >> shift_of(p)) & 255u);
}

DEVICE void add(i64* p, i64 x) { atomicAdd((u64*)p, (u64)x); }
DEVICE void add(float* p, float x) { atomicAdd(p, x); }
DEVICE void add(double* p, double x) { atomicAdd(p, x); }

DEVICE int swapped(int* p, int old, int x) { return (int)atomicCAS((u32*)p, (u32)old, (u32)x); }
DEVICE u32 swapped(u32* p, u32 old, u32 x) { return atomicCAS(p, old, x); }
DEVICE i64 swapped(i64* p, i64 old, i64 x) { return (i64)atomicCAS((u64*)p, (u64)old, (u64)x); }
DEVICE float swapped(float* p, float old, float x) { return value_of(atomicCAS((u32*)p, bits_of(old), bits_of(x))); }
DEVICE double swapped(double* p, double old, double x) {
    return value_of(atomicCAS((u64*)p, bits_of(old), bits_of(x)));
}

// Warps. All 32 lanes take part in every one of these.

DEVICE u32 lane_id() { return threadIdx.x & 31; }
DEVICE u32 warp_in_block() { return threadIdx.x >> 5; }
DEVICE u32 ballot(bool x) { return __ballot_sync(EVERY_LANE, x); }
template <class T> DEVICE T shuffle(T x, u32 lane) { return __shfl_sync(EVERY_LANE, x, lane); }
template <class T> DEVICE T shuffle_xor(T x, u32 mask) { return __shfl_xor_sync(EVERY_LANE, x, mask); }
DEVICE bool shuffle(bool x, u32 lane) { return __shfl_sync(EVERY_LANE, (u32)x, lane) != 0; }

// The lanes that have the same value; whether none of them is below this one.
DEVICE u32 alike(u64 x) { return __match_any_sync(EVERY_LANE, x); }
DEVICE bool first_alike(u64 x) { return __ffs(alike(x)) - 1 == (int)lane_id(); }

template <class T> DEVICE T warp_sum(T x) {
    for (u32 mask = 16; mask; mask >>= 1) x += shuffle_xor(x, mask);
    return x;
}
template <class T> DEVICE T warp_most(T x) {
    for (u32 mask = 16; mask; mask >>= 1) x = larger(x, shuffle_xor(x, mask));
    return x;
}
template <class T> DEVICE T warp_least(T x) {
    for (u32 mask = 16; mask; mask >>= 1) x = smaller(x, shuffle_xor(x, mask));
    return x;
}
template <class T> DEVICE T sum_up_to_lane(T x) {
    for (u32 step = 1; step < 32; step *= 2) {
        const T other = shuffle(x, lane_id() >= step ? lane_id() - step : lane_id());
        if (lane_id() >= step) x += other;
    }
    return x;
}

// The n-th bit of a word that is set, counted from 0.
DEVICE u32 nth_bit(u32 word, u32 n) {
    u32 at = 0;
    for (u32 step = 16; step; step >>= 1) {
        const u32 below = __popc(word >> at & ((1u << step) - 1));
        if (below <= n) n -= below, at += step;
    }
    return at;
}

// The first lane whose sum of all up to it passes n; the last, where none does.
DEVICE u32 lane_past(u32 through, u32 n) {
    u32 at = 0;
    for (u32 step = 16; step; step >>= 1) at += shuffle(through, at + step - 1) <= n ? step : 0;
    return at;
}

// Neighbouring warps of a grid lie on different multiprocessors, so a short list keeps all of them busy.
DEVICE u64 warp_rank() { return (u64)warp_in_block() * gridDim.x + blockIdx.x; }
DEVICE u64 warps() { return (u64)gridDim.x * (BLOCK / 32); }
DEVICE u64 thread_rank() { return warp_rank() * 32 + lane_id(); }
DEVICE u64 threads() { return (u64)gridDim.x * BLOCK; }

// Of the 32 vertices from 32 i on those before ``end``.
DEVICE u32 bits_before(u64 i, u64 end) {
    return 32 * i >= end ? 0 : end - 32 * i >= 32 ? EVERY_LANE : (1u << (end - 32 * i)) - 1;
}

// What a warp holds of bits until there are K for each of its lanes.
template <int K> struct BitsRoom {
    static const u32 most = 32 * K + 32;
    u32 held[BLOCK / 32][most];
};

// All bits of words of vertices before ``end``: ``f(mine, v)`` of K a lane, by whole warps; ``word(i)`` by one lane. Where
// words have few, most lanes would have none of a word's. A warp takes eight words side by side, as what belongs to their
// vertices is, and others far away: numbers mostly fall with degrees, and vertices of about the same degree share their lot.
template <int K, class W, class F> DEVICE void each_of_bits(BitsRoom<K>& room, u64 end, const W& word, const F& f) {
    const u64 words = (end + 31) / 32;
    u32* held = room.held[warp_in_block()];
    u32 count = 0;
    bool more = true;
    for (u64 from = 0; more; from += 32 * warps()) {
        const u64 i = from + 8 * (lane_id() / 8 * warps() + warp_rank()) + lane_id() % 8;
        more = from < words;
        u32 own = more && i < words ? word(i) : 0;
        do {
            const u32 through = count + sum_up_to_lane((u32)__popc(own));
            const bool fits = through <= room.most;
            for (u32 at = through - __popc(own); fits && own; own &= own - 1) held[at++] = (u32)(32 * i) + __ffs(own) - 1;
            count = warp_most(fits ? through : 0);
            __syncwarp();
            while (count >= 32 * K || (count && !more)) {
                const u32 taken = smaller(count, 32u * K);
                bool mine[K];
                u32 v[K];
                count -= taken;
                for (int k = 0; k < K; k++) {
                    mine[k] = 32 * k + lane_id() < taken;
                    v[k] = mine[k] ? held[count + 32 * k + lane_id()] : 0;
                }
                __syncwarp(); // all have read before one writes again
                f(mine, v);
            }
        } while (ballot(own != 0));
    }
}

// All bits of words of vertices before ``end``: ``f(mine, v)`` by whole warps, a word at a time, whose vertices lie side by
// side, or one of each lane's where words have few.
template <class W, class F> DEVICE void each_set_bit(u64 end, const W& word, const F& f) {
    const u64 words = (end + 31) / 32;
    for (u64 i = thread_rank(); i - lane_id() < words; i += threads()) {
        u32 own = i < words ? word(i) : 0;
        u32 left = ballot(own != 0);
        const bool dense = __popc(left) <= 2 * warp_most(__popc(own));
        for (; left; left = ballot(own != 0)) {
            const u32 lane = __ffs(left) - 1, shared = shuffle(own, lane);
            const u64 at = dense ? 32 * (i - lane_id() + lane) + lane_id() : 32 * i + (own ? __ffs(own) - 1 : 0);
            f(dense ? shared >> lane_id() & 1 : own != 0, (u32)at);
            own = !dense ? own & (own - 1) : lane_id() == lane ? 0 : own;
        }
    }
}

// All blocks of a cooperative launch. ``arrived`` counts arrivals for ever; ``due`` is what it reads when all are here.
// What threads of this block wrote into a peer's memory, if any ``wrote``, comes before what is posted behind a meeting
// of all blocks: a fence orders what its thread has seen, too, and costs most where each thread has its own.
DEVICE void fence_block(bool wrote) {
    if (__syncthreads_or(wrote) && threadIdx.x == 0) FENCE_SYSTEM();
}

// What was written before it is read behind it by FRESH loads, which no cache holds back; so no fence follows.
DEVICE void grid_barrier(u32* arrived, u32& due) {
    due += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        ARRIVE(arrived);
        while ((int)(LATEST(arrived) - due) < 0) WAIT();
    }
    __syncthreads();
}
