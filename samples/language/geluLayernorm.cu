// The end of a transformer's feed-forward block in half precision: bias, GELU, residual, layer normalisation.
//
// A warp has a row of 1,024 columns, a lane 32 of them in 16 registers of two halves. What is added up over the row is
// added up in f32; all else stays in halves. The row is read once and kept in registers between the passes over it.

typedef unsigned int u32;

#define COLUMNS 1024
#define WORDS (COLUMNS / 2 / 32)

#define TWO(name, op) \
    static __device__ u32 name(u32 a, u32 b) { u32 r; asm(op " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
TWO(add2, "add.rn.f16x2")
TWO(sub2, "sub.rn.f16x2")
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

// The same f32 in both halves.
static __device__ u32 both(float x)
{
    u32 r;
    asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; mov.b32 %0, {h, h}; }" : "=r"(r) : "f"(x));
    return r;
}

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

extern "C" __global__ void geluLayernorm(
    const uint4 *x, const uint4 *residual, const uint4 *bias, const uint4 *gamma, const uint4 *beta, uint4 *y,
    float epsilon, int rows)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    u32 v[WORDS];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < WORDS / 4; ++k) {
        int at = k * 32 + lane;
        uint4 a = x[row * (COLUMNS / 8) + at], r = residual[row * (COLUMNS / 8) + at], b = bias[at];
        u32 words[4] = {a.x, a.y, a.z, a.w}, biases[4] = {b.x, b.y, b.z, b.w}, rest[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            v[4 * k + i] = add2(gelu2(add2(words[i], biases[i])), rest[i]);
            float low, high;
            split(v[4 * k + i], low, high);
            sum += low + high;
        }
    }
    u32 mean = both(over_warp(sum) / COLUMNS);
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < WORDS; ++k) {
        v[k] = sub2(v[k], mean);
        float low, high;
        split(v[k], low, high);
        squares += low * low + high * high;
    }
    u32 scale = both(rsqrtf(over_warp(squares) / COLUMNS + epsilon));
#pragma unroll
    for (int k = 0; k < WORDS / 4; ++k) {
        int at = k * 32 + lane;
        uint4 g = gamma[at], b = beta[at], out;
        out.x = fma2(mul2(v[4 * k], scale), g.x, b.x);
        out.y = fma2(mul2(v[4 * k + 1], scale), g.y, b.y);
        out.z = fma2(mul2(v[4 * k + 2], scale), g.z, b.z);
        out.w = fma2(mul2(v[4 * k + 3], scale), g.w, b.w);
        y[row * (COLUMNS / 8) + at] = out;
    }
}
