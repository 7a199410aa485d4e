// Diffusion that edges hold back, as images are freed of speckles: in each round the image's mean and variance, by
// sums in logarithmic steps, then a coefficient for every pixel, then the new image.

extern "C" __global__ void square(const float *image, float *sums, float *squares, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        sums[i] = image[i];
        squares[i] = image[i] * image[i];
    }
}

// Sums of the elements `stride` apart within each block, to the first of them.
extern "C" __global__ void reduce(float *sums, float *squares, int n, int stride)
{
    __shared__ float sum[64], square[64];
    int t = threadIdx.x, i = (blockIdx.x * blockDim.x + t) * stride;
    sum[t] = i < n ? sums[i] : 0;
    square[t] = i < n ? squares[i] : 0;
    for (int half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (t < half) {
            sum[t] += sum[t + half];
            square[t] += square[t + half];
        }
    }
    if (t == 0 && i < n) {
        sums[i] = sum[0];
        squares[i] = square[0];
    }
}

extern "C" __global__ void coefficients(const float *image, float *c, int rows, int columns, float q0)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows)
        return;
    float here = image[y * columns + x];
    float north = image[max(y - 1, 0) * columns + x] - here, south = image[min(y + 1, rows - 1) * columns + x] - here;
    float west = image[y * columns + max(x - 1, 0)] - here, east = image[y * columns + min(x + 1, columns - 1)] - here;
    float gradient = (north * north + south * south + west * west + east * east) / (here * here);
    float laplace = (north + south + west + east) / here;
    float number = 0.5f * gradient - laplace * laplace / 16;
    float below = 1 + 0.25f * laplace;
    float q = (number / (below * below) - q0) / (q0 * (1 + q0));
    c[y * columns + x] = fminf(fmaxf(1 / (1 + q), 0.0f), 1.0f);
}

extern "C" __global__ void diffuse(float *next, const float *image, const float *c, int rows, int columns, float lambda)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows)
        return;
    int i = y * columns + x, south = min(y + 1, rows - 1) * columns + x, east = y * columns + min(x + 1, columns - 1);
    float here = image[i];
    float flow = c[i] * (image[max(y - 1, 0) * columns + x] - here) + c[south] * (image[south] - here) +
                 c[i] * (image[y * columns + max(x - 1, 0)] - here) + c[east] * (image[east] - here);
    next[i] = here + 0.25f * lambda * flow;
}
