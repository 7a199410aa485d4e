// out = scale (taps x taps') * in + offset: a separable convolution of radius 8, both passes in one launch; `border` is
// what lies outside the image. Pitches count elements from row to row.
//
// A block of 16 x 8 threads makes a tile of 16 x 112 pixels. It convolves 128 rows of it, 8 above and 8 below included,
// along x into shared memory, then the columns from there. A column of 129 keeps 16 neighbouring threads in 16 banks.

#include "staged.cuh"

constexpr int RADIUS = 8;
constexpr int WIDTH = 16;
constexpr int GROUPS = 8;
constexpr int ROWS = 128;
constexpr int HEIGHT = ROWS - 2 * RADIUS;

// A Gaussian of standard deviation 3, its sum brought to 1: exp(-(i - 8)^2 / 18) / 7.4866426...
__constant__ float taps[2 * RADIUS + 1] = {
    0.0038155287f, 0.00877944f, 0.018076899f, 0.03330628f, 0.054912772f, 0.08101504f,
    0.10695547f,   0.12635297f, 0.13357122f,  0.12635297f, 0.10695547f,  0.08101504f,
    0.054912772f,  0.03330628f, 0.018076899f, 0.00877944f, 0.0038155287f,
};

struct Pointers {
    float* out;
    const float* in;
};

struct Numbers {
    int width, height, pitch_out, pitch_in;
    float scale, offset, border;
};

extern "C" __global__ void __launch_bounds__(WIDTH * GROUPS)
CV(float* out, const float* in, int width, int height, int pitch_out, int pitch_in, float scale, float offset,
   float border)
{
    __shared__ Pointers pointers;                  // 16 bytes
    __shared__ Numbers numbers;                    // 28
    __shared__ float columns[WIDTH][ROWS + 1];     // 8,256

    const int tx = threadIdx.x, ty = threadIdx.y;
    if (tx == 0 && ty == 0) {
        pointers = {out, in};
        numbers = {width, height, pitch_out, pitch_in, scale, offset, border};
    }
    __syncthreads();
    float* const target = in_global(pointers.out);
    const float* const source = in_global(pointers.in);
    const Numbers n = numbers;

    const int x = blockIdx.x * WIDTH + tx;
    const int top = blockIdx.y * HEIGHT;
    for (int row = ty; row < ROWS; row += GROUPS) {
        const int y = top - RADIUS + row;
        const bool inside = y >= 0 && y < n.height;
        const float* const line = source + (ptrdiff_t)y * n.pitch_in + x - RADIUS;
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k <= 2 * RADIUS; ++k) {
            const bool there = inside && (unsigned)(x + k - RADIUS) < (unsigned)n.width;
            sum = fmaf(taps[k], there ? __ldg(line + k) : n.border, sum);
        }
        columns[tx][row] = sum;
    }
    __syncthreads();
    if (x >= n.width)
        return;
    for (int row = ty; row < HEIGHT && top + row < n.height; row += GROUPS) {
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k <= 2 * RADIUS; ++k)
            sum = fmaf(taps[k], columns[tx][row + k], sum);
        target[(size_t)(top + row) * n.pitch_out + x] = fmaf(n.scale, sum, n.offset);
    }
}
