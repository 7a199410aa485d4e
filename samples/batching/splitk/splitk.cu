// Matrix times vector with rows cut in parts: a block of the grid's row y has part y of four rows of the matrix, and stores
// its share of their sums. Blocks of one column of the grid read the same rows of the matrix.

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int ROWS = 4;

extern "C" __global__ void __launch_bounds__(THREADS)
splitk(const float* __restrict__ matrix, const float* __restrict__ vector, float* __restrict__ shares, int rows,
       int columns)
{
    __shared__ float sums[ROWS][WARPS];
    const int first = blockIdx.x * ROWS;
    const int column = blockIdx.y * THREADS + threadIdx.x;
    const float factor = vector[column];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float sum = matrix[(first + r) * columns + column] * factor;
#pragma unroll
        for (int half = 16; half > 0; half /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, half);
        if (threadIdx.x % 32 == 0)
            sums[r][threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < ROWS) {
        float sum = 0.0f;
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp)
            sum += sums[threadIdx.x][warp];
        shares[blockIdx.y * rows + first + threadIdx.x] = sum;
    }
}
