// C = A B; A is m x k, B k x n, all row-major and without gaps.
//
// A block of 16 x 16 threads computes 16 x 16 elements of C, a thread one, from tiles of 16 x 16 of A and B; what lies
// outside the matrices counts as zero.

#include "staged.cuh"

constexpr int TILE = 16;

struct Pointers {
    const float* a;
    const float* b;
    float* c;
};

struct Numbers {
    int m, n, k;
};

extern "C" __global__ void __launch_bounds__(TILE * TILE)
MM(const float* a, const float* b, float* c, int m, int n, int k)
{
    __shared__ Pointers pointers;            // 24 bytes
    __shared__ Numbers numbers;              // 12
    __shared__ float a_tile[TILE][TILE];     // 1,024
    __shared__ float b_tile[TILE][TILE];     // 1,024

    const int x = threadIdx.x, y = threadIdx.y;
    if (x == 0 && y == 0) {
        pointers = {a, b, c};
        numbers = {m, n, k};
    }
    __syncthreads();
    const float* const left = in_global(pointers.a);
    const float* const right = in_global(pointers.b);
    float* const product = in_global(pointers.c);
    const Numbers size = numbers;

    const int row = blockIdx.y * TILE + y;
    const int column = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int step = 0; step < size.k; step += TILE) {
        a_tile[y][x] = row < size.m && step + x < size.k ? left[row * size.k + step + x] : 0.0f;
        b_tile[y][x] = step + y < size.k && column < size.n ? right[(step + y) * size.n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i)
            sum = fmaf(a_tile[y][i], b_tile[i][x], sum);
        __syncthreads();
    }
    if (row < size.m && column < size.n)
        product[row * size.n + column] = sum;
}
