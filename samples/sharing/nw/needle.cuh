// Alignment of two sequences (Needleman and Wunsch): score[y][x] = max(score[y - 1][x - 1] + similar[y][x],
// score[y][x - 1] - penalty, score[y - 1][x] - penalty). Row 0 and column 0 are given. A launch works on tiles that lie
// side by side on an anti-diagonal; those above and to the left are done.

#pragma once

constexpr int SIDE = 32;

// The tile (bx, by), by one warp: it fetches the similarities and the scores around the tile, goes over the tile's
// anti-diagonals, a thread for each column, and writes the tile, row by row.
__device__ __forceinline__ void align(int* __restrict__ score, const int* __restrict__ similar, int pitch, int penalty,
                                      int bx, int by, int (*scores)[SIDE + 1], int (*similarities)[SIDE])
{
    const int tx = threadIdx.x;
    const int corner = by * SIDE * pitch + bx * SIDE;
    const int first = corner + pitch + tx + 1;

    if (tx == 0)
        scores[0][0] = score[corner];
#pragma unroll 8
    for (int y = 0; y < SIDE; ++y)
        similarities[y][tx] = similar[first + y * pitch];
    scores[tx + 1][0] = score[corner + (tx + 1) * pitch];
    scores[0][tx + 1] = score[first - pitch];
    __syncthreads();

    const int x = tx + 1;
#pragma unroll 1
    for (int diagonal = 1; diagonal < 2 * SIDE; ++diagonal) {
        const int y = diagonal - tx;
        if (y >= 1 && y <= SIDE) {
            const int gap = max(scores[y][x - 1], scores[y - 1][x]) - penalty;
            scores[y][x] = max(scores[y - 1][x - 1] + similarities[y - 1][tx], gap);
        }
        __syncthreads();
    }

#pragma unroll 8
    for (int y = 0; y < SIDE; ++y)
        score[first + y * pitch] = scores[y + 1][x];
}
