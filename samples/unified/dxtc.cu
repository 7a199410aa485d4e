// DXT1 compression: 4 x 4 pixels in 64 bits, two end colours of 16 bits and a 2-bit choice among four per pixel.
//
// One block of 64 threads per 4 x 4 pixels. The colours are put in order along their principal axis; every way of
// cutting the ordered sixteen into four runs (969 of them) is one assignment to the four palette entries, for which
// least squares gives the best end colours. Each thread tries every 64th cut, the block takes the best ends, and each
// pixel the palette entry nearest to it.

#define THREADS 64
#define PIXELS 16
#define CUTS 969  // (first, second, third) with 0 <= first <= second <= third <= 16

static __device__ __forceinline__ float dot(float3 a, float3 b)
{
    return fmaf(a.z, b.z, fmaf(a.y, b.y, a.x * b.x));
}

static __device__ __forceinline__ float3 difference(float3 a, float3 b)
{
    return make_float3(a.x - b.x, a.y - b.y, a.z - b.z);
}

// The direction in which the colours spread most: their covariance matrix, applied to a vector a few times.
static __device__ __forceinline__ float3 principal_axis(const float3 *colours, float3 mean)
{
    float xx = 0.0f, xy = 0.0f, xz = 0.0f, yy = 0.0f, yz = 0.0f, zz = 0.0f;
#pragma unroll 2
    for (int i = 0; i < PIXELS; i++) {
        const float3 d = difference(colours[i], mean);
        xx = fmaf(d.x, d.x, xx);
        xy = fmaf(d.x, d.y, xy);
        xz = fmaf(d.x, d.z, xz);
        yy = fmaf(d.y, d.y, yy);
        yz = fmaf(d.y, d.z, yz);
        zz = fmaf(d.z, d.z, zz);
    }
    float3 v = make_float3(1.0f, 1.0f, 1.0f);
#pragma unroll 1
    for (int i = 0; i < 8; i++) {
        const float x = fmaf(v.z, xz, fmaf(v.y, xy, v.x * xx));
        const float y = fmaf(v.z, yz, fmaf(v.y, yy, v.x * xy));
        const float z = fmaf(v.z, zz, fmaf(v.y, yz, v.x * xz));
        const float largest = fmaxf(fmaxf(fabsf(x), fabsf(y)), fabsf(z));
        if (largest == 0.0f)
            break;
        v = make_float3(x / largest, y / largest, z / largest);
    }
    return v;
}

// To 5, 6 and 5 bits.
static __device__ __forceinline__ unsigned quantise(float3 c)
{
    const unsigned r = (unsigned)rintf(__saturatef(c.x) * 31.0f);
    const unsigned g = (unsigned)rintf(__saturatef(c.y) * 63.0f);
    const unsigned b = (unsigned)rintf(__saturatef(c.z) * 31.0f);
    return r << 11 | g << 5 | b;
}

static __device__ __forceinline__ float3 expand(unsigned c)
{
    return make_float3((float)(c >> 11 & 31u) * (1.0f / 31.0f), (float)(c >> 5 & 63u) * (1.0f / 63.0f),
                       (float)(c & 31u) * (1.0f / 31.0f));
}

// One channel of the squared error with end colours s and e, less what does not depend on them.
static __device__ __forceinline__ float error(float s, float e, float aa, float ab, float bb, float ax, float bx)
{
    const float mixed = fmaf(s * e, ab, -fmaf(s, ax, e * bx));
    return fmaf(2.0f, mixed, fmaf(s * s, aa, e * e * bb));
}

// Where one of the 969 ways cuts the sixteen: before these pixels.
struct Cut {
    int first, second, third;
};

static __device__ __forceinline__ Cut unrank(int rest)
{
    Cut cut = {0, 0, 0};
    for (int n; rest >= (n = (17 - cut.first) * (18 - cut.first) / 2); cut.first++)
        rest -= n;
    for (cut.second = cut.first; rest >= 17 - cut.second; cut.second++)
        rest -= 17 - cut.second;
    cut.third = cut.second + rest;
    return cut;
}

// Normal equations of the two ends: sums of products of the weights a and b = 1 - a, and of a times the colour.
struct Fit {
    float aa, ab, bb;
    float3 ax;
};

