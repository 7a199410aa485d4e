// The discrete cosine transform of eight integers of 16 bits and its inverse, and of the 8 x 8 squares of a tile of
// them. The arithmetic is exact but for one rounding of each result, so it is the same in every order.

#pragma once

constexpr int N = 8;
constexpr int BITS = 13;                     // of a factor behind the binary point
constexpr int ROUND = 1 << (BITS - 1);
constexpr int F1 = 4017;                     // cos(k pi / 16) / 2 for k = 1, 2, ..., 7
constexpr int F2 = 3784;
constexpr int F3 = 3406;
constexpr int F4 = 2896;
constexpr int F5 = 2276;
constexpr int F6 = 1567;
constexpr int F7 = 799;

__device__ __forceinline__ void forward(int (&v)[N])
{
    const int s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
    const int d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
    v[0] = (F4 * (s0 + s1 + s2 + s3) + ROUND) >> BITS;
    v[1] = (F1 * d0 + F3 * d1 + F5 * d2 + F7 * d3 + ROUND) >> BITS;
    v[2] = (F2 * (s0 - s3) + F6 * (s1 - s2) + ROUND) >> BITS;
    v[3] = (F3 * d0 - F7 * d1 - F1 * d2 - F5 * d3 + ROUND) >> BITS;
    v[4] = (F4 * (s0 - s1 - s2 + s3) + ROUND) >> BITS;
    v[5] = (F5 * d0 - F1 * d1 + F7 * d2 + F3 * d3 + ROUND) >> BITS;
    v[6] = (F6 * (s0 - s3) - F2 * (s1 - s2) + ROUND) >> BITS;
    v[7] = (F7 * d0 - F5 * d1 + F3 * d2 - F1 * d3 + ROUND) >> BITS;
}

__device__ __forceinline__ void inverse(int (&v)[N])
{
    const int outer = F4 * (v[0] + v[4]) + ROUND, inner = F4 * (v[0] - v[4]) + ROUND;
    const int a = F2 * v[2] + F6 * v[6], b = F6 * v[2] - F2 * v[6];
    const int d0 = F1 * v[1] + F3 * v[3] + F5 * v[5] + F7 * v[7];
    const int d1 = F3 * v[1] - F7 * v[3] - F1 * v[5] - F5 * v[7];
    const int d2 = F5 * v[1] - F1 * v[3] + F7 * v[5] + F3 * v[7];
    const int d3 = F7 * v[1] - F5 * v[3] + F3 * v[5] - F1 * v[7];
    v[0] = (outer + a + d0) >> BITS;
    v[1] = (inner + b + d1) >> BITS;
    v[2] = (inner - b + d2) >> BITS;
    v[3] = (outer - a + d3) >> BITS;
    v[4] = (outer - a - d3) >> BITS;
    v[5] = (inner - b - d2) >> BITS;
    v[6] = (inner + b - d1) >> BITS;
    v[7] = (outer + a - d0) >> BITS;
}

constexpr int SIDE = 32;              // of a tile
constexpr int PAIRS = SIDE / 2;       // a row has so many words
constexpr int STRIDE = SIDE + 2;

template <bool INVERSE>
__device__ __forceinline__ void transform_in_place(short* at, int step)
{
    int v[N];
#pragma unroll
    for (int i = 0; i < N; ++i)
        v[i] = at[i * step];
    INVERSE ? inverse(v) : forward(v);
#pragma unroll
    for (int i = 0; i < N; ++i)
        at[i * step] = v[i];
}

// Transforms the tile of 32 x 32 numbers that belongs to the block of 8 x 4 x 4 threads, rows first. Threads have a
// square each along y and z, and in it a row and a column each along x. Two numbers share a word, so that half of the
// threads move the tile in and out, a column of eight words each.
template <bool INVERSE>
__device__ __forceinline__ void transform_tile(short* __restrict__ out, const short* __restrict__ in, int pitch,
                                               short (*tile)[STRIDE])
{
    const int column = threadIdx.y * N + threadIdx.x, top = threadIdx.z * N;
    const size_t first = ((size_t)blockIdx.y * SIDE + top) * pitch + blockIdx.x * SIDE + 2 * column;

    if (column < PAIRS) {
#pragma unroll
        for (int i = 0; i < N; ++i)
            *(short2*)&tile[top + i][2 * column] = *(const short2*)&in[first + (size_t)i * pitch];
    }
    __syncthreads();
    transform_in_place<INVERSE>(&tile[top + threadIdx.x][threadIdx.y * N], 1);
    __syncthreads();
    transform_in_place<INVERSE>(&tile[top][column], STRIDE);
    __syncthreads();
    if (column < PAIRS) {
        short2 v[N];
#pragma unroll
        for (int i = 0; i < N; ++i)
            v[i] = *(const short2*)&tile[top + i][2 * column];
#pragma unroll
        for (int i = 0; i < N; ++i)
            *(short2*)&out[first + (size_t)i * pitch] = v[i];
    }
}
