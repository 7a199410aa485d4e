// MD5 (RFC 1321) of overlapping windows of a byte stream, as a content-addressed store cuts one: digest w is that of
// the `window` bytes from byte w * `step` on. `a`, `b`, `c`, `d` are the state to start from (RFC 1321's for plain
// MD5).
//
// A block stages the bytes of its 128 windows in shared memory with whole words, then a thread hashes one window.
// Windows start anywhere, so a message word is cut from two staged words. 127 step + window <= 16,256, and `window` <
// 2^29; `data` starts at a multiple of four bytes and is padded to one.

#include "staged.cuh"

constexpr unsigned THREADS = 128;
constexpr unsigned STAGED = 4064;

struct Pointers {
    const unsigned* data;
    uint4* digests;
};

struct Numbers {
    unsigned windows, window, step, bytes;
    unsigned a, b, c, d;
};

// Entry i is floor(2^32 |sin(i + 1)|).
__device__ constexpr unsigned ADDENDS[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

// Left rotations of the four rounds' steps, modulo four.
__device__ constexpr unsigned ROTATIONS[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

// One of the 64 steps, on state (a, b, c, d).
template <int STEP>
__device__ __forceinline__ unsigned mixed(unsigned a, unsigned b, unsigned c, unsigned d, const unsigned* message)
{
    constexpr int ROUND = STEP / 16;
    constexpr int WORD = (ROUND == 0 ? STEP : ROUND == 1 ? 5 * STEP + 1 : ROUND == 2 ? 3 * STEP + 5 : 7 * STEP) % 16;
    const unsigned f = ROUND == 0   ? (b & c) | (~b & d)
                       : ROUND == 1 ? (d & b) | (~d & c)
                       : ROUND == 2 ? b ^ c ^ d
                                    : c ^ (b | ~d);
    const unsigned sum = a + f + message[WORD] + ADDENDS[STEP];
    return b + __funnelshift_l(sum, sum, ROTATIONS[ROUND][STEP % 4]);
}

// Steps STEP to 63; the new value goes to the second place.
template <int STEP>
__device__ __forceinline__ void steps(unsigned& a, unsigned& b, unsigned& c, unsigned& d, const unsigned* message)
{
    if constexpr (STEP < 64) {
        a = mixed<STEP>(a, b, c, d, message);
        steps<STEP + 1>(d, a, b, c, message);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
STO(const unsigned* data, uint4* digests, unsigned windows, unsigned window, unsigned step, unsigned bytes, unsigned a,
    unsigned b, unsigned c, unsigned d)
{
    __shared__ Pointers pointers;          // 16 bytes
    __shared__ Numbers numbers;            // 32
    __shared__ unsigned staged[STAGED];    // 16,256

    const unsigned thread = threadIdx.x;
    if (thread == 0) {
        pointers = {data, digests};
        numbers = {windows, window, step, bytes, a, b, c, d};
    }
    __syncthreads();
    const unsigned* const words = in_global(pointers.data);
    uint4* const result = in_global(pointers.digests);
    const Numbers n = numbers;

    // The block's first byte is a multiple of 128; a window of the last block may reach beyond the data. One word
    // more is staged than the windows cover, as the word after a message word is read even where no byte of it is
    // used.
    const unsigned first = blockIdx.x * THREADS;
    const unsigned begin = first * n.step / 4;
    const unsigned covered = (min(THREADS, n.windows - first) - 1) * n.step + n.window;
    const unsigned needed = min(covered / 4 + 2, STAGED);
    for (unsigned i = thread; i < needed; i += THREADS)
        staged[i] = (begin + i) * 4 < n.bytes ? __ldg(words + begin + i) : 0;
    __syncthreads();
    if (first + thread >= n.windows)
        return;

    unsigned h0 = n.a, h1 = n.b, h2 = n.c, h3 = n.d;
    // A bit 1 and the length in bits follow the window: 9 bytes, filled up to a multiple of 64.
    for (unsigned done = 0; done < n.window + 9; done += 64) {
        unsigned message[16];
#pragma unroll
        for (unsigned i = 0; i < 16; ++i) {
            const unsigned place = done + 4 * i;
            unsigned word = 0;
            if (place < n.window) {
                const unsigned byte = thread * n.step + place;
                const unsigned low = staged[byte / 4];
                const unsigned high = staged[min(byte / 4 + 1, STAGED - 1)];
                word = __funnelshift_r(low, high, byte % 4 * 8);
            }
            if (place + 4 > n.window && place <= n.window) {
                const unsigned kept = (n.window - place) * 8;
                word = (word & ((1u << kept) - 1)) | 0x80u << kept;
            }
            message[i] = word;
        }
        if (done + 64 >= n.window + 9)
            message[14] = n.window * 8;
        unsigned s0 = h0, s1 = h1, s2 = h2, s3 = h3;
        steps<0>(s0, s1, s2, s3, message);
        h0 += s0;
        h1 += s1;
        h2 += s2;
        h3 += s3;
    }
    result[first + thread] = make_uint4(h0, h1, h2, h3);
}
