// Layers of a transformer's encoder in half precision: activations and weights are halves, two of them in a register.
//
// What is added up over a row or over keys is added up in f32. A product of matrices adds up eight products of halves in
// halves and then hands them to sums in f32, as machines without tensor cores do it; attention keeps the largest score
// seen so far and scales what it has when a larger one comes, so that no row of scores is ever stored.

typedef unsigned int u32;

#define TWO(name, op) \
    static __device__ u32 name(u32 a, u32 b) { u32 r; asm(op " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
TWO(add2, "add.rn.f16x2")
TWO(mul2, "mul.rn.f16x2")

static __device__ u32 fma2(u32 a, u32 b, u32 c)
{
    u32 r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}

static __device__ u32 tanh2(u32 a)
{
    u32 r;
    asm("tanh.approx.f16x2 %0, %1;" : "=r"(r) : "r"(a));
    return r;
}

static __device__ u32 pack(float low, float high)
{
    u32 r;
    asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }"
        : "=r"(r) : "f"(low), "f"(high));
    return r;
}

static __device__ u32 both(float x) { return pack(x, x); }

static __device__ void split(u32 a, float &low, float &high)
{
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(low), "=f"(high) : "r"(a));
}

static __device__ float over_warp(float x)
{
    for (int distance = 16; distance; distance /= 2)
        x += __shfl_xor_sync(0xffffffff, x, distance);
    return x;
}

// 0.5 v (1 + tanh(sqrt(2/pi) (v + 0.044715 v^3)))
static __device__ u32 gelu2(u32 v)
{
    u32 inner = fma2(mul2(mul2(v, v), v), both(0.044715f), v);
    u32 half = mul2(v, both(0.5f));
    return fma2(half, tanh2(mul2(inner, both(0.7978845608f))), half);
}

// Each row less its mean, over its deviation, scaled and moved: a warp for a row, `words` pairs of halves.
extern "C" __global__ void normalise(const u32 *x, const u32 *gamma, const u32 *beta, u32 *y, int rows, int words)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0.0f, squares = 0.0f, low, high;
    for (int i = lane; i < words; i += 32) {
        split(x[row * words + i], low, high);
        sum += low + high;
        squares += low * low + high * high;
    }
    float mean = over_warp(sum) / (2 * words);
    float variance = over_warp(squares) / (2 * words) - mean * mean;
    float scale = rsqrtf(variance + 1e-5f);
    for (int i = lane; i < words; i += 32) {
        split(x[row * words + i], low, high);
        u32 v = pack((low - mean) * scale, (high - mean) * scale);
        y[row * words + i] = fma2(v, gamma[i], beta[i]);
    }
}

#define ROWS 32     // of a block's tile
#define WORDS 32    // of a row of it: 64 columns
#define DEPTH 16

