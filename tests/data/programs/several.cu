// Kernels of common programs, for sequences of launches: `nvcc -ptx -arch=sm_75 -O3 -lineinfo several.cu`, paths of
// `.file` lines cut down to the name.

extern "C" __global__ void multipliers(float *f, const float *m, int n, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1 - k)
        f[(i + k + 1) * n + k] = m[(i + k + 1) * n + k] / m[k * n + k];
}
extern "C" __global__ void eliminate(const float *f, float *m, float *b, int n, int k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n - k || y >= n - 1 - k)
        return;
    int row = y + 1 + k;
    m[row * n + x + k] -= f[row * n + k] * m[k * n + x + k];
    if (x == 0)
        b[row] -= f[row * n + k] * b[k];
}
extern "C" __global__ void scan_block(int *data, int *sums, int n)
{
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? data[i] : 0;
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
    }
    __syncthreads();
    if (i < n) data[i] = s[t];
    if (t == 63 && sums) sums[blockIdx.x] = s[63];
}
extern "C" __global__ void scan_add(int *data, const int *sums, int n)
{
    int i = (blockIdx.x + 1) * 64 + threadIdx.x;
    if (i < n) data[i] += sums[blockIdx.x];
}
extern "C" __global__ void step_factor(float *factor, const float *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) factor[i] = 0.5f / (1.0f + fabsf(v[i]));
}
extern "C" __global__ void flux(float *f, const float *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f[i] = v[(i + n - 1) % n] - 2 * v[i] + v[(i + 1) % n];
}
extern "C" __global__ void time_step(float *v, const float *old, const float *factor, const float *f, int n, int j)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = old[i] + factor[i] / (float)(4 - j) * f[i];
}
extern "C" __global__ void path(const int *wall, const int *from, int *to, int columns, int first, int rows)
{
    __shared__ int a[64], b[64];
    int t = threadIdx.x, i = blockIdx.x * (64 - 2 * rows) - rows + t;
    bool inside = i >= 0 && i < columns;
    a[t] = inside ? from[i] : 1 << 20;
    for (int r = 0; r < rows; r++) {
        __syncthreads();
        int least = a[t];
        if (t > 0) least = min(least, a[t - 1]);
        if (t < 63) least = min(least, a[t + 1]);
        b[t] = inside ? least + wall[(first + r) * columns + i] : 1 << 20;
        __syncthreads();
        a[t] = b[t];
    }
    if (inside && t >= rows && t < 64 - rows) to[i] = a[t];
}
