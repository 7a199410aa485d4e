// An anti-diagonal of `count` tiles that ends in the last column of `columns` tiles: those of the lower right half of
// the table.

#include "needle.cuh"

extern "C" __global__ void __launch_bounds__(SIDE)
NW2(int* __restrict__ score, const int* __restrict__ similar, int pitch, int penalty, int count, int columns)
{
    __shared__ int scores[SIDE + 1][SIDE + 1];    // 4,356 bytes
    __shared__ int similarities[SIDE][SIDE];      // 4,096

    align(score, similar, pitch, penalty, columns - count + blockIdx.x, columns - 1 - blockIdx.x, scores,
          similarities);
}