// y = x w + bias, by tiles of 32 x 64; a thread has 4 rows of 2 words. What then: 1, GELU; 2, `y` as it was is added.
extern "C" __global__ void __launch_bounds__(128) multiply(
    const u32 *x, const u32 *w, const u32 *bias, u32 *y, int rows, int inner, int words, int then)
{
    __shared__ u32 left[DEPTH][ROWS];       // x, transposed: an element in both halves
    __shared__ u32 right[DEPTH][WORDS];
    int across = threadIdx.x % 16, down = threadIdx.x / 16;
    int row0 = blockIdx.y * ROWS, word0 = blockIdx.x * WORDS;
    float total[4][4] = {};
    for (int k0 = 0; k0 < inner; k0 += DEPTH) {
        for (int i = threadIdx.x; i < ROWS * DEPTH / 2; i += 128) {
            int row = i / (DEPTH / 2), pair = i % (DEPTH / 2);
            u32 v = row0 + row < rows ? x[(row0 + row) * (inner / 2) + k0 / 2 + pair] : 0;
            left[2 * pair][row] = __byte_perm(v, v, 0x1010);
            left[2 * pair + 1][row] = __byte_perm(v, v, 0x3232);
        }
        for (int i = threadIdx.x; i < DEPTH * WORDS; i += 128)
            right[i / WORDS][i % WORDS] = w[(k0 + i / WORDS) * words + word0 + i % WORDS];
        __syncthreads();
#pragma unroll
        for (int part = 0; part < DEPTH; part += 8) {
            u32 sum[4][2] = {};
#pragma unroll
            for (int k = part; k < part + 8; ++k) {
                uint4 a = *(const uint4 *)&left[k][4 * down];
                uint2 b = *(const uint2 *)&right[k][2 * across];
                u32 as[4] = {a.x, a.y, a.z, a.w}, bs[2] = {b.x, b.y};
#pragma unroll
                for (int i = 0; i < 4; ++i)
#pragma unroll
                    for (int j = 0; j < 2; ++j)
                        sum[i][j] = fma2(as[i], bs[j], sum[i][j]);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j) {
                    float low, high;
                    split(sum[i][j], low, high);
                    total[i][2 * j] += low;
                    total[i][2 * j + 1] += high;
                }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        int row = row0 + 4 * down + i;
        if (row >= rows)
            return;
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            int word = word0 + 2 * across + j;
            u32 v = add2(pack(total[i][2 * j], total[i][2 * j + 1]), bias[word]);
            if (then == 1)
                v = gelu2(v);
            if (then == 2)
                v = add2(v, y[row * words + word]);
            y[row * words + word] = v;
        }
    }
}

#define HEAD 16     // words of a head: 32 halves
#define MINE 8      // of them, those of a thread
#define KEYS 32     // keys that a block has at a time

// Attention of a head (blockIdx.y) in a sequence (blockIdx.z): two threads have a query, each one half of it and of what
// it gathers of values. A row of qkv is that of all heads' queries, keys and values, each `words` long.
extern "C" __global__ void __launch_bounds__(64) attend(const u32 *qkv, u32 *y, int tokens, int words, float scale)
{
    __shared__ u32 keys[KEYS][HEAD], values[KEYS][HEAD];
    int query = blockIdx.x * (blockDim.x / 2) + threadIdx.x / 2, half = threadIdx.x % 2 * MINE;
    int row0 = blockIdx.z * tokens, first = blockIdx.y * HEAD;
    const u32 *at = qkv + (row0 + min(query, tokens - 1)) * 3 * words + first + half;
    u32 q[MINE], factor = both(scale);
#pragma unroll
    for (int i = 0; i < MINE; ++i)
        q[i] = mul2(at[i], factor);
    float gathered[2 * MINE] = {}, sum = 0.0f, most = -1e30f;
    for (int key0 = 0; key0 < tokens; key0 += KEYS) {
        int here = min(KEYS, tokens - key0);
        for (int i = threadIdx.x; i < here * HEAD; i += blockDim.x) {
            const u32 *row = qkv + (row0 + key0 + i / HEAD) * 3 * words + first + i % HEAD;
            keys[i / HEAD][i % HEAD] = row[words];
            values[i / HEAD][i % HEAD] = row[2 * words];
        }
        __syncthreads();
        for (int key = 0; key < here; ++key) {
            u32 products = 0;
#pragma unroll
            for (int i = 0; i < MINE; ++i)
                products = fma2(q[i], keys[key][half + i], products);
            float low, high;
            split(products, low, high);
            float score = low + high;
            score += __shfl_xor_sync(0xffffffff, score, 1);
            float larger = fmaxf(score, most);
            float fade = __expf(most - larger), weight = __expf(score - larger);
            most = larger;
            sum = sum * fade + weight;
#pragma unroll
            for (int i = 0; i < MINE; ++i) {
                split(values[key][half + i], low, high);
                gathered[2 * i] = gathered[2 * i] * fade + weight * low;
                gathered[2 * i + 1] = gathered[2 * i + 1] * fade + weight * high;
            }
        }
        __syncthreads();
    }
    if (query >= tokens)
        return;
    float share = 1.0f / sum;
#pragma unroll
    for (int i = 0; i < MINE; ++i)
        y[(row0 + query) * words + first + half + i] = pack(gathered[2 * i] * share, gathered[2 * i + 1] * share);
}
