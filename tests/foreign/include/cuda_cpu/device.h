// What device code calls: barriers, votes, shuffles, atomics, arithmetic. Threads run one at a time, so an atomic is plain.
#pragma once
#include "fibers.h"

static inline void __syncthreads() { cuda_cpu::barrier(0); }
static inline int __syncthreads_count(int p) { return cuda_cpu::barrier(p != 0), cuda_cpu::block().holding; }
static inline int __syncthreads_or(int p) { return cuda_cpu::barrier(p != 0), cuda_cpu::block().holding != 0; }
static inline int __syncthreads_and(int p) {
    return cuda_cpu::barrier(p != 0), cuda_cpu::block().holding == cuda_cpu::block().passed;
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __syncwarp(unsigned mask = 0xffffffffu) { cuda_cpu::meet(mask, 0); }

namespace cuda_cpu {
template <class T> uint64_t to_bits(T v) {
    static_assert(sizeof(T) <= 8);
    uint64_t bits = 0;
    std::memcpy(&bits, &v, sizeof v);
    return bits;
}
template <class T> T from_bits(uint64_t bits) {
    T v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}
/// The value of lane `from`, or one's own where `from` is none that came.
template <class T> T shuffle(unsigned mask, T v, int from, bool inside) {
    auto [got, came] = meet(mask, to_bits(v));
    return inside && (came >> (from & 31) & 1) ? from_bits<T>(got[from & 31]) : v;
}
inline unsigned vote(unsigned mask, bool p, unsigned *came) {
    auto [got, who] = meet(mask, p);
    unsigned found = 0;
    for (int i = 0; i < WARP; i++)
        if (who >> i & 1 && got[i]) found |= 1u << i;
    *came = who;
    return found;
}
}  // namespace cuda_cpu

template <class T> T __shfl_sync(unsigned mask, T v, int lane, int width = 32) {
    return cuda_cpu::shuffle(mask, v, (cuda_cpu::lane_id() & ~(width - 1)) | (lane & (width - 1)), true);
}
template <class T> T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32) {
    const int me = cuda_cpu::lane_id();
    return cuda_cpu::shuffle(mask, v, me - int(by), (me & (width - 1)) >= int(by));
}
template <class T> T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
    const int me = cuda_cpu::lane_id();
    return cuda_cpu::shuffle(mask, v, me + int(by), (me & (width - 1)) + int(by) < width);
}
template <class T> T __shfl_xor_sync(unsigned mask, T v, int with, int width = 32) {
    const int me = cuda_cpu::lane_id();
    return cuda_cpu::shuffle(mask, v, me ^ with, (me ^ with) <= (me | (width - 1)));
}
static inline unsigned __ballot_sync(unsigned mask, int p) {
    unsigned came;
    return cuda_cpu::vote(mask, p, &came);
}
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
static inline int __all_sync(unsigned mask, int p) {
    unsigned came;
    return cuda_cpu::vote(mask, p, &came) == came;
}

template <class T, class F> T cuda_cpu_atomic(T *at, F next) {
    T old = *at;
    *at = next(old);
    return old;
}
// The second operand is converted to the type of the first, as for CUDA's functions, which are no templates.
#define CUDA_CPU_ATOMIC(name, expression)                                                                             \
    template <class T> T atomic##name(T *at, std::common_type_t<T> v) {                                              \
        return cuda_cpu_atomic(at, [&](T old) -> T { return expression; });                                          \
    }                                                                                                                \
    template <class T> T atomic##name##_block(T *at, std::common_type_t<T> v) { return atomic##name(at, v); }        \
    template <class T> T atomic##name(volatile T *at, std::common_type_t<T> v) { return atomic##name((T *)at, v); }
CUDA_CPU_ATOMIC(Add, old + v)
CUDA_CPU_ATOMIC(Sub, old - v)
CUDA_CPU_ATOMIC(Exch, v)
CUDA_CPU_ATOMIC(Min, v < old ? v : old)
CUDA_CPU_ATOMIC(Max, v > old ? v : old)
CUDA_CPU_ATOMIC(And, old &v)
CUDA_CPU_ATOMIC(Or, old | v)
CUDA_CPU_ATOMIC(Xor, old ^ v)
CUDA_CPU_ATOMIC(Inc, old >= v ? 0 : old + 1)
CUDA_CPU_ATOMIC(Dec, old == 0 || old > v ? v : old - 1)
#undef CUDA_CPU_ATOMIC
template <class T> T atomicCAS(T *at, std::common_type_t<T> compare, std::common_type_t<T> v) {
    return cuda_cpu_atomic(at, [&](T old) { return old == compare ? v : old; });
}
template <class T> T __ldg(const T *at) { return *at; }
template <class T> T __ldcg(const T *at) { return *at; }

