// Gaussian elimination, the multipliers of one column: every row below the diagonal divided by the row on it. The matrix
// is tall: a panel of `columns` columns.

constexpr int THREADS = 512;

extern "C" __global__ void __launch_bounds__(THREADS)
gaussian(float* __restrict__ multipliers, const float* __restrict__ matrix, int rows, int columns, int column)
{
    const int row = column + 1 + blockIdx.x * THREADS + threadIdx.x;
    if (row < rows)
        multipliers[row * columns + column] = matrix[row * columns + column] / matrix[column * columns + column];
}
