// LU decomposition in place, in blocks of 22 x 22: what the blocks on the diagonal, in its row and in its column leave
// to be subtracted from all blocks below and to the right, m -= column times row.
//
// A block of threads fetches a block of the row and one of the column, and works on the block where they meet, a cell a
// thread.

constexpr int SIDE = 22;

extern "C" __global__ void __launch_bounds__(SIDE * SIDE)
lud(float* m, int pitch, int diagonal)
{
    __shared__ float row[SIDE][SIDE];       // 1,936 bytes
    __shared__ float column[SIDE][SIDE];    // 1,936

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = diagonal + (blockIdx.x + 1) * SIDE + tx, y = diagonal + (blockIdx.y + 1) * SIDE + ty;
    row[ty][tx] = m[(diagonal + ty) * pitch + x];
    column[ty][tx] = m[y * pitch + diagonal + tx];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < SIDE; ++k)
        sum = fmaf(column[ty][k], row[k][tx], sum);
    m[y * pitch + x] -= sum;
}
