// What sources use of CUDA, for clang without CUDA's headers: qualifiers, built-in variables, a few functions.
#pragma once
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
typedef unsigned int uint;
typedef unsigned long long size64;
typedef __SIZE_TYPE__ size_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned char uchar;
#define __dev static __device__ __forceinline__
struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
#define VECTORS(T, N) \
    struct N##2 { T x, y; }; struct N##3 { T x, y, z; }; struct __attribute__((aligned(16))) N##4 { T x, y, z, w; }; \
    __dev N##2 make_##N##2(T x, T y) { return {x, y}; } \
    __dev N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; } \
    __dev N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
VECTORS(float, float)
VECTORS(int, int)
VECTORS(double, double)
struct __attribute__((aligned(4))) short2 { short x, y; };
struct uint2 { unsigned x, y; };
struct __attribute__((aligned(16))) uint4 { unsigned x, y, z, w; };
#define FIELD(N, B) \
    struct N##_t { \
        __declspec(property(get = get_x)) unsigned x; \
        __declspec(property(get = get_y)) unsigned y; \
        __declspec(property(get = get_z)) unsigned z; \
        __device__ unsigned get_x() const { return __nvvm_read_ptx_sreg_##B##_x(); } \
        __device__ unsigned get_y() const { return __nvvm_read_ptx_sreg_##B##_y(); } \
        __device__ unsigned get_z() const { return __nvvm_read_ptx_sreg_##B##_z(); } \
    }; \
    extern const __device__ __attribute__((weak)) N##_t N;
FIELD(threadIdx, tid)
FIELD(blockIdx, ctaid)
FIELD(blockDim, ntid)
FIELD(gridDim, nctaid)
#define warpSize 32
__dev void __threadfence() { __nvvm_membar_gl(); }
__dev void __threadfence_block() { __nvvm_membar_cta(); }
__dev float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
__dev double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
__dev float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
__dev float fabsf(float x) { return __builtin_fabsf(x); }
__dev double fabs(double x) { return __builtin_fabs(x); }
__dev float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__dev double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__dev float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
__dev float fminf(float a, float b) { return __builtin_fminf(a, b); }
__dev float rintf(float a) { return __builtin_rintf(a); }
__dev float floorf(float a) { return __builtin_floorf(a); }
__dev float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
__dev float __sinf(float x) { return __nvvm_sin_approx_f(x); }
__dev float __cosf(float x) { return __nvvm_cos_approx_f(x); }
__dev float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
__dev float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }
__dev int min(int a, int b) { return a < b ? a : b; }
__dev int max(int a, int b) { return a > b ? a : b; }
__dev unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
__dev unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
__dev float min(float a, float b) { return __builtin_fminf(a, b); }
__dev float max(float a, float b) { return __builtin_fmaxf(a, b); }
__dev int abs(int a) { return a < 0 ? -a : a; }
__dev int __popc(unsigned x) { return __builtin_popcount(x); }
__dev int __clz(int x) { return x ? __builtin_clz(x) : 32; }
__dev int __ffs(int x) { return __builtin_ffs(x); }
__dev unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__dev unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
__dev unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__dev int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__dev float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__dev float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__dev int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
__dev unsigned atomicAdd(unsigned *p, unsigned v) { return (unsigned)__nvvm_atom_add_gen_i((int *)p, (int)v); }
__dev float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
__dev unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) {
    return (unsigned long long)__nvvm_atom_add_gen_ll((long long *)p, (long long)v);
}
__dev int atomicMax(int *p, int v) { return __nvvm_atom_max_gen_i(p, v); }
__dev int atomicMin(int *p, int v) { return __nvvm_atom_min_gen_i(p, v); }
__dev unsigned atomicMax(unsigned *p, unsigned v) { return __nvvm_atom_max_gen_ui(p, v); }
__dev unsigned atomicMin(unsigned *p, unsigned v) { return __nvvm_atom_min_gen_ui(p, v); }
__dev int atomicExch(int *p, int v) { return __nvvm_atom_xchg_gen_i(p, v); }
__dev int atomicCAS(int *p, int c, int v) { return __nvvm_atom_cas_gen_i(p, c, v); }
__dev int __shfl_sync(unsigned m, int v, int l) { return __nvvm_shfl_sync_idx_i32(m, v, l, 31); }
__dev int __shfl_xor_sync(unsigned m, int v, int l) { return __nvvm_shfl_sync_bfly_i32(m, v, l, 31); }
__dev int __shfl_down_sync(unsigned m, int v, int l) { return __nvvm_shfl_sync_down_i32(m, v, l, 31); }
__dev int __shfl_up_sync(unsigned m, int v, int l) { return __nvvm_shfl_sync_up_i32(m, v, l, 0); }
__dev float __shfl_down_sync(unsigned m, float v, int l) { return __nvvm_shfl_sync_down_f32(m, v, l, 31); }
__dev float __shfl_xor_sync(unsigned m, float v, int l) { return __nvvm_shfl_sync_bfly_f32(m, v, l, 31); }
__dev unsigned __ballot_sync(unsigned m, int p) { return __nvvm_vote_ballot_sync(m, p); }
__dev int __any_sync(unsigned m, int p) { return __nvvm_vote_any_sync(m, p); }
__dev int __all_sync(unsigned m, int p) { return __nvvm_vote_all_sync(m, p); }
__dev void __syncwarp(unsigned m = 0xffffffff) { __nvvm_bar_warp_sync(m); }
template <class T> __dev T __ldg(const T *p) { return *p; }
__dev float __fadd_rn(float a, float b) { return __nvvm_add_rn_f(a, b); }
__dev float __fmul_rn(float a, float b) { return __nvvm_mul_rn_f(a, b); }
__dev float __saturatef(float x) { return __nvvm_saturate_f(x); }
__dev float __frcp_rn(float x) { return __nvvm_rcp_rn_f(x); }
__dev uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
__dev uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
typedef __PTRDIFF_TYPE__ ptrdiff_t;
