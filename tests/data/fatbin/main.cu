// The kernels of a program of two files; with -DWHOLE both are one.
#ifdef WHOLE
#include "part.cu"
#else
extern __constant__ int weights[4];
__device__ int weighted(int x, int i);
#endif

static __device__ int offset = 1000;

template <class T>
__global__ void scale(T *out, T by) {
    out[threadIdx.x] = by * weights[threadIdx.x & 3];
}
template __global__ void scale<int>(int *, int);

__global__ void gather(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = weighted(i, i & 3) + offset;
}

int main() { return 0; }
