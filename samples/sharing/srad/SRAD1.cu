// Speckle reducing anisotropic diffusion, first half of a step: the diffusion coefficient of every pixel, and the
// differences to its four neighbours, for the second half (SRAD2). Outside the picture its edge is repeated. `speckle`
// is the squared coefficient of variation of the speckle, q0^2.
//
// Every thread of a block of 24 x 24 fetches its pixel and its neighbours, side by side. A pixel's neighbours inside
// the tile come from the pixels, those outside from what its own thread fetched. The coefficient goes out through
// shared memory, the differences from registers: shared memory is free before the four last stores.

constexpr int SIDE = 24;

extern "C" __global__ void __launch_bounds__(SIDE * SIDE)
SRAD1(float* __restrict__ coefficient, float* __restrict__ to_north, float* __restrict__ to_south,
      float* __restrict__ to_west, float* __restrict__ to_east, const float* __restrict__ image, int width, int height,
      float speckle)
{
    __shared__ float pixels[SIDE][SIDE];    // 2,304 bytes each
    __shared__ float result[SIDE][SIDE];
    __shared__ float north[SIDE][SIDE];
    __shared__ float south[SIDE][SIDE];
    __shared__ float west[SIDE][SIDE];
    __shared__ float east[SIDE][SIDE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = blockIdx.x * SIDE + tx, y = blockIdx.y * SIDE + ty;
    const int at = y * width + x;
    north[ty][tx] = image[y > 0 ? at - width : at];
    south[ty][tx] = image[y < height - 1 ? at + width : at];
    west[ty][tx] = image[x > 0 ? at - 1 : at];
    east[ty][tx] = image[x < width - 1 ? at + 1 : at];
    pixels[ty][tx] = image[at];
    __syncthreads();

    const float own = pixels[ty][tx];
    const float n = (ty > 0 ? pixels[ty - 1][tx] : north[ty][tx]) - own;
    const float s = (ty < SIDE - 1 ? pixels[ty + 1][tx] : south[ty][tx]) - own;
    const float w = (tx > 0 ? pixels[ty][tx - 1] : west[ty][tx]) - own;
    const float e = (tx < SIDE - 1 ? pixels[ty][tx + 1] : east[ty][tx]) - own;

    const float inverse = 1.0f / own;
    const float gradient = (n * n + s * s + w * w + e * e) * inverse * inverse;
    const float laplacian = (n + s + w + e) * inverse;
    const float below = 1.0f + 0.25f * laplacian;
    const float variation = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (below * below);
    const float excess = (variation - speckle) / (speckle * (1.0f + speckle));
    result[ty][tx] = __saturatef(1.0f / (1.0f + excess));
    __syncthreads();

    coefficient[at] = result[ty][tx];
    to_north[at] = n;
    to_south[at] = s;
    to_west[at] = w;
    to_east[at] = e;
}
