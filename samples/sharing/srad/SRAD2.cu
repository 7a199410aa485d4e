// Speckle reducing anisotropic diffusion, second half of a step: every pixel moves by `rate` times the divergence of
// what flows to and from its neighbours, by the coefficients and differences of the first half (SRAD1). Outside the
// picture its edge is repeated.
//
// Every thread of a block of 24 x 24 fetches its pixel, and the coefficients of its own, its southern and its eastern
// pixel. A coefficient inside the tile comes from the tile, one outside from what its own thread fetched. The pixel
// goes out through shared memory, just before the only store.

constexpr int SIDE = 24;

extern "C" __global__ void __launch_bounds__(SIDE * SIDE)
SRAD2(float* __restrict__ image, const float* __restrict__ coefficient, const float* __restrict__ to_north,
      const float* __restrict__ to_south, const float* __restrict__ to_west, const float* __restrict__ to_east,
      int width, int height, float rate)
{
    __shared__ float south[SIDE][SIDE];           // 2,304 bytes each
    __shared__ float east[SIDE][SIDE];
    __shared__ float coefficients[SIDE][SIDE];
    __shared__ float result[SIDE][SIDE];
    __shared__ float pixels[SIDE][SIDE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = blockIdx.x * SIDE + tx, y = blockIdx.y * SIDE + ty;
    const int at = y * width + x;
    pixels[ty][tx] = image[at];
    south[ty][tx] = coefficient[y < height - 1 ? at + width : at];
    east[ty][tx] = coefficient[x < width - 1 ? at + 1 : at];
    coefficients[ty][tx] = coefficient[at];
    __syncthreads();

    const float own = coefficients[ty][tx];
    const float below = ty < SIDE - 1 ? coefficients[ty + 1][tx] : south[ty][tx];
    const float beside = tx < SIDE - 1 ? coefficients[ty][tx + 1] : east[ty][tx];
    const float divergence = own * to_north[at] + below * to_south[at] + own * to_west[at] + beside * to_east[at];
    result[ty][tx] = pixels[ty][tx] + 0.25f * rate * divergence;
    __syncthreads();

    image[at] = result[ty][tx];
}
