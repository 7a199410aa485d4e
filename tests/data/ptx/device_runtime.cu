// Kernels that call the device runtime, rightly and wrongly.
#include <cassert>
#include <cstdio>

// Every thread prints twice, its blocks in two calls that belong together.
__global__ void talk(const int *n, double x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= *n)
        return;
    printf("thread %d of %s: %6.2f|%-5u|", i, i % 2 ? "odd" : "even", x * i, i * 3u);
    printf("%lld %c%% %*d %.*s\n", (long long)i << 40, 'a' + i % 26, i % 7, i, i % 4, "text");
}

// Lists of blocks of many sizes, kept across a barrier, freed by another thread than the one that made them.
__global__ void lists(int *sums, int rounds, int keep)
{
    __shared__ int *heads[64];
    int t = threadIdx.x;
    int sum = 0;
    for (int round = 0; round < rounds; ++round) {
        int size = 2 + (t * 7 + round * 13) % 40;
        int *p = (int *)malloc(size * sizeof(int));
        assert(p != 0);
        for (int i = 0; i < size; ++i)
            p[i] = t + i * round;
        heads[t] = p;
        __syncthreads();
        int other = (t + 1) % blockDim.x;
        int *q = heads[other];
        int length = 2 + (other * 7 + round * 13) % 40;
        for (int i = 0; i < length; ++i)
            sum += q[i];
        if (t != 0 || round < rounds - keep)
            free(q);
        __syncthreads();
    }
    sums[blockIdx.x * blockDim.x + t] = sum;
}

// How many blocks of a size the heap gives before it has no more.
__global__ void exhaust(int *count, int size)
{
    int n = 0;
    while (malloc(size))
        n += 1;
    count[threadIdx.x] = n;
}

__global__ void freed(int *out) { int *p = (int *)malloc(40); free(p); out[threadIdx.x] = p[3]; }
__global__ void behind(int *out, int at) { char *p = (char *)malloc(40); p[at] = 1; out[threadIdx.x] = p[3]; }
__global__ void twice(int *out) { int *p = (int *)malloc(40); free(p); if (threadIdx.x == 5) free(p); }
__global__ void foreign(int *out) { free(out + 1); }
__global__ void checked(int *out) { int i = threadIdx.x; printf("%d\n", i); assert(i * 3 < 20 && "too big"); out[i] = 1; }
__global__ void trapped(int *out) { if (threadIdx.x == 7) __trap(); out[threadIdx.x] = 1; }
__global__ void lies(int *out) { printf("%s %d\n", (const char *)0); out[threadIdx.x] = 1; }
__global__ void nowhere(int *out) { printf("%s\n", (const char *)(long long)out[0]); }
