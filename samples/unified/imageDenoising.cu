// Non-local means: each pixel becomes the mean of those around it, weighted by how alike their surroundings are.
//
// Pixels are 8-bit RGBA. A block of 8 x 8 threads denoises 8 x 8 pixels with one set of 64 weights: thread (i, j)
// compares the patch of radius 4 around the block's middle with the patch displaced by (i - 4, j - 4), and the weights
// are shared. Every pixel then adds up the 64 displaced ones. Where many displacements matched, the result is kept
// more of. Beyond the image its edge pixels go on.

#define EDGE 8
#define REACH 4   // displacements -4 .. 3
#define PATCH 4   // patches of 9 x 9

struct Colour {
    float r, g, b;
};

static __device__ __forceinline__ Colour unpack(unsigned pixel)
{
    const float scale = 1.0f / 255.0f;
    Colour c;
    c.r = (float)(pixel & 255u) * scale;
    c.g = (float)((pixel >> 8) & 255u) * scale;
    c.b = (float)((pixel >> 16) & 255u) * scale;
    return c;
}

static __device__ __forceinline__ unsigned channel(float value)
{
    return (unsigned)fmaf(__saturatef(value), 255.0f, 0.5f);
}

extern "C" __global__ void __launch_bounds__(EDGE * EDGE)
imageDenoising(const unsigned *__restrict__ image, unsigned *__restrict__ clean, int width, int height, float strength,
               float spread, float lerp, float threshold, float likeness)
{
    __shared__ float weights[EDGE * EDGE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int middle_x = blockIdx.x * EDGE + EDGE / 2, middle_y = blockIdx.y * EDGE + EDGE / 2;
    const int last_x = width - 1, last_y = height - 1;

    // The likeness of the two patches, and the weight of the displacement.
    const int dx = tx - REACH, dy = ty - REACH;
    float difference = 0.0f;
    for (int j = -PATCH; j <= PATCH; j++) {
        const unsigned *here = image + min(max(middle_y + j, 0), last_y) * width;
        const unsigned *there = image + min(max(middle_y + dy + j, 0), last_y) * width;
#pragma unroll
        for (int i = -PATCH; i <= PATCH; i++) {
            const Colour a = unpack(here[min(max(middle_x + i, 0), last_x)]);
            const Colour b = unpack(there[min(max(middle_x + dx + i, 0), last_x)]);
            const float r = a.r - b.r, g = a.g - b.g, c = a.b - b.b;
            difference = fmaf(r, r, fmaf(g, g, fmaf(c, c, difference)));
        }
    }
    weights[ty * EDGE + tx] = __expf(-fmaf(difference, strength, (float)(dx * dx + dy * dy) * spread));
    __syncthreads();

    const int x = blockIdx.x * EDGE + tx, y = blockIdx.y * EDGE + ty;
    if (x >= width || y >= height)
        return;

    Colour sum = {0.0f, 0.0f, 0.0f};
    float total = 0.0f, alike = 0.0f;
#pragma unroll 2
    for (int j = 0; j < EDGE; j++) {
        const unsigned *row = image + min(max(y + j - REACH, 0), last_y) * width;
#pragma unroll
        for (int i = 0; i < EDGE; i++) {
            const float weight = weights[j * EDGE + i];
            const Colour c = unpack(row[min(max(x + i - REACH, 0), last_x)]);
            sum.r = fmaf(c.r, weight, sum.r);
            sum.g = fmaf(c.g, weight, sum.g);
            sum.b = fmaf(c.b, weight, sum.b);
            total += weight;
            alike += weight > threshold ? 1.0f / (EDGE * EDGE) : 0.0f;
        }
    }
    const float scale = 1.0f / total;
    const unsigned original = image[y * width + x];
    const Colour own = unpack(original);
    const float keep = alike > likeness ? lerp : 1.0f - lerp;
    sum.r = fmaf(keep, fmaf(sum.r, scale, -own.r), own.r);
    sum.g = fmaf(keep, fmaf(sum.g, scale, -own.g), own.g);
    sum.b = fmaf(keep, fmaf(sum.b, scale, -own.b), own.b);
    clean[y * width + x] = channel(sum.r) | channel(sum.g) << 8 | channel(sum.b) << 16 | (original & 0xff000000u);
}
