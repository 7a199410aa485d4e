// Bitonic sort: sequences of length `length` in alternating order become sorted ones, a stride a launch.

extern "C" __global__ void exchange(unsigned *keys, int n, int length, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int other = i ^ stride;
    if (i >= n || other <= i)
        return;
    unsigned a = keys[i], b = keys[other];
    if ((a > b) == !(i & length)) {
        keys[i] = b;
        keys[other] = a;
    }
}
