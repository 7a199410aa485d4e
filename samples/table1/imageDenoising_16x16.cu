// Non-local means: each pixel becomes the mean of those around it, weighted by how alike their surroundings are.
//
// Pixels are 8-bit RGBA, read through a texture as numbers from 0 to 1. A block of 16 x 16 threads denoises 16 x 16
// pixels with one set of 256 weights: thread (i, j) compares the patch of radius 3 around the block's middle with the
// patch displaced by (i - 8, j - 8), and the weights are shared. Every pixel then adds up the 256 displaced ones. Where
// many displacements matched, the result is kept more of. Beyond the image its edge pixels go on.

#define EDGE 16
#define REACH 8   // displacements -8 .. 7
#define PATCH 3   // patches of 7 x 7
#define SIDE (2 * PATCH + 1)
#define GROUP 8   // texels of a row that are fetched at once

static __device__ __forceinline__ unsigned channel(float value)
{
    return (unsigned)fmaf(__saturatef(value), 255.0f, 0.5f);
}

// The texel of column x, row y.
static __device__ __forceinline__ float4 texel(cudaTextureObject_t image, int x, int y)
{
    return tex2D<float4>(image, (float)x + 0.5f, (float)y + 0.5f);
}

extern "C" __global__ void __launch_bounds__(EDGE * EDGE)
imageDenoising(cudaTextureObject_t image, unsigned *__restrict__ clean, int width, int height, float strength,
               float spread, float lerp, float threshold, float likeness)
{
    __shared__ float weights[EDGE * EDGE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int middle_x = blockIdx.x * EDGE + EDGE / 2, middle_y = blockIdx.y * EDGE + EDGE / 2;

    // The likeness of the two patches, and the weight of the displacement.
    const int dx = tx - REACH, dy = ty - REACH;
    float difference = 0.0f;
    for (int j = -PATCH; j <= PATCH; j++) {
        float4 there[SIDE];  // fetched at once, to overlap the waits
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            there[i] = texel(image, middle_x + dx + i - PATCH, middle_y + dy + j);
        float4 here = texel(image, middle_x - PATCH, middle_y + j);
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            const float4 a = here, b = there[i];
            if (i + 1 < SIDE)
                here = texel(image, middle_x + i + 1 - PATCH, middle_y + j);
            const float red = a.x - b.x, green = a.y - b.y, blue = a.z - b.z;
            difference = fmaf(red, red, fmaf(green, green, fmaf(blue, blue, difference)));
        }
    }
    weights[ty * EDGE + tx] = __expf(-fmaf(difference, strength, (float)(dx * dx + dy * dy) * spread));
    __syncthreads();

    const int x = blockIdx.x * EDGE + tx, y = blockIdx.y * EDGE + ty;
    if (x >= width || y >= height)
        return;

    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    float total = 0.0f, alike = 0.0f;
    for (int j = 0; j < EDGE; j++) {
#pragma unroll 1
        for (int left = 0; left < EDGE; left += GROUP) {
            float4 row[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; i++)
                row[i] = texel(image, x + left + i - REACH, y + j - REACH);
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
                const float weight = weights[j * EDGE + left + i];
                const float4 c = row[i];
                sum = make_float3(fmaf(c.x, weight, sum.x), fmaf(c.y, weight, sum.y), fmaf(c.z, weight, sum.z));
                total += weight;
                alike += weight > threshold ? 1.0f / (EDGE * EDGE) : 0.0f;
            }
        }
    }
    const float scale = 1.0f / total;
    const float4 own = texel(image, x, y);
    const float keep = alike > likeness ? lerp : 1.0f - lerp;
    const unsigned r = channel(fmaf(keep, fmaf(sum.x, scale, -own.x), own.x));
    const unsigned g = channel(fmaf(keep, fmaf(sum.y, scale, -own.y), own.y));
    const unsigned b = channel(fmaf(keep, fmaf(sum.z, scale, -own.z), own.z));
    clean[y * width + x] = r | g << 8 | b << 16 | channel(own.w) << 24;
}