static inline int __float_as_int(float v) { return cuda_cpu::from_bits<int>(cuda_cpu::to_bits(v)); }
static inline unsigned __float_as_uint(float v) { return cuda_cpu::from_bits<unsigned>(cuda_cpu::to_bits(v)); }
static inline float __int_as_float(int v) { return cuda_cpu::from_bits<float>(cuda_cpu::to_bits(v)); }
static inline float __uint_as_float(unsigned v) { return cuda_cpu::from_bits<float>(cuda_cpu::to_bits(v)); }
static inline long long __double_as_longlong(double v) { return cuda_cpu::from_bits<long long>(cuda_cpu::to_bits(v)); }
static inline double __longlong_as_double(long long v) { return cuda_cpu::from_bits<double>(cuda_cpu::to_bits(v)); }
static inline int __mul24(int a, int b) { return int(unsigned(a << 8 >> 8) * unsigned(b << 8 >> 8)); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned __brev(unsigned v) {
    unsigned turned = 0;
    for (int i = 0; i < 32; i++) turned |= (v >> i & 1) << (31 - i);
    return turned;
}
static inline float __saturatef(float v) { return v > 0 ? (v < 1 ? v : 1) : 0; }
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    const uint64_t bytes = uint64_t(b) << 32 | a;
    unsigned made = 0;
    for (int i = 0; i < 4; i++) made |= unsigned(bytes >> 8 * (s >> 4 * i & 7) & 0xff) << 8 * i;
    return made;
}

static inline float rsqrtf(float v) { return 1.0f / sqrtf(v); }
static inline double rsqrt(double v) { return 1.0 / sqrt(v); }
static inline float rsqrt(float v) { return rsqrtf(v); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float fdividef(float a, float b) { return a / b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __frcp_rn(float v) { return 1.0f / v; }
static inline float __fsqrt_rn(float v) { return sqrtf(v); }
static inline float __frsqrt_rn(float v) { return rsqrtf(v); }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __dadd_rn(double a, double b) { return a + b; }
// Macros: the host's library has these names for itself.
#define __expf(v) expf((float)(v))
#define __exp10f(v) powf(10.0f, (float)(v))
#define __logf(v) logf((float)(v))
#define __log2f(v) log2f((float)(v))
#define __log10f(v) log10f((float)(v))
#define __sinf(v) sinf((float)(v))
#define __cosf(v) cosf((float)(v))
#define __tanf(v) tanf((float)(v))
#define __powf(a, b) powf((float)(a), (float)(b))
#define __sincosf(v, s, c) sincosf(v, s, c)
static inline float sinpif(float v) { return float(sin(M_PI * v)); }
static inline float cospif(float v) { return float(cos(M_PI * v)); }
static inline float __int2float_rn(int v) { return float(v); }
static inline float __uint2float_rn(unsigned v) { return float(v); }
static inline int __float2int_rn(float v) { return int(nearbyintf(v)); }
static inline int __float2int_rd(float v) { return int(floorf(v)); }
static inline int __float2int_rz(float v) { return int(v); }
static inline unsigned __float2uint_rn(float v) { return unsigned(nearbyintf(v)); }
static inline unsigned __float2uint_rz(float v) { return unsigned(v); }

// As CUDA's: for each pair of arithmetic types the common one, also where std has none.
#define CUDA_CPU_CHOICE(A, B, R)                                                                                      \
    static inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }                                           \
    static inline R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
#define CUDA_CPU_CHOICES(I, U)                                                                                        \
    CUDA_CPU_CHOICE(I, I, I) CUDA_CPU_CHOICE(U, U, U) CUDA_CPU_CHOICE(I, U, U) CUDA_CPU_CHOICE(U, I, U)
CUDA_CPU_CHOICES(int, unsigned)
CUDA_CPU_CHOICES(long, unsigned long)
CUDA_CPU_CHOICES(long long, unsigned long long)
#undef CUDA_CPU_CHOICE
// Floats: a NaN loses against a number, as in fmin and fmax.
#define CUDA_CPU_CHOICE(A, B, R)                                                                                      \
    static inline R min(A a, B b) { return std::fmin(R(a), R(b)); }                                                  \
    static inline R max(A a, B b) { return std::fmax(R(a), R(b)); }
CUDA_CPU_CHOICE(float, float, float)
CUDA_CPU_CHOICE(double, double, double)
CUDA_CPU_CHOICE(float, double, double)
CUDA_CPU_CHOICE(double, float, double)
#undef CUDA_CPU_CHOICE
#undef CUDA_CPU_CHOICES
static inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }

static inline long long clock64() { return 0; }
