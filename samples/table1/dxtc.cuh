// DXT1 compression: 4 x 4 pixels in 64 bits, two end colours of 16 bits and a 2-bit choice per pixel, among four colours
// or, where that fits better, among three.
//
// One block of THREADS threads per 4 x 4 pixels. The colours are put in order along their principal axis; every way of
// cutting the ordered sixteen into four runs (969 of them) or three (153) assigns them to palette entries, for which
// least squares gives the best end colours. Threads try three cuts at a time, so that a colour is fetched once for all;
// cuts into three runs, which are tried last, are worked out beforehand. The block takes the best ends, and each pixel the
// palette entry nearest to it. Shared memory: 1,024 bytes, and 8 per thread.

#include "unified/dxtc_parts.cuh"

#define AT_ONCE 3
#define TABLE 160            // cuts into three, and seven that cut nothing
#define ALL (CUTS + TABLE)

// The end colours of a palette of four have the larger one first, those of a palette of three the smaller one.
static __device__ __forceinline__ unsigned in_order(unsigned ends, bool larger_first)
{
    const unsigned a = ends >> 16, b = ends & 0xffffu;
    return larger_first ? max(a, b) << 16 | min(a, b) : min(a, b) << 16 | max(a, b);
}

// Where cut number `rest` into three runs cuts: before these two pixels, packed.
static __device__ __forceinline__ unsigned unrank_three(int rest)
{
    int first = 0;
    for (; first < PIXELS && rest >= 17 - first; first++)
        rest -= 17 - first;
    return first | min(first + rest, PIXELS) << 8;
}

// A cut of either kind, and the weights of the runs between the first and the last.
struct Runs {
    Cut cut;
    float second, third;
};

static __device__ __forceinline__ Runs runs(int number, const unsigned *threes)
{
    if (number < CUTS)
        return {unrank(number), 2.0f / 3.0f, 1.0f / 3.0f};
    const unsigned packed = threes[number - CUTS];
    const int first = packed & 255u, second = packed >> 8;
    return {{first, second, second}, 0.5f, 0.0f};
}

extern "C" __global__ void __launch_bounds__(THREADS)
dxtc(const unsigned *__restrict__ image, uint2 *__restrict__ compressed, int width)
{
    __shared__ float3 colours[PIXELS];
    __shared__ float3 ordered[PIXELS];
    __shared__ unsigned threes[TABLE];
    __shared__ float errors[THREADS];
    __shared__ unsigned winners[THREADS];

    const int t = threadIdx.x;
    if (t < TABLE)
        threes[t] = unrank_three(t);
    const float3 sum = arrange(image, width, t, colours, ordered, errors);

    float best = 3.0e38f;
    unsigned ends = 0;
    for (int number = t; number < ALL; number += AT_ONCE * THREADS) {
        Runs tried[AT_ONCE];
        Fit fits[AT_ONCE] = {};
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            tried[k] = runs(min(number + k * THREADS, ALL - 1), threes);
#pragma unroll 2
        for (int i = 0; i < PIXELS; i++) {
            const float3 c = ordered[i];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                const Runs &r = tried[k];
                gather(fits[k], i < r.cut.first ? 1.0f : i < r.cut.second ? r.second : i < r.cut.third ? r.third : 0.0f, c);
            }
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const float least = best;
            unsigned found = 0;
            take_better(best, found, fits[k], sum);
            if (best < least)
                ends = in_order(found, number + k * THREADS < CUTS);
        }
    }

    errors[t] = best;
    winners[t] = ends;
#pragma unroll 1
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half && errors[t + half] < errors[t]) {
            errors[t] = errors[t + half];
            winners[t] = winners[t + half];
        }
    }
    __syncthreads();

    if (t < warpSize) {
        const unsigned first = winners[0] >> 16, second = winners[0] & 0xffffu;
        unsigned choice = 0;
        if (t < PIXELS)
            choice = nearest(expand(first), expand(second), colours[t], first <= second);
        choice <<= 2 * (t % PIXELS);
        for (int step = PIXELS / 2; step > 0; step /= 2)
            choice |= __shfl_xor_sync(0xffffffffu, choice, step);
        if (t == 0)
            compressed[blockIdx.y * gridDim.x + blockIdx.x] = make_uint2(first | second << 16, choice);
    }
}
