// Back-propagation, forward through one layer: partial[b][u] is the sum over the inputs i of block b of input[i] *
// weights[i][u]. The sums of all blocks together are what the units of the next layer get.
//
// A block of 16 x 16 threads takes 48 inputs and all 48 units. It fetches its inputs, then 48 x 48 weights, multiplies
// them in place, and adds halves of the rows to halves until three rows are left. A thread has every 16th row and
// column. In the last step only 48 threads read shared memory; the others could release it a barrier earlier.

constexpr int SIDE = 48;
constexpr int T = 16;

extern "C" __global__ void __launch_bounds__(T * T)
backprop(const float* __restrict__ input, const float* __restrict__ weights, float* __restrict__ partial)
{
    __shared__ float nodes[SIDE];             //   192 bytes
    __shared__ float products[SIDE][SIDE];    // 9,216

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int first = blockIdx.x * SIDE;
    if (tx == 0)
#pragma unroll
        for (int i = 0; i < SIDE; i += T)
            nodes[ty + i] = input[first + ty + i];
    __syncthreads();

#pragma unroll
    for (int i = 0; i < SIDE; i += T)
#pragma unroll
        for (int j = 0; j < SIDE; j += T)
            products[ty + i][tx + j] = weights[(first + ty + i) * SIDE + tx + j];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SIDE; i += T)
#pragma unroll
        for (int j = 0; j < SIDE; j += T)
            products[ty + i][tx + j] *= nodes[ty + i];
    __syncthreads();

#pragma unroll
    for (int rows = SIDE / 2; rows >= 3; rows /= 2) {
#pragma unroll
        for (int i = 0; i < rows; i += T)
            if (ty + i < rows)
#pragma unroll
                for (int j = 0; j < SIDE; j += T)
                    products[ty + i][tx + j] += products[ty + i + rows][tx + j];
        __syncthreads();
    }
    const int unit = ty * T + tx;
    if (unit < SIDE)
        partial[blockIdx.x * SIDE + unit] = products[0][unit] + products[1][unit] + products[2][unit];
}
