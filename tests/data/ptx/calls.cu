struct Pair { int a; float b[2]; double c; };
typedef float (*Unary)(float);
__device__ __noinline__ float twice(float x) { return x * 2; }
__device__ __noinline__ float thrice(float x) { return x * 3; }
__device__ Unary table[2] = {twice, thrice};
__constant__ float weights[8] = {1.f, 2.f, 3.f};
__device__ int values[4] = {1, -2, 3};
__device__ int *pointer = values + 1;
extern __shared__ float dynamic[];
__device__ __noinline__ Pair make(int a) { Pair p; p.a = a; p.b[0] = 1; p.b[1] = a * 2.f; p.c = 4.0; return p; }
__device__ __noinline__ float use(Pair p, float x) { return p.b[1] * x + p.a + (float)p.c; }
__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
extern "C" __global__ void __launch_bounds__(256, 2) calls(float *out, Pair p, int n) {
  __shared__ float tile[8][9];
  tile[threadIdx.x & 7][threadIdx.y] = n;
  dynamic[threadIdx.x] = n;
  __syncthreads();
  float local[12];
  for (int i = 0; i < 12; i++) local[i] = i * n;
  out[0] = use(make(n), weights[n]) + local[n] + tile[n][0] + dynamic[n] + table[n & 1](p.b[0]) + factorial(n) + *pointer;
}