static __device__ __forceinline__ void gather(Fit &fit, const Cut &cut, int i, float3 c)
{
    const float a = i < cut.first ? 1.0f : i < cut.second ? 2.0f / 3.0f : i < cut.third ? 1.0f / 3.0f : 0.0f;
    const float b = 1.0f - a;
    fit.aa = fmaf(a, a, fit.aa);
    fit.ab = fmaf(a, b, fit.ab);
    fit.bb = fmaf(b, b, fit.bb);
    fit.ax = make_float3(fmaf(a, c.x, fit.ax.x), fmaf(a, c.y, fit.ax.y), fmaf(a, c.z, fit.ax.z));
}

// Solve for the ends, and keep them if their error is less than the best one's.
static __device__ __forceinline__ void take_better(float &best, unsigned &ends, const Fit &fit, float3 sum)
{
    const float aa = fit.aa, ab = fit.ab, bb = fit.bb;
    const float determinant = fmaf(aa, bb, -(ab * ab));
    if (determinant < 1e-3f)
        return;  // all sixteen in one run
    const float3 ax = fit.ax, bx = difference(sum, ax);
    const float scale = 1.0f / determinant;
    const unsigned start = quantise(make_float3(fmaf(ax.x, bb, -(bx.x * ab)) * scale,
                                                fmaf(ax.y, bb, -(bx.y * ab)) * scale,
                                                fmaf(ax.z, bb, -(bx.z * ab)) * scale));
    const unsigned end = quantise(make_float3(fmaf(bx.x, aa, -(ax.x * ab)) * scale,
                                              fmaf(bx.y, aa, -(ax.y * ab)) * scale,
                                              fmaf(bx.z, aa, -(ax.z * ab)) * scale));
    const float3 s = expand(start), e = expand(end);
    const float total = (error(s.x, e.x, aa, ab, bb, ax.x, bx.x) + error(s.y, e.y, aa, ab, bb, ax.y, bx.y))
                      + error(s.z, e.z, aa, ab, bb, ax.z, bx.z);
    if (total < best) {
        best = total;
        ends = start << 16 | end;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
dxtc(const unsigned *__restrict__ image, uint2 *__restrict__ compressed, int width)
{
    __shared__ float3 colours[PIXELS];
    __shared__ float3 ordered[PIXELS];
    __shared__ float errors[THREADS];

    const int t = threadIdx.x;
    if (t < PIXELS) {
        const int x = blockIdx.x * 4 + t % 4, y = blockIdx.y * 4 + t / 4;
        const unsigned pixel = image[y * width + x];
        colours[t] = make_float3((float)(pixel & 255u) * (1.0f / 255.0f), (float)(pixel >> 8 & 255u) * (1.0f / 255.0f),
                                 (float)(pixel >> 16 & 255u) * (1.0f / 255.0f));
    }
    __syncthreads();

    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
#pragma unroll 2
    for (int i = 0; i < PIXELS; i++)
        sum = make_float3(sum.x + colours[i].x, sum.y + colours[i].y, sum.z + colours[i].z);
    if (t < PIXELS) {
        const float3 mean = make_float3(sum.x * 0.0625f, sum.y * 0.0625f, sum.z * 0.0625f);
        errors[t] = dot(difference(colours[t], mean), principal_axis(colours, mean));
    }
    __syncthreads();
    if (t < PIXELS) {
        int rank = 0;
#pragma unroll 2
        for (int i = 0; i < PIXELS; i++)
            rank += (errors[i] < errors[t]) | ((errors[i] == errors[t]) & (i < t));
        ordered[rank] = colours[t];
    }
    __syncthreads();

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
        if (t < PIXELS && first != second) {
            const float3 p = expand(first), q = expand(second), own = colours[t];
            float nearest = 3.0e38f;
            for (unsigned i = 0; i < 4; i++) {
                // Entries 0 and 1 are the ends, 2 and 3 lie a third and two thirds of the way between them.
                const float a = i == 0 ? 1.0f : i == 1 ? 0.0f : i == 2 ? 2.0f / 3.0f : 1.0f / 3.0f;
                const float b = 1.0f - a;
                const float3 d = make_float3(fmaf(p.x, a, q.x * b) - own.x, fmaf(p.y, a, q.y * b) - own.y,
                                             fmaf(p.z, a, q.z * b) - own.z);
                const float distance = dot(d, d);
                if (distance < nearest) {
                    nearest = distance;
                    choice = i;
                }
            }
        }
        choice <<= 2 * (t % PIXELS);
        for (int step = PIXELS / 2; step > 0; step /= 2)
            choice |= __shfl_xor_sync(0xffffffffu, choice, step);
        if (t == 0)
            compressed[blockIdx.y * gridDim.x + blockIdx.x] = make_uint2(first | second << 16, choice);
    }
}
