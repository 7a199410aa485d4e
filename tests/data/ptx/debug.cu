__device__ int add(int a, int b) { return a + b; }
extern "C" __global__ void debug(int *o) { o[threadIdx.x] = add(o[0], 3); }
