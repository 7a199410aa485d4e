// One step of damped relaxation, x := x + damping (b - A x) / diagonal, on a sparse matrix. How its rows are stored, and
// how they are damped, is the business of ellpack.cu.
#include "ellpack.cuh"

static __device__ __noinline__ float scaled(float residual, float diagonal) { return residual / diagonal; }

extern "C" __global__ void relax(const int *columns, const float *values, const float *b, const float *x, float *y,
                                 int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    Row found = multiply_row(columns, values, x, row, rows);
    y[row] = fmaf(damping[row & 3], scaled(b[row] - found.sum, found.diagonal), x[row]);
}
