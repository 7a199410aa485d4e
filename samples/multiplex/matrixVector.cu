// y = alpha A x + beta y; A has `rows` rows of `columns` elements, `pitch` elements from row to row.
//
// One warp is a block and owns 32 rows, a row per thread. A tile of 32 x 32 elements is read row by row, so that the
// loads coalesce, and used column by column; the row of 33 keeps both free of bank conflicts.

#include "staged.cuh"

constexpr int TILE = 32;

struct Pointers {
    const float* a;
    const float* x;
    float* y;
};

struct Numbers {
    int rows, columns, pitch;
    float alpha, beta;
};

extern "C" __global__ void __launch_bounds__(TILE)
MV(const float* a, const float* x, float* y, int rows, int columns, int pitch, float alpha, float beta)
{
    __shared__ Pointers pointers;             // 24 bytes
    __shared__ Numbers numbers;               // 20
    __shared__ float tile[TILE][TILE + 1];    // 4,224

    const int lane = threadIdx.x;
    if (lane == 0) {
        pointers = {a, x, y};
        numbers = {rows, columns, pitch, alpha, beta};
    }
    __syncthreads();
    const float* const matrix = in_global(pointers.a);
    const float* const vector = in_global(pointers.x);
    float* const result = in_global(pointers.y);
    const Numbers n = numbers;

    const int first = blockIdx.x * TILE;
    const int height = min(TILE, n.rows - first);
    float sum = 0.0f;
    for (int column = 0; column < n.columns; column += TILE) {
        const int width = min(TILE, n.columns - column);
        const float* row = matrix + (size_t)first * n.pitch + column + lane;
#pragma unroll 8
        for (int i = 0; i < TILE; ++i, row += n.pitch)
            tile[i][lane] = i < height && lane < width ? *row : 0.0f;
        __syncthreads();
        if (width == TILE) {
#pragma unroll 8
            for (int j = 0; j < TILE; ++j)
                sum = fmaf(tile[lane][j], __ldg(vector + column + j), sum);
        } else {
            for (int j = 0; j < width; ++j)
                sum = fmaf(tile[lane][j], __ldg(vector + column + j), sum);
        }
        __syncthreads();
    }
    if (lane < height)
        result[first + lane] = fmaf(n.alpha, sum, __fmul_rn(n.beta, result[first + lane]));
}
