// A histogram of bytes: bin (byte - lowest) >> shift of 128; bytes outside count in the nearest bin where `clamp` is
// set, not at all otherwise. Adds to `bins`; `data` starts at a multiple of four bytes and is padded to one.
//
// Every thread counts in 128 bytes of its own, so no two threads meet: a pass takes 63 words a thread, 252 bytes, which
// a byte can count. A bin's 64 counters lie side by side, so placed that 16 neighbouring threads use 16 banks. Between
// passes a thread adds up the 64 counters of two bins.

#include "staged.cuh"

constexpr int THREADS = 64;
constexpr int BINS = 128;
constexpr int WORDS = 63;

struct Pointers {
    const unsigned* data;
    unsigned* bins;
};

struct Numbers {
    unsigned count;
    int lowest, shift, clamp;
};

extern "C" __global__ void __launch_bounds__(THREADS)
HG(const unsigned* data, unsigned* bins, unsigned count, int lowest, int shift, int clamp)
{
    __shared__ Pointers pointers;                                     // 16 bytes
    __shared__ Numbers numbers;                                       // 16
    __shared__ __align__(4) unsigned char counters[BINS][THREADS];    // 8,192

    const int thread = threadIdx.x;
    if (thread == 0) {
        pointers = {data, bins};
        numbers = {count, lowest, shift, clamp};
    }
    __syncthreads();
    const unsigned* const words = in_global(pointers.data);
    unsigned* const result = in_global(pointers.bins);
    const Numbers n = numbers;

    unsigned(*const quads)[THREADS / 4] = reinterpret_cast<unsigned(*)[THREADS / 4]>(counters);
    const int own = (thread % 16) * 4 + thread / 16;
    unsigned total[2] = {0, 0};
    for (unsigned pass = blockIdx.x; pass * (THREADS * WORDS * 4) < n.count; pass += gridDim.x) {
        for (int bin = 0; bin < BINS; bin += 4)
            quads[bin + thread / 16][thread % 16] = 0;
        __syncthreads();
        unsigned word = pass * (THREADS * WORDS) + thread;
        for (int i = 0; i < WORDS && word * 4 < n.count; ++i, word += THREADS) {
            const unsigned four = __ldg(words + word);
#pragma unroll
            for (int byte = 0; byte < 4; ++byte) {
                int bin = ((int)(four >> (8 * byte) & 0xff) - n.lowest) >> n.shift;
                if (n.clamp)
                    bin = min(max(bin, 0), BINS - 1);
                if ((unsigned)bin < BINS && word * 4 + byte < n.count)
                    ++counters[bin][own];
            }
        }
        __syncthreads();
#pragma unroll
        for (int part = 0; part < 2; ++part) {
            unsigned even = 0, odd = 0;
            for (int i = 0; i < THREADS / 4; ++i) {
                const unsigned quad = quads[thread + part * THREADS][(i + thread) % (THREADS / 4)];
                even += quad & 0x00ff00ff;
                odd += quad >> 8 & 0x00ff00ff;
            }
            even += odd;
            total[part] += (even & 0xffff) + (even >> 16);
        }
        __syncthreads();
    }
    for (int part = 0; part < 2; ++part)
        if (total[part])
            atomicAdd(result + thread + part * THREADS, total[part]);
}
