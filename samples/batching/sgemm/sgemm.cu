// c = alpha a b^T + beta c, matrices column by column: a thread has a row of a and sixteen columns of c in registers, a
// block the tile of b that goes with them in shared memory.

constexpr int THREADS = 128;   // rows of c for a block
constexpr int COLUMNS = 16;    // columns of c for a block
constexpr int DEPTH = THREADS / COLUMNS;

extern "C" __global__ void __launch_bounds__(THREADS)
sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int rows, int columns, int depth,
      float alpha, float beta)
{
    __shared__ float tile[DEPTH][COLUMNS];
    const int row = blockIdx.x * THREADS + threadIdx.x;
    const int column = blockIdx.y * COLUMNS;
    const int down = threadIdx.x / COLUMNS, across = threadIdx.x % COLUMNS;
    float sum[COLUMNS] = {};
#pragma unroll 1
    for (int begin = 0; begin < depth; begin += DEPTH) {
        tile[down][across] = b[(begin + down) * columns + column + across];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            const float own = a[(begin + k) * rows + row];
#pragma unroll
            for (int n = 0; n < COLUMNS; ++n)
                sum[n] = fmaf(own, tile[k][n], sum[n]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int n = 0; n < COLUMNS; ++n) {
        float* const place = c + (column + n) * rows + row;
        *place = alpha * sum[n] + beta * *place;
    }
}
