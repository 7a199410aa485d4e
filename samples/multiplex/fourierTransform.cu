// Complex Fourier transforms of 1,024 points, one a block: out[f] = scale sum_p in[p] exp(-2 pi i direction p f /
// 1024); direction is 1 or -1, transforms start `pitch_in` and `pitch_out` points after one another.
//
// Stockham's algorithm with radix 4: five passes of 256 four-point transforms, four a thread, and four exchanges
// through shared memory. In every pass a thread takes the points thread + 64 i; only where it puts them differs. Real
// and imaginary parts lie apart, with a gap after 16 points against bank conflicts.

#include "staged.cuh"

constexpr int POINTS = 1024;
constexpr int THREADS = 64;
constexpr int OWN = POINTS / THREADS;

struct Pointers {
    float2* out;
    const float2* in;
};

struct Numbers {
    int pitch_out, pitch_in;
    float direction, scale;
};

__device__ __forceinline__ float2 operator+(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

__device__ __forceinline__ float2 operator-(float2 a, float2 b)
{
    return make_float2(a.x - b.x, a.y - b.y);
}

__device__ __forceinline__ float2 operator*(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Where a point is kept.
__device__ __forceinline__ unsigned place(unsigned point)
{
    return point + point / 16;
}

// The four-point transform of v[0], v[4], v[8], v[12], in place.
__device__ __forceinline__ void four_points(float2* v, float direction)
{
    const float2 a = v[0] + v[8], b = v[0] - v[8], c = v[4] + v[12], d = v[4] - v[12];
    const float2 turned = make_float2(direction * d.y, -direction * d.x);
    v[0] = a + c;
    v[4] = b + turned;
    v[8] = a - c;
    v[12] = b - turned;
}

// Multiplies v[4 r] by exp(-2 pi i direction r index / (4 length)); index < length.
__device__ __forceinline__ void turn(float2* v, unsigned index, unsigned length, float direction)
{
    float2 once;
    sincospif(-0.5f * direction * (float)index / (float)length, &once.y, &once.x);
    const float2 twice = once * once;
    v[4] = v[4] * once;
    v[8] = v[8] * twice;
    v[12] = v[12] * (twice * once);
}

extern "C" __global__ void __launch_bounds__(THREADS)
FFT(float2* out, const float2* in, int pitch_out, int pitch_in, float direction, float scale)
{
    __shared__ Pointers pointers;                        // 16 bytes
    __shared__ Numbers numbers;                          // 16
    __shared__ float real[POINTS + POINTS / 16];         // 4,352
    __shared__ float imaginary[POINTS + POINTS / 16];    // 4,352

    const unsigned thread = threadIdx.x;
    if (thread == 0) {
        pointers = {out, in};
        numbers = {pitch_out, pitch_in, direction, scale};
    }
    __syncthreads();
    const Numbers n = numbers;
    const float2* const source = in_global(pointers.in) + (size_t)blockIdx.x * n.pitch_in + thread;
    float2* const target = in_global(pointers.out) + (size_t)blockIdx.x * n.pitch_out + thread;

    float2 v[OWN];
#pragma unroll
    for (int i = 0; i < OWN; ++i)
        v[i] = source[i * THREADS];
#pragma unroll
    for (unsigned length = 1; length < POINTS; length *= 4) {
        // `length` points are transformed so far; the next pass makes transforms of 4 length.
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            if (length > 1)
                turn(v + q, (thread + q * THREADS) % length, length, n.direction);
            four_points(v + q, n.direction);
        }
        if (4 * length == POINTS)
            break;
        // Point r of transform j goes to j / length * 4 length + j % length + r length; the gaps make the distance
        // between two places a constant again: 272 from j to j + 64, `step` from r to r + 1.
        const unsigned first = place(thread / length * 4 * length + thread % length);
        const unsigned step = length < 16 ? length : place(length);
#pragma unroll
        for (int i = 0; i < OWN; ++i) {
            real[first + i % 4 * place(POINTS / 4) + i / 4 * step] = v[i].x;
            imaginary[first + i % 4 * place(POINTS / 4) + i / 4 * step] = v[i].y;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < OWN; ++i) {
            v[i].x = real[place(thread) + i * place(THREADS)];
            v[i].y = imaginary[place(thread) + i * place(THREADS)];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < OWN; ++i)
        target[i * THREADS] = make_float2(n.scale * v[i].x, n.scale * v[i].y);
}
