// An anti-diagonal of `count` tiles that begins in the first row of tiles: those of the upper left half of the table.

#include "needle.cuh"

extern "C" __global__ void __launch_bounds__(SIDE)
NW1(int* __restrict__ score, const int* __restrict__ similar, int pitch, int penalty, int count)
{
    __shared__ int scores[SIDE + 1][SIDE + 1];    // 4,356 bytes
    __shared__ int similarities[SIDE][SIDE];      // 4,096

    align(score, similar, pitch, penalty, blockIdx.x, count - 1 - blockIdx.x, scores, similarities);
}
