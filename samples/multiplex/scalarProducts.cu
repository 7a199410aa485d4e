// result[v] = alpha a[v] . b[v] + beta result[v] for `vectors` pairs of vectors of `elements` elements.
//
// A block takes every gridDim.x-th pair. 1,024 partial sums per pair, 16 a thread, each over every 1,024th product, are
// kept in shared memory and added as a tree; the last 32 in one warp by shuffles.

#include "staged.cuh"

constexpr int THREADS = 64;
constexpr int PARTIAL = 1024;

struct Pointers {
    const float* a;
    const float* b;
    float* result;
};

struct Numbers {
    int vectors, elements, pitch_a, pitch_b;
    float alpha, beta;
};

extern "C" __global__ void __launch_bounds__(THREADS)
SP(const float* a, const float* b, float* result, int vectors, int elements, int pitch_a, int pitch_b, float alpha,
   float beta)
{
    __shared__ Pointers pointers;         // 24 bytes
    __shared__ Numbers numbers;           // 24
    __shared__ float partial[PARTIAL];    // 4,096

    const int thread = threadIdx.x;
    if (thread == 0) {
        pointers = {a, b, result};
        numbers = {vectors, elements, pitch_a, pitch_b, alpha, beta};
    }
    __syncthreads();
    const float* const left = in_global(pointers.a);
    const float* const right = in_global(pointers.b);
    float* const out = in_global(pointers.result);
    const Numbers n = numbers;

    for (int v = blockIdx.x; v < n.vectors; v += gridDim.x) {
        const float* const va = left + (size_t)v * n.pitch_a;
        const float* const vb = right + (size_t)v * n.pitch_b;
        for (int p = thread; p < PARTIAL; p += THREADS) {
            float sum = 0.0f;
            for (int i = p; i < n.elements; i += PARTIAL)
                sum = fmaf(va[i], vb[i], sum);
            partial[p] = sum;
        }
        for (int half = PARTIAL / 2; half >= THREADS; half /= 2) {
            __syncthreads();
            for (int p = thread; p < half; p += THREADS)
                partial[p] = __fadd_rn(partial[p], partial[p + half]);
        }
        __syncthreads();
        if (thread < 32) {
            float sum = __fadd_rn(partial[thread], partial[thread + 32]);
            for (int distance = 16; distance > 0; distance /= 2)
                sum = __fadd_rn(sum, __shfl_down_sync(0xffffffffu, sum, distance));
            if (thread == 0)
                out[v] = fmaf(n.alpha, sum, __fmul_rn(n.beta, out[v]));
        }
        __syncthreads();    // the next pair's sums overwrite these
    }
}
