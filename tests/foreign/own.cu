// A program of our own that uses what the executor gives, for its tests: each kernel's result is known in closed form.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

struct Two {
    const float *from;
    int factor;
};

__constant__ int offset[2];
__device__ int counted;

// The sum of each block's values through dynamic shared memory, with a barrier in every round.
__global__ void block_sums(const int *in, int *out) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    if (!threadIdx.x) out[blockIdx.x] = shared[0];
}

// A sum over each warp, a vote, and a count of all threads: what lanes tell each other.
__global__ void warps(const int *in, int *sums, unsigned *odd) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = in[i];
    for (int by = 16; by; by /= 2) v += __shfl_down_sync(0xffffffffu, v, by);
    const unsigned ballot = __ballot_sync(0xffffffffu, in[i] & 1);
    if (i % 32 == 0) sums[i / 32] = v, odd[i / 32] = ballot;
    atomicAdd(&counted, 1);
}

template <class T> __global__ void scaled(Two two, T *out, T add) {
    __shared__ T tile[2][64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[i & 1][threadIdx.x] = two.from[i] * two.factor + add;
    __syncthreads();
    out[i] = tile[i & 1][threadIdx.x] + offset[1];
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 256, block = 64;
    int *in = new int[n], *d_in, *d_sums, *d_warps, offsets[2] = {7, 3};
    float *halves = new float[n], *d_halves, *d_out;
    unsigned *d_odd;
    for (int i = 0; i < n; i++) in[i] = i * i % 101, halves[i] = i * 0.5f;
    cudaMalloc(&d_in, n * sizeof(int));
    cudaMalloc(&d_sums, n / block * sizeof(int));
    cudaMalloc(&d_warps, n / 32 * sizeof(int));
    cudaMalloc(&d_odd, n / 32 * sizeof(unsigned));
    cudaMalloc((void **)&d_halves, n * sizeof(float));
    cudaMalloc((void **)&d_out, n * sizeof(float));
    cudaMemcpy(d_in, in, n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(d_halves, halves, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(offset, offsets, sizeof offsets);

    int total = 0, sum = 0, *sums = new int[n / block];
    for (int round = 0; round < 3; round++) {
        block_sums<<<n / block, block, block * sizeof(int)>>>(d_in, d_sums);
        cudaMemcpy(sums, d_sums, n / block * sizeof(int), cudaMemcpyDeviceToHost);
        for (int i = 0; i < n / block; i++) total += sums[i];
        cudaMemset(d_sums, 0, n / block * sizeof(int));
    }
    warps<<<n / block, block>>>(d_in, d_warps, d_odd);
    scaled<float><<<n / block, block>>>(Two{d_halves, 4}, d_out, 1.0f);
    scaled<<<n / 2 / block, block>>>(Two{d_halves + n / 2, 2}, d_out + n / 2, 0.5f);

    float *out = new float[n];
    cudaMemcpy(out, d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&sum, counted, sizeof sum);
    printf("%d %d %g %g\n", total, sum, out[5], out[n - 1]);
    return 0;
}
