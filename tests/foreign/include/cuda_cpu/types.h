// What CUDA adds to the language: qualifiers, vectors, dim3. Written from the programming guide alone.
#pragma once
#include <algorithm>
#include <cassert>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>
#include <cfloat>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The qualifiers come behind the library's headers, some of which use these words between underscores.
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define CUDARTAPI
#define __DRIVER_TYPES_H__  // headers of programs look at these before they use the runtime
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define CUDART_CB

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define CUDA_CPU_VECTORS(name, T, two, four)                                                                          \
    struct name##1 { T x; };                                                                                         \
    struct __align__(two) name##2 { T x, y; };                                                                       \
    struct name##3 { T x, y, z; };                                                                                   \
    struct __align__(four) name##4 { T x, y, z, w; };                                                                \
    static inline name##1 make_##name##1(T x) { return name##1{x}; }                                                 \
    static inline name##2 make_##name##2(T x, T y) { return name##2{x, y}; }                                         \
    static inline name##3 make_##name##3(T x, T y, T z) { return name##3{x, y, z}; }                                 \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return name##4{x, y, z, w}; }
CUDA_CPU_VECTORS(char, signed char, 2, 4)
CUDA_CPU_VECTORS(uchar, unsigned char, 2, 4)
CUDA_CPU_VECTORS(short, short, 4, 8)
CUDA_CPU_VECTORS(ushort, unsigned short, 4, 8)
CUDA_CPU_VECTORS(int, int, 8, 16)
CUDA_CPU_VECTORS(uint, unsigned, 8, 16)
CUDA_CPU_VECTORS(long, long, 16, 16)
CUDA_CPU_VECTORS(ulong, unsigned long, 16, 16)
CUDA_CPU_VECTORS(longlong, long long, 16, 16)
CUDA_CPU_VECTORS(ulonglong, unsigned long long, 16, 16)
CUDA_CPU_VECTORS(float, float, 8, 16)
CUDA_CPU_VECTORS(double, double, 16, 16)
#undef CUDA_CPU_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    operator uint3() const { return uint3{x, y, z}; }
};
