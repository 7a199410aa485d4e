// A histogram of bytes in 224 bins, with blocks of a single warp; bytes beyond the last bin are not counted. `bins` gets
// a row of each block.
//
// A thread counts in 224 bytes of its own, so no two threads meet. A bin's 32 counters lie side by side in eight words,
// and a thread's byte is so placed that eight neighbouring threads use eight banks. A block takes at most 63 words a
// thread, 252 bytes, which a byte can count; in the end a thread adds up the counters of seven bins.

constexpr int THREADS = 32;
constexpr int BINS = 224;
constexpr int WORDS = 63;

extern "C" __global__ void __launch_bounds__(THREADS)
HG_32(unsigned* __restrict__ bins, const unsigned* __restrict__ data, unsigned words)
{
    __shared__ __align__(4) unsigned char counters[BINS][THREADS];    // 7,168 bytes

    const int thread = threadIdx.x;
    const int own = thread % 8 * 4 + thread / 8;
#pragma unroll 4
    for (int bin = 0; bin < BINS; bin += 4)
        *(unsigned*)&counters[bin + thread / 8][thread % 8 * 4] = 0;
    __syncthreads();

    unsigned word = blockIdx.x * (THREADS * WORDS) + thread;
    for (int i = 0; i < WORDS && word < words; ++i, word += THREADS) {
        const unsigned four = data[word];
#pragma unroll
        for (int shift = 0; shift < 32; shift += 8) {
            const unsigned bin = four >> shift & 0xff;
            if (bin < BINS)
                ++counters[bin][own];
        }
    }
    __syncthreads();

    for (int bin = thread; bin < BINS; bin += THREADS) {
        unsigned sum = 0;
        for (int i = 0; i < THREADS; i += 4) {
            const unsigned four = *(const unsigned*)&counters[bin][(i + thread * 4) % THREADS];
            sum += (four & 0xff) + (four >> 8 & 0xff) + (four >> 16 & 0xff) + (four >> 24);
        }
        bins[blockIdx.x * BINS + bin] = sum;
    }
}
