// out[b] = scale * the sum of block b's share of in[0], in[stride], ..., `count` elements; the host adds the blocks'
// sums.
//
// A thread adds every (threads of the grid)th element; a block's 128 sums are added as a tree in shared memory, the
// last 32 in one warp by shuffles.

#include "staged.cuh"

constexpr int THREADS = 128;

struct Pointers {
    float* out;
    const float* in;
};

struct Numbers {
    int count, stride;
    float scale;
};

extern "C" __global__ void __launch_bounds__(THREADS)
RD(float* out, const float* in, int count, int stride, float scale)
{
    __shared__ Pointers pointers;     // 16 bytes
    __shared__ Numbers numbers;       // 12
    __shared__ float sums[THREADS];   // 512

    const int thread = threadIdx.x;
    if (thread == 0) {
        pointers = {out, in};
        numbers = {count, stride, scale};
    }
    __syncthreads();
    float* const result = in_global(pointers.out);
    const float* const data = in_global(pointers.in);
    const Numbers n = numbers;

    float sum = 0.0f;
    for (int i = blockIdx.x * THREADS + thread; i < n.count; i += gridDim.x * THREADS)
        sum = __fadd_rn(sum, data[(size_t)i * n.stride]);
    sums[thread] = sum;
#pragma unroll
    for (int half = THREADS / 2; half >= 32; half /= 2) {
        __syncthreads();
        if (thread < half) {
            sum = __fadd_rn(sum, sums[thread + half]);
            sums[thread] = sum;
        }
    }
    if (thread < 32) {
        for (int distance = 16; distance > 0; distance /= 2)
            sum = __fadd_rn(sum, __shfl_down_sync(0xffffffffu, sum, distance));
        if (thread == 0)
            result[blockIdx.x] = __fmul_rn(n.scale, sum);
    }
}
