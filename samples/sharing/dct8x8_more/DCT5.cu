// Forward discrete cosine transform of a picture's squares of 8 x 8 pixels by two products of matrices, A S A'. A block
// of 8 x 8 threads has a square, a thread a coefficient. The limit is the number of blocks, not shared memory.

#include "sharing/dct8x8/dct.cuh"

// Row k belongs to coefficient k.
__constant__ float basis[N][N] = {
    {HALF_4, HALF_4, HALF_4, HALF_4, HALF_4, HALF_4, HALF_4, HALF_4},
    {HALF_1, HALF_3, HALF_5, HALF_7, -HALF_7, -HALF_5, -HALF_3, -HALF_1},
    {HALF_2, HALF_6, -HALF_6, -HALF_2, -HALF_2, -HALF_6, HALF_6, HALF_2},
    {HALF_3, -HALF_7, -HALF_1, -HALF_5, HALF_5, HALF_1, HALF_7, -HALF_3},
    {HALF_4, -HALF_4, -HALF_4, HALF_4, HALF_4, -HALF_4, -HALF_4, HALF_4},
    {HALF_5, -HALF_1, HALF_7, HALF_3, -HALF_3, -HALF_7, HALF_1, -HALF_5},
    {HALF_6, -HALF_2, HALF_2, -HALF_6, -HALF_6, HALF_2, -HALF_2, HALF_6},
    {HALF_7, -HALF_5, HALF_3, -HALF_1, HALF_1, -HALF_3, HALF_5, -HALF_7},
};

extern "C" __global__ void __launch_bounds__(N * N)
DCT5(float* __restrict__ out, const float* __restrict__ in, int pitch)
{
    __shared__ float square[N][N];     // 256 bytes
    __shared__ float columns[N][N];    // 256

    const int tx = threadIdx.x, ty = threadIdx.y;
    const size_t at = ((size_t)blockIdx.y * N + ty) * pitch + blockIdx.x * N + tx;
    square[ty][tx] = in[at];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < N; ++j)
        sum = fmaf(basis[ty][j], square[j][tx], sum);
    columns[ty][tx] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int j = 0; j < N; ++j)
        sum = fmaf(columns[ty][j], basis[tx][j], sum);
    out[at] = sum;
}
