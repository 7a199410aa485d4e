// One kernel for each thing that may bind a kernel on an SM.

// Chains of independent multiply-adds: the f32 lanes.
extern "C" __global__ void fma_bound(float *out, int n) {
    float a = threadIdx.x, b = a + 1.0f, c = a + 2.0f, d = a + 3.0f, e = a + 4.0f, f = a + 5.0f, g = a + 6.0f, h = a + 7.0f;
#pragma unroll 4
    for (int i = 0; i < n; i++) {
        a = a * 0.999f + 0.5f; b = b * 0.999f + 0.5f; c = c * 0.999f + 0.5f; d = d * 0.999f + 0.5f;
        e = e * 0.999f + 0.5f; f = f * 0.999f + 0.5f; g = g * 0.999f + 0.5f; h = h * 0.999f + 0.5f;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d + e + f + g + h;
}

// Special functions.
extern "C" __global__ void mufu_bound(float *out, int n) {
    float a = threadIdx.x, b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
#pragma unroll 4
    for (int i = 0; i < n; i++) {
        a = __sinf(a); b = __sinf(b); c = __sinf(c); d = __sinf(d);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

// Multiply-adds of doubles.
extern "C" __global__ void f64_bound(double *out, int n) {
    double a = threadIdx.x, b = a + 1.0, c = a + 2.0, d = a + 3.0;
#pragma unroll 4
    for (int i = 0; i < n; i++) {
        a = a * 0.999 + 0.5; b = b * 0.999 + 0.5; c = c * 0.999 + 0.5; d = d * 0.999 + 0.5;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

// A copy, side by side: DRAM.
extern "C" __global__ void dram_bound(const float4 *__restrict__ in, float4 *__restrict__ out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    out[at] = in[at];
}

// Reads of one bank: all 32 rows of it.
extern "C" __global__ void bank_bound(float *out, int n) {
    __shared__ float tile[1024];
    int t = threadIdx.x;
    for (int i = t; i < 1024; i += blockDim.x) tile[i] = i;
    __syncthreads();
    float sum = 0.0f;
    int row = (t & 31) * 32;
#pragma unroll 4
    for (int i = 0; i < n; i++) sum += tile[row + (i & 31)];
    out[blockIdx.x * blockDim.x + t] = sum;
}

// Each load's address is the one before it.
extern "C" __global__ void chase_bound(const int *__restrict__ next, int *out, int n) {
    int at = threadIdx.x;
    for (int i = 0; i < n; i++) at = next[at];
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// One warp works, all others wait for it.
extern "C" __global__ void barrier_bound(float *out, int n) {
    __shared__ float word;
    int t = threadIdx.x;
    float a = t;
    if (t == 0) word = 0.0f;
    __syncthreads();
    for (int i = 0; i < n; i++) {
        if (t < 32) {
#pragma unroll
            for (int k = 0; k < 16; k++) a = a * 0.999f + 0.5f;
            if (t == 0) word = a;
        }
        __syncthreads();
        a += word;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + t] = a;
}
