// Inverse discrete cosine transform of squares of 8 x 8 numbers of 16 bits; a block transforms a tile of 32 x 32.
// `in`, `out` and rows begin at multiples of four bytes.

#include "dct_short.cuh"

extern "C" __global__ void __launch_bounds__(SIDE * SIDE / N)
DCT4(short* out, const short* in, int pitch)
{
    __shared__ __align__(4) short tile[SIDE][STRIDE];    // 2,176 bytes

    transform_tile<true>(out, in, pitch, tile);
}
