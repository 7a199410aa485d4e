// DXT1 compression: 4 x 4 pixels in 64 bits, two end colours of 16 bits and a 2-bit choice among four per pixel.
//
// One block of 64 threads per 4 x 4 pixels. The colours are put in order along their principal axis; every way of
// cutting the ordered sixteen into four runs (969 of them) is one assignment to the four palette entries, for which
// least squares gives the best end colours. Each thread tries every 64th cut, the block takes the best ends, and each
// pixel the palette entry nearest to it.

#include "dxtc_parts.cuh"

#define THREADS 64

extern "C" __global__ void __launch_bounds__(THREADS)
dxtc(const unsigned *__restrict__ image, uint2 *__restrict__ compressed, int width)
{
    __shared__ float3 colours[PIXELS];
    __shared__ float3 ordered[PIXELS];
    __shared__ float errors[THREADS];

    const int t = threadIdx.x;
    const float3 sum = arrange(image, width, t, colours, ordered, errors);

    // Two cuts at a time, so that a colour is fetched once for both.
    float best = 3.0e38f;
    unsigned ends = 0;
    for (int cut = t; cut < CUTS; cut += 2 * THREADS) {
        const Cut one = unrank(cut), two = unrank(min(cut + THREADS, CUTS - 1));
        Fit fit = {0.0f, 0.0f, 0.0f, {0.0f, 0.0f, 0.0f}}, other = fit;
#pragma unroll 2
        for (int i = 0; i < PIXELS; i++) {
            const float3 c = ordered[i];
            gather(fit, one, i, c);
            gather(other, two, i, c);
        }
        take_better(best, ends, fit, sum);
        if (cut + THREADS < CUTS)
            take_better(best, ends, other, sum);
    }

    errors[t] = best;
    __syncthreads();
    bool wins = true;
#pragma unroll 2
    for (int i = 0; i < THREADS; i++)
        wins &= (errors[i] > best) | ((errors[i] == best) & (i >= t));
    __syncthreads();
    if (wins)
        errors[0] = __uint_as_float(ends);
    __syncthreads();

    if (t < warpSize) {
        ends = __float_as_uint(errors[0]);
        // The larger end first: the other order would mean a palette with a transparent entry.
        const unsigned first = max(ends >> 16, ends & 0xffffu), second = min(ends >> 16, ends & 0xffffu);
        unsigned choice = 0;
        if (t < PIXELS && first != second)
            choice = nearest(expand(first), expand(second), colours[t], false);
        choice <<= 2 * (t % PIXELS);
        for (int step = PIXELS / 2; step > 0; step /= 2)
            choice |= __shfl_xor_sync(0xffffffffu, choice, step);
        if (t == 0)
            compressed[blockIdx.y * gridDim.x + blockIdx.x] = make_uint2(first | second << 16, choice);
    }
}
