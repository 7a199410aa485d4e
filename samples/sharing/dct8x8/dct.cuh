// The discrete cosine transform of eight numbers (type II, orthonormal) and its inverse, and of the 8 x 8 squares of a
// tile of floats. X[k] = c(k) sum v[j] cos((2 j + 1) k pi / 16), c(0) = sqrt(1/8), else 1/2.

#pragma once

constexpr int N = 8;
constexpr float HALF_1 = 0.490392640f;    // cos(k pi / 16) / 2 for k = 1, 2, ..., 7
constexpr float HALF_2 = 0.461939766f;
constexpr float HALF_3 = 0.415734806f;
constexpr float HALF_4 = 0.353553391f;
constexpr float HALF_5 = 0.277785117f;
constexpr float HALF_6 = 0.191341716f;
constexpr float HALF_7 = 0.0975451610f;

// Sums of opposite numbers give the even coefficients, differences the odd ones.
__device__ __forceinline__ void forward(float (&v)[N])
{
    const float s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
    const float d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
    const float outer = s0 + s3, inner = s1 + s2, a = s0 - s3, b = s1 - s2;
    v[0] = HALF_4 * (outer + inner);
    v[4] = HALF_4 * (outer - inner);
    v[2] = HALF_2 * a + HALF_6 * b;
    v[6] = HALF_6 * a - HALF_2 * b;
    v[1] = HALF_1 * d0 + HALF_3 * d1 + HALF_5 * d2 + HALF_7 * d3;
    v[3] = HALF_3 * d0 - HALF_7 * d1 - HALF_1 * d2 - HALF_5 * d3;
    v[5] = HALF_5 * d0 - HALF_1 * d1 + HALF_7 * d2 + HALF_3 * d3;
    v[7] = HALF_7 * d0 - HALF_5 * d1 + HALF_3 * d2 - HALF_1 * d3;
}

__device__ __forceinline__ void inverse(float (&v)[N])
{
    const float outer = HALF_4 * (v[0] + v[4]), inner = HALF_4 * (v[0] - v[4]);
    const float a = HALF_2 * v[2] + HALF_6 * v[6], b = HALF_6 * v[2] - HALF_2 * v[6];
    const float s0 = outer + a, s3 = outer - a, s1 = inner + b, s2 = inner - b;
    const float d0 = HALF_1 * v[1] + HALF_3 * v[3] + HALF_5 * v[5] + HALF_7 * v[7];
    const float d1 = HALF_3 * v[1] - HALF_7 * v[3] - HALF_1 * v[5] - HALF_5 * v[7];
    const float d2 = HALF_5 * v[1] - HALF_1 * v[3] + HALF_7 * v[5] + HALF_3 * v[7];
    const float d3 = HALF_7 * v[1] - HALF_5 * v[3] + HALF_3 * v[5] - HALF_1 * v[7];
    v[0] = s0 + d0;
    v[1] = s1 + d1;
    v[2] = s2 + d2;
    v[3] = s3 + d3;
    v[4] = s3 - d3;
    v[5] = s2 - d2;
    v[6] = s1 - d1;
    v[7] = s0 - d0;
}

// Transforms the tile of the picture that belongs to the block. Threads (8, WIDTH / 8, height / 8) have a square each
// along y and z, and in it a column and a row each along x. A square's column goes through shared memory on the way
// in and on the way out, so that global memory is accessed in rows of the tile; a row is transformed in place. The odd
// stride keeps rows and columns in banks of their own.
template <int WIDTH, bool INVERSE>
__device__ __forceinline__ void transform_tile(float* __restrict__ out, const float* __restrict__ in, int pitch,
                                               float (*tile)[WIDTH + 1])
{
    const int column = threadIdx.y * N + threadIdx.x, top = threadIdx.z * N;
    const size_t first = ((size_t)blockIdx.y * blockDim.z * N + top) * pitch + blockIdx.x * WIDTH + column;

    float v[N];
#pragma unroll
    for (int i = 0; i < N; ++i)
        tile[top + i][column] = in[first + (size_t)i * pitch];
    __syncthreads();

    float* const row = &tile[top + threadIdx.x][threadIdx.y * N];
#pragma unroll
    for (int i = 0; i < N; ++i)
        v[i] = row[i];
    INVERSE ? inverse(v) : forward(v);
#pragma unroll
    for (int i = 0; i < N; ++i)
        row[i] = v[i];
    __syncthreads();

#pragma unroll
    for (int i = 0; i < N; ++i)
        v[i] = tile[top + i][column];
    INVERSE ? inverse(v) : forward(v);
#pragma unroll
    for (int i = 0; i < N; ++i)
        out[first + (size_t)i * pitch] = v[i];
}
