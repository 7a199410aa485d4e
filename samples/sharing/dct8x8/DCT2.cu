// Inverse discrete cosine transform of a picture's squares of 8 x 8 pixels; a block transforms a tile of 32 x 16.

#include "dct.cuh"

constexpr int WIDTH = 32;
constexpr int HEIGHT = 16;

extern "C" __global__ void __launch_bounds__(WIDTH * HEIGHT / N)
DCT2(float* out, const float* in, int pitch)
{
    __shared__ float tile[HEIGHT][WIDTH + 1];    // 2,112 bytes

    transform_tile<WIDTH, true>(out, in, pitch, tile);
}
