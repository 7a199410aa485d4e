// out = alpha in^T; `in` has `rows` rows of `columns` elements, pitches count elements from row to row.
//
// A block of 32 x 4 threads moves a tile of 32 x 32 through shared memory, so that loads and stores both coalesce; the
// row of 33 keeps the reads of a column free of bank conflicts.

#include "staged.cuh"

constexpr int TILE = 32;
constexpr int ROWS = 4;

struct Pointers {
    float* out;
    const float* in;
};

struct Numbers {
    int rows, columns, pitch_out, pitch_in;
    float alpha;
};

extern "C" __global__ void __launch_bounds__(TILE * ROWS)
TP(float* out, const float* in, int rows, int columns, int pitch_out, int pitch_in, float alpha)
{
    __shared__ Pointers pointers;             // 16 bytes
    __shared__ Numbers numbers;               // 20
    __shared__ float tile[TILE][TILE + 1];    // 4,224

    const int tx = threadIdx.x, ty = threadIdx.y;
    if (tx == 0 && ty == 0) {
        pointers = {out, in};
        numbers = {rows, columns, pitch_out, pitch_in, alpha};
    }
    __syncthreads();
    float* const target = in_global(pointers.out);
    const float* const source = in_global(pointers.in);
    const Numbers n = numbers;

    int x = blockIdx.x * TILE + tx;
    int y = blockIdx.y * TILE + ty;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS)
        if (x < n.columns && y + i < n.rows)
            tile[ty + i][tx] = source[(y + i) * n.pitch_in + x];
    __syncthreads();
    x = blockIdx.y * TILE + tx;
    y = blockIdx.x * TILE + ty;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS)
        if (x < n.rows && y + i < n.columns)
            target[(y + i) * n.pitch_out + x] = __fmul_rn(n.alpha, tile[tx][ty + i]);
}
