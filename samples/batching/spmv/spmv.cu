// Sparse matrix times vector, a thread for each row: elements of equal place in their rows lie side by side, so that the
// matrix is read in order; the vector is read at places that the columns say.

constexpr int THREADS = 128;

extern "C" __global__ void __launch_bounds__(THREADS)
spmv(const float* __restrict__ values, const int* __restrict__ columns, const int* __restrict__ lengths,
     const float* __restrict__ x, float* __restrict__ y, int rows)
{
    const int row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows)
        return;
    const int length = lengths[row];
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < length; ++k)
        sum = __fadd_rn(sum, __fmul_rn(values[k * rows + row], x[columns[k * rows + row]]));
    y[row] = sum;
}
