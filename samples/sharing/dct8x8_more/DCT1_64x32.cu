// Forward discrete cosine transform of a picture's squares of 8 x 8 pixels, with the larger tile of Table VII: 64 x 32.

#include "sharing/dct8x8/dct.cuh"

constexpr int WIDTH = 64;
constexpr int HEIGHT = 32;

extern "C" __global__ void __launch_bounds__(WIDTH * HEIGHT / N)
DCT1_64x32(float* out, const float* in, int pitch)
{
    __shared__ float tile[HEIGHT][WIDTH + 1];    // 8,320 bytes

    transform_tile<WIDTH, false>(out, in, pitch, tile);
}
