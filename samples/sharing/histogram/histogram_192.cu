// Histograms of readings of 16 bits in 384 bins, one of each block: bin = reading >> shift, the last one for all beyond.
// Their sum is the histogram of all readings.
//
// Every warp counts in 384 words of its own, with atomic additions; a word has two readings. At the end a
// thread adds up the six counters of two bins.

constexpr int WARPS = 6;
constexpr int BINS = 384;

extern "C" __global__ void __launch_bounds__(WARPS * 32)
histogram_192(unsigned* __restrict__ bins, const unsigned* __restrict__ readings, unsigned pairs, int shift)
{
    __shared__ unsigned counters[WARPS * BINS];    // 9,216 bytes

    const int thread = threadIdx.x;
    unsigned* const own = counters + thread / 32 * BINS;
#pragma unroll
    for (int i = 0; i < WARPS * BINS; i += WARPS * 32)
        counters[i + thread] = 0;
    __syncthreads();

    for (unsigned i = blockIdx.x * (WARPS * 32) + thread; i < pairs; i += gridDim.x * (WARPS * 32)) {
        const unsigned pair = readings[i];
        atomicAdd(own + min((pair & 0xffff) >> shift, BINS - 1u), 1u);
        atomicAdd(own + min((pair >> 16) >> shift, BINS - 1u), 1u);
    }
    __syncthreads();

#pragma unroll
    for (int bin = thread; bin < BINS; bin += WARPS * 32) {
        unsigned sum = 0;
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp)
            sum += counters[warp * BINS + bin];
        bins[blockIdx.x * BINS + bin] = sum;
    }
}
