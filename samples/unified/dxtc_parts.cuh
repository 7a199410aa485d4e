// What one thread does in compressing 4 x 4 pixels: axis, cuts, least squares, rounding.
#pragma once

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

static __device__ __forceinline__ void gather(Fit &fit, float a, float3 c)
{
    const float b = 1.0f - a;
    fit.aa = fmaf(a, a, fit.aa);
    fit.ab = fmaf(a, b, fit.ab);
    fit.bb = fmaf(b, b, fit.bb);
    fit.ax = make_float3(fmaf(a, c.x, fit.ax.x), fmaf(a, c.y, fit.ax.y), fmaf(a, c.z, fit.ax.z));
}

// With four palette entries.
static __device__ __forceinline__ void gather(Fit &fit, const Cut &cut, int i, float3 c)
{
    gather(fit, i < cut.first ? 1.0f : i < cut.second ? 2.0f / 3.0f : i < cut.third ? 1.0f / 3.0f : 0.0f, c);
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

// The block's pixels into `colours`, and in order along their axis into `ordered`, by its first threads; the result is
// their sum. along: room for a number of each.
static __device__ __forceinline__ float3 arrange(const unsigned *__restrict__ image, int width, int t, float3 *colours,
                                                 float3 *ordered, float *along)
{
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
        along[t] = dot(difference(colours[t], mean), principal_axis(colours, mean));
    }
    __syncthreads();
    if (t < PIXELS) {
        int rank = 0;
#pragma unroll 2
        for (int i = 0; i < PIXELS; i++)
            rank += (along[i] < along[t]) | ((along[i] == along[t]) & (i < t));
        ordered[rank] = colours[t];
    }
    __syncthreads();
    return sum;
}

// The palette entry next to a colour. Entries 0 and 1 are the ends p and q; of four, 2 and 3 lie a third and two thirds of
// the way between them, of three 2 lies half-way.
static __device__ __forceinline__ unsigned nearest(float3 p, float3 q, float3 own, bool three)
{
    unsigned choice = 0;
    float least = 3.0e38f;
    for (unsigned i = 0; i < (three ? 3 : 4); i++) {
        const float a = i == 0 ? 1.0f : i == 1 ? 0.0f : three ? 0.5f : i == 2 ? 2.0f / 3.0f : 1.0f / 3.0f;
        const float b = 1.0f - a;
        const float3 d = make_float3(fmaf(p.x, a, q.x * b) - own.x, fmaf(p.y, a, q.y * b) - own.y,
                                     fmaf(p.z, a, q.z * b) - own.z);
        const float distance = dot(d, d);
        if (distance < least) {
            least = distance;
            choice = i;
        }
    }
    return choice;
}
