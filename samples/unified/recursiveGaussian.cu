// A Gaussian blur of any width at the cost of a few operations a pixel: a recursive filter of second order runs down
// each column of an image and up again, and the two answers are added (Deriche's scheme).
//
// One thread per column, four channels at once. Pixels are 8-bit RGBA. The pass down leaves its answer in `out`; the
// pass up adds its own to it. Several images lie side by side in one buffer, one column index over all.

#ifndef GROUP
#define GROUP 2
#endif
#ifndef THREADS
#define THREADS 64
#endif

struct Colour {
    float r, g, b, a;
};

static __device__ __forceinline__ float level(unsigned pixel, int shift)
{
    return (float)(pixel >> shift & 255u);
}

#define UNIT (1.0f / 255.0f)

static __device__ __forceinline__ Colour unpack(unsigned pixel)
{
    return {level(pixel, 0) * UNIT, level(pixel, 8) * UNIT, level(pixel, 16) * UNIT, level(pixel, 24) * UNIT};
}

static __device__ __forceinline__ Colour added(unsigned pixel, const Colour &c)
{
    return {fmaf(level(pixel, 0), UNIT, c.r), fmaf(level(pixel, 8), UNIT, c.g), fmaf(level(pixel, 16), UNIT, c.b),
            fmaf(level(pixel, 24), UNIT, c.a)};
}

static __device__ __forceinline__ unsigned channel(float value)
{
    return (unsigned)fmaf(__saturatef(value), 255.0f, 0.5f);
}

static __device__ __forceinline__ unsigned pack(const Colour &c)
{
    return channel(c.r) | channel(c.g) << 8 | channel(c.b) << 16 | channel(c.a) << 24;
}

// p * a + q * b - r * c - s * d, the last term rounded first.
static __device__ __forceinline__ float filter(float p, float a, float q, float b, float r, float c, float s, float d)
{
    return fmaf(p, a, fmaf(q, b, fmaf(-r, c, -(s * d))));
}

static __device__ __forceinline__ Colour filter(const Colour &p, float a, const Colour &q, float b, const Colour &r,
                                                float c, const Colour &s, float d)
{
    Colour out;
    out.r = filter(p.r, a, q.r, b, r.r, c, s.r, d);
    out.g = filter(p.g, a, q.g, b, r.g, c, s.g, d);
    out.b = filter(p.b, a, q.b, b, r.b, c, s.b, d);
    out.a = filter(p.a, a, q.a, b, r.a, c, s.a, d);
    return out;
}

static __device__ __forceinline__ Colour scaled(const Colour &p, float s)
{
    return {p.r * s, p.g * s, p.b * s, p.a * s};
}

extern "C" __global__ void __launch_bounds__(THREADS)
recursiveGaussian(const unsigned *in, unsigned *out, int width, int height, float a0, float a1, float a2, float a3,
                  float b1, float b2, float down_edge, float up_edge)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width)
        return;
    in += x;
    out += x;

    // Above the first row the image goes on as its first pixel. Rows are fetched a group at a time, to overlap the waits.
    Colour input = unpack(*in);
    Colour last = scaled(input, down_edge), before = last, previous = input;
    for (int top = 0; top < height; top += GROUP) {
        unsigned pixels[GROUP];
#pragma unroll
        for (int k = 0; k < GROUP; k++)
            pixels[k] = in[min(top + k, height - 1) * width];
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            if (top + k < height) {
                input = unpack(pixels[k]);
                const Colour value = filter(input, a0, previous, a1, last, b1, before, b2);
                out[(top + k) * width] = pack(value);
                previous = input;
                before = last;
                last = value;
            }
        }
    }

    Colour further = unpack(in[(height - 1) * width]);
    previous = further;
    last = scaled(further, up_edge);
    before = last;
    for (int bottom = height - 1; bottom >= 0; bottom -= GROUP) {
        unsigned pixels[GROUP], downs[GROUP];
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            pixels[k] = in[max(bottom - k, 0) * width];
            downs[k] = out[max(bottom - k, 0) * width];
        }
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            if (bottom - k >= 0) {
                input = unpack(pixels[k]);
                const Colour value = filter(previous, a2, further, a3, last, b1, before, b2);
                further = previous;
                previous = input;
                before = last;
                last = value;
                out[(bottom - k) * width] = pack(added(downs[k], value));
            }
        }
    }
}
