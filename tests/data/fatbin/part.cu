// What main.cu calls: a table in constant memory, and a function with a variable of its own.
__constant__ int weights[4] = {2, 3, 5, 7};

static __device__ int offset_of_part = 10000;

__device__ __noinline__ int weighted(int x, int i) { return x * weights[i] + offset_of_part; }
